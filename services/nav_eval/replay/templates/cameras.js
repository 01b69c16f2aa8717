// What the cameras saw. Pictures stand in the page, or come in pieces: those nearest to the step that is looked at first,
// and what somebody has scrubbed away from is not waited for.

const PIECE = 8; // steps in a request
const AT_ONCE = 2; // requests
const NEAR = 2; // pieces; a request farther away than this is cancelled
const AHEAD = 40; // pieces that are fetched beyond the one that is looked at
const TRIES = 3;

class EmbeddedFrames {
  constructor(views) {
    this.views = views;
  }

  get(view, step) {
    const frames = this.views[view];
    return frames[Math.min(step, frames.length - 1)] ?? null;
  }

  want() {} // all of them are here

  isComing() {
    return false;
  }
}

// What comes together: the pictures of `views` (their numbers in the replay).
class FetchedFrames {
  // `arrived` is called whenever pictures have come.
  constructor(url, steps, { views, arrived }) {
    this.views = views.toSorted((a, b) => a - b); // as they are answered
    this.url = `${url}&views=${this.views.join(",")}`;
    this.isWanted = false;
    this.last = Math.ceil(steps / PIECE) - 1;
    this.arrived = arrived;
    this.pieces = new Map();
    this.under = new Map(); // piece → how to cancel it
    this.tries = new Map();
    this.here = 0;
  }

  get(view, step) {
    return this.pieces.get(Math.floor(step / PIECE))?.[this.views.indexOf(view)]?.[step % PIECE] ?? null;
  }

  isComing(step) {
    const piece = Math.floor(step / PIECE);
    return !this.pieces.has(piece) && (this.tries.get(piece) ?? 0) < TRIES;
  }

  // Nobody looks at these any more.
  rest() {
    this.isWanted = false;
    for (const cancel of this.under.values()) cancel.abort();
  }

  want(step) {
    this.isWanted = true;
    this.here = Math.floor(step / PIECE);
    if (!this.pieces.has(this.here)) {
      for (const [piece, cancel] of this.under) if (Math.abs(piece - this.here) > NEAR) cancel.abort();
    }
    this.fetchMore();
  }

  fetchMore() {
    while (this.isWanted && this.under.size < AT_ONCE) {
      const piece = this.findNext();
      if (piece === null) return;
      this.fetchPiece(piece);
    }
  }

  // Forwards before backwards, because that is where people go.
  findNext() {
    for (let far = 0; far <= AHEAD; far++) {
      for (const piece of far ? [this.here + far, this.here - Math.ceil(far / 4)] : [this.here]) {
        const isOpen = piece >= 0 && piece <= this.last && !this.under.has(piece);
        if (isOpen && this.isComing(piece * PIECE)) return piece;
      }
    }
    return null;
  }

  async fetchPiece(piece) {
    const cancel = new AbortController(), start = piece * PIECE;
    this.under.set(piece, cancel);
    try {
      const response = await fetch(`${this.url}&start=${start}&stop=${start + PIECE}`, { signal: cancel.signal });
      if (!response.ok) throw new Error(`pictures: ${response.status}`);
      this.pieces.set(piece, await response.json());
      this.arrived();
    } catch (error) {
      if (!cancel.signal.aborted) this.tries.set(piece, (this.tries.get(piece) ?? 0) + 1);
    }
    this.under.delete(piece);
    this.fetchMore();
  }
}

// What each camera is there for comes together; what else can be seen of it comes once somebody switches to it.
class SwitchedFrames {
  constructor(url, replay, arrived) {
    const first = listCameras(replay).map(({ numbers }) => numbers[0]);
    const others = replay.views.map((_, number) => number).filter((number) => !first.includes(number));
    const groups = [first, ...others.map((number) => [number])];
    this.sources = groups.map((views) => new FetchedFrames(url, replay.steps.length, { views, arrived }));
    this.source = new Map(this.sources.flatMap((source) => source.views.map((view) => [view, source])));
  }

  get(view, step) {
    return this.source.get(view).get(view, step);
  }

  isComing(view, step) {
    return this.source.get(view).isComing(step);
  }

  want(step, views) {
    const wanted = new Set(views.map((view) => this.source.get(view)));
    for (const source of this.sources) if (!wanted.has(source)) source.rest();
    for (const source of wanted) source.want(step);
  }
}

// The cameras of a replay, each with the numbers of its views; the first is what it is there for.
function listCameras(replay) {
  const found = new Map();
  replay.views.forEach(({ sensor }, number) => found.set(sensor, [...(found.get(sensor) ?? []), number]));
  return [...found].map(([sensor, numbers]) => ({ sensor, numbers }));
}

