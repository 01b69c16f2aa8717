// The agent's log beside its replay: the lines of the step that is looked at are marked and in sight.

const log = document.getElementById("agent-log");
const lines = [...log.querySelectorAll("[data-log-step]")];

function follow(step) {
  let first = null;
  for (const line of lines) {
    const isHere = Number(line.dataset.logStep) === step;
    line.classList.toggle("here", isHere);
    if (isHere) first ??= line;
  }
  if (first) log.scrollTop = first.offsetTop - log.offsetTop - log.clientHeight / 3;
}

const replay = document.getElementById("replay");
replay.addEventListener("replay-step", (event) => follow(event.detail));
follow(Number(replay.dataset.step ?? 0));
