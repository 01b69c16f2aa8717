// A board that sorts, filters and turns pages without loading the page anew. Without this script the links do it.
import { localTimes } from "./pages.js";

const chosen = new Set();
let newest = 0;

async function show(address, { push = true } = {}) {
  const turn = ++newest;
  const area = document.getElementById("board-area");
  area.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (turn !== newest) return; // a later wish is under way
    replace(area, page.getElementById("board-area"));
    for (const id of ["scatter"]) {
      const [now, next] = [document.getElementById(id), page.getElementById(id)];
      if (now && next) now.replaceWith(next);
    }
    if (push) history.pushState(null, "", address);
    prepare();
  } catch {
    location.assign(address);
  }
}

function replace(area, next) {
  const focused = document.activeElement, name = area.contains(focused) ? focused.name || focused.getAttribute("href") : null;
  const typed = focused?.name === "q" ? [focused.value, focused.selectionStart] : null;
  area.replaceWith(next);
  if (!name) return;
  const again = [...next.querySelectorAll("a, input, select, button")].find((e) => e.name === name || e.getAttribute("href") === name);
  again?.focus();
  if (typed && again?.name === "q") {
    again.value = typed[0];
    again.setSelectionRange(typed[1], typed[1]);
  }
}

function addressOf(form) {
  const url = new URL(form.action);
  for (const [name, value] of new FormData(form)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  return url.pathname + url.search;
}

function prepare() {
  localTimes();
  const filter = document.getElementById("board-filter");
  let waiting;
  filter?.addEventListener("submit", (event) => {
    event.preventDefault();
    show(addressOf(filter));
  });
  filter?.querySelector("[name=q]").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => show(addressOf(filter)), 250);
  });
  filter?.querySelector("[name=kind]").addEventListener("change", () => show(addressOf(filter)));
  const scatter = document.getElementById("scatter-form");
  scatter?.addEventListener("change", () => show(addressOf(scatter), { push: false }));
  scatter?.querySelector("button").setAttribute("hidden", "");
  for (const link of document.querySelectorAll("#board-area thead a, #board-area .pages a")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      show(link.getAttribute("href"));
    });
  }
  offerComparing();
}

// Two entries at most; the choice survives sorting.
function offerComparing() {
  const boxes = [...document.querySelectorAll("input[name=entry]")], button = document.querySelector("#compare button");
  if (!button) return;
  const count = () => {
    button.disabled = chosen.size !== 2;
    for (const box of boxes) box.disabled = chosen.size >= 2 && !box.checked;
  };
  for (const box of boxes) {
    box.checked = chosen.has(box.value);
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(box.value);
      else chosen.delete(box.value);
      count();
    });
  }
  document.getElementById("compare").addEventListener("submit", (event) => {
    event.preventDefault();
    location.assign(`/compare?${new URLSearchParams([...chosen].map((id) => ["entry", id]))}`);
  });
  count();
}

addEventListener("popstate", () => show(location.pathname + location.search, { push: false }));
prepare();