class Cameras {
  // `row` holds the pictures; one of them can be shown large in `large`, over the map.
  constructor(replay, words, { row, large, frames }) {
    this.words = words;
    this.large = large;
    this.chosen = null;
    this.replay = replay;
    this.step = 0;
    this.cameras = listCameras(replay).map((camera) => this.add(camera));
    const figures = this.cameras.map(({ figure }) => figure);
    if (replay.goal_picture) figures.push(this.addGoal(replay.goal_picture));
    row.append(...figures);
    row.classList.add(`cameras-${Math.min(figures.length, 3)}`);
    this.isEmpty = figures.length === 0;
    this.frames = frames;
  }

  add({ sensor, numbers }) {
    const { width, height } = this.replay.views[numbers[0]];
    const picture = make("img", { width, height, alt: sensor });
    const button = make("button", { type: "button", class: "camera", "aria-pressed": "false", title: this.words.enlarge }, [picture]);
    const caption = make("figcaption", {}, [make("span", {}, [sensor])]);
    const figure = make("figure", { "aria-busy": "true" }, [button, caption]);
    const made = { sensor, number: numbers[0], picture, button, figure };
    button.addEventListener("click", () => this.enlarge(this.chosen === made ? null : made));
    if (numbers.length > 1) caption.append(this.addSwitch(made, numbers));
    return made;
  }

  // What is shown of a camera: colours, depth, categories.
  addSwitch(camera, numbers) {
    const kinds = numbers.map((number) => {
      const { kind } = this.replay.views[number];
      return make("option", { value: String(number) }, [this.words[`kind_${kind}`] ?? kind]);
    });
    const label = `${this.words.shown_as}: ${camera.sensor}`;
    const choice = make("select", { class: "kind", "aria-label": label, title: this.words.shown_as }, kinds);
    choice.addEventListener("change", () => {
      camera.number = Number(choice.value);
      delete camera.picture.dataset.step;
      this.show(this.step);
    });
    return choice;
  }

  addGoal({ width, height, media_type: type, data }) {
    const alt = this.words.goal_picture;
    const picture = make("img", { width, height, alt, src: `data:${type};base64,${data}` });
    return make("figure", { class: "goal-picture" }, [picture, make("figcaption", {}, [alt])]);
  }

  enlarge(chosen) {
    this.chosen = chosen;
    for (const each of this.cameras) each.button.setAttribute("aria-pressed", String(each === chosen));
    this.large.hidden = chosen === null;
    if (!chosen) return;
    const { sensor } = chosen, { width, height } = this.replay.views[chosen.number];
    const picture = make("img", { alt: sensor, width, height });
    if (chosen.picture.hasAttribute("src")) picture.src = chosen.picture.src;
    const close = make("button", { type: "button", "aria-label": this.words.close, title: this.words.close }, ["✕"]);
    close.addEventListener("click", () => {
      const { button } = this.chosen;
      this.enlarge(null);
      button.focus();
    });
    this.large.replaceChildren(picture, make("figcaption", {}, [sensor]), close);
  }

  // Whether all pictures of a step can be shown.
  has(step) {
    return this.cameras.every(({ number }) => this.frames.get(number, step) !== null);
  }

  isComing(step) {
    return this.cameras.some(({ number }) => this.frames.get(number, step) === null && this.frames.isComing(number, step));
  }

  show(step) {
    this.step = step;
    this.frames.want(step, this.cameras.map(({ number }) => number));
    this.refresh();
  }

  // What is not there yet stays as it was, paler.
  refresh() {
    for (const { number, picture, figure } of this.cameras) {
      const data = this.frames.get(number, this.step);
      figure.setAttribute("aria-busy", String(data === null));
      if (data === null || (picture.dataset.step === String(this.step) && picture.src)) continue;
      picture.dataset.step = String(this.step);
      picture.src = `data:${this.replay.views[number].media_type};base64,${data}`;
    }
    if (this.chosen?.picture.src) this.large.querySelector("img").src = this.chosen.picture.src;
  }
}

// Where the pictures of a replay are: in the page, or at an address that gives a piece at a time.
function openFrames(root, replay, arrived) {
  if (root.dataset.frames) return new SwitchedFrames(root.dataset.frames, replay, arrived);
  const found = replay.views.map((_, index) => document.getElementById(`${root.id}-view-${index}`));
  return new EmbeddedFrames(found.map((element) => JSON.parse(element.textContent)));
}
