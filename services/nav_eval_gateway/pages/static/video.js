// An episode as a video: asked for without leaving the page, and how far it is until it can be downloaded.

const box = document.getElementById("video");
const form = box?.querySelector("form");
const coming = box?.querySelector(".video-coming");

function show({ state, steps_drawn: drawn, steps_total: total }) {
  box.dataset.state = state;
  box.querySelector(".video-ready").hidden = state !== "ready";
  coming.hidden = !["waiting", "making"].includes(state);
  const bar = coming.querySelector("progress"), said = coming.querySelector("[role=status]");
  if (total) [bar.max, bar.value] = [total, drawn];
  const percent = total ? ` ${Math.floor((100 * drawn) / total)} %` : "";
  const text = (box.dataset[state] ?? "") + (state === "making" ? percent : "");
  if (said.textContent !== text) said.textContent = text;
}

async function look() {
  let state = "waiting";
  try {
    const answer = await fetch(box.dataset.video, { headers: { Accept: "application/json" } });
    if (answer.ok) {
      const video = await answer.json();
      show(video);
      ({ state } = video);
    }
  } catch {
    // the server is away for a moment
  }
  if (["waiting", "making"].includes(state)) setTimeout(look, 1000);
  else if (state === "failed") location.reload(); // says so, and offers to try again
}

async function ask(event) {
  event.preventDefault();
  form.querySelector("button").disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    if (!answer.ok) throw new Error(String(answer.status));
  } catch {
    return form.submit(); // the page that follows says why it was refused
  }
  form.hidden = true;
  show({ state: "waiting" });
  look();
}

form?.addEventListener("submit", ask);
if (["waiting", "making"].includes(box?.dataset.state)) setTimeout(look, 500);
