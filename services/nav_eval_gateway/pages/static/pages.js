// What every page can use: copying, countdowns, times in the reader's zone. Nothing here is needed to read a page.

const LENGTHS = [86400, 3600, 60, 1];
const CLOCK = { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" };

export function countdown(seconds) {
  const units = document.documentElement.dataset.units.split(" ");
  let left = Math.max(0, Math.floor(seconds));
  const shown = [];
  for (const [place, length] of LENGTHS.entries()) {
    const count = Math.floor(left / length);
    left -= count * length;
    if (count || shown.length) shown.push(`${count} ${units[place]}`);
  }
  return shown.slice(0, 3).join(" ") || `0 ${units[3]}`;
}

// An estimate, which seconds would make look like a promise: five minutes at a time.
function estimate(seconds, { soon, before = "" }) {
  const [, hour, minute] = document.documentElement.dataset.units.split(" ");
  const minutes = 5 * Math.ceil(seconds / 300);
  if (minutes <= 5) return soon;
  const hours = Math.floor(minutes / 60);
  return before + (hours ? `${hours} ${hour} ` : "") + `${minutes % 60} ${minute}`;
}

export function countDown(root = document) {
  for (const element of root.querySelectorAll("[data-until]")) {
    const left = (Date.parse(element.dataset.until) - Date.now()) / 1000;
    const shown = () => ("rough" in element.dataset ? estimate(left, element.dataset) : (element.dataset.before ?? "") + countdown(left));
    const text = left > 0 ? shown() : (element.dataset.over ?? "");
    if (element.textContent !== text) element.textContent = text;
  }
}

export function localTimes(root = document) {
  const { lang } = document.documentElement;
  const language = lang === "en" ? "en-GB" : lang || undefined; // our English is British
  for (const element of root.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime()) || element.title) continue;
    element.title = element.textContent;
    const style = "day" in element.dataset ? { dateStyle: "medium" } : CLOCK;
    element.textContent = new Intl.DateTimeFormat(language, style).format(at);
  }
}

function offerCopying() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    const label = button.textContent;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      button.textContent = button.dataset.copied;
      setTimeout(() => (button.textContent = label), 1500);
    });
  }
}

countDown();
setInterval(() => countDown(), 1000); // living pages bring new ones
localTimes();
offerCopying();
