// Elements of HTML and SVG, and the words that several parts share. Texts are only ever set as text.

const SVG = "http://www.w3.org/2000/svg";
const STAGE_COLOURS = 6;
const KNOWN_ACTIONS = ["move_forward", "turn_left", "turn_right", "stop"];

function make(name, attributes = {}, children = []) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function draw(name, attributes = {}, children = []) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const titled = (text) => draw("title", {}, [text]);
const stageClass = (stage) => `stage-${stage % STAGE_COLOURS}`;
const actionClass = (action) => `act-${KNOWN_ACTIONS.includes(action) ? action : action === null ? "start" : "other"}`;
const metres = (value) => (value === null ? null : `${value.toFixed(2)} m`);

function runsOf(count, keyOf) {
  const runs = [];
  for (let i = 0; i < count; i++) {
    const key = keyOf(i), last = runs[runs.length - 1];
    if (last && last.key === key) last.to = i;
    else runs.push({ key, from: i, to: i });
  }
  return runs;
}

// JSON out of an element of this page, or from the address that `root` names.
async function loadJson(root, name) {
  const element = document.getElementById(`${root.id}-${name}`);
  if (element) return JSON.parse(element.textContent);
  const response = await fetch(root.dataset[name]);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return response.json();
}
