// A submission's page while it lives: the server sends its living part anew, and the archive is uploaded by tus 1.0.
import { countDown, localTimes } from "./pages.js";
import { offerUpload } from "./upload.js";

const live = document.getElementById("live");

// Only sections that changed are replaced, so that a reader's place, focus and selection stay.
function show(html) {
  const next = new DOMParser().parseFromString(html, "text/html").body;
  const wanted = [...next.children];
  for (const old of [...live.children]) {
    if (!wanted.some((section) => section.id === old.id)) old.remove();
  }
  let before = null;
  for (const section of wanted) {
    localTimes(section);
    countDown(section);
    const old = document.getElementById(section.id);
    if (!old) before ? before.after(section) : live.prepend(section);
    else if (old.innerHTML !== section.innerHTML && !old.contains(document.activeElement)) old.replaceWith(section);
    before = document.getElementById(section.id);
  }
  const log = live.querySelector("pre.log");
  if (log) log.scrollTop = log.scrollHeight;
}

if (live) {
  const source = new EventSource(live.dataset.live);
  source.addEventListener("part", (event) => {
    const { html } = JSON.parse(event.data);
    const upload = document.getElementById("upload");
    show(html);
    const state = document.querySelector("#live-state .chip");
    const over = /state-(completed|failed|cancelled)/.test(state?.className ?? "");
    if (upload && !/state-(created|uploading)/.test(state?.className ?? "")) upload.hidden = true;
    if (over) {
      source.close();
      if (live.dataset.over !== "true") location.reload(); // deeds and scripts of a finished one
      live.dataset.over = "true";
    }
  });
}
offerUpload();
