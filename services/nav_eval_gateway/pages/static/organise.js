// The queue and the workers, fresh every few seconds; never under a reader's hands.
import { localTimes } from "./pages.js";

const EVERY = 5000;

function isInUse(part) {
  return part.contains(document.activeElement) || part.querySelector("details[open]") !== null;
}

async function refresh() {
  if (document.hidden) return;
  const answer = await fetch(location.pathname, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) return; // logged out, or the server is away: what stands here stays
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const id of ["live-queue", "live-workers"]) {
    const [now, next] = [document.getElementById(id), page.getElementById(id)];
    if (now && next && !isInUse(now) && now.innerHTML !== next.innerHTML) now.replaceWith(next);
  }
  localTimes();
}

if (document.getElementById("live-queue")) setInterval(() => refresh().catch(() => {}), EVERY);
