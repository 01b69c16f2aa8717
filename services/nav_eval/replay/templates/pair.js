// Two agents on one episode, in step: a map and cameras each, one time line for both. Who ended earlier waits at its end.

const pair = document.getElementById("pair");
const part = (name) => document.getElementById(`pair-${name}`);

class Pane {
  constructor(root, replay, words, goTo) {
    this.replay = replay;
    this.words = words;
    this.part = (name) => root.querySelector(`.pane-${name}`);
    this.last = replay.steps.length - 1;
    this.map = new StoreyMap(replay, words, { frame: this.part("map"), storeys: this.part("storeys"), goTo });
    const frames = openFrames(root, replay, () => this.cameras.refresh());
    this.cameras = new Cameras(replay, words, { row: this.part("cameras"), large: this.part("large"), frames });
    this.part("zoom-in").addEventListener("click", () => this.map.view.zoomBy(ZOOM_STEP));
    this.part("zoom-out").addEventListener("click", () => this.map.view.zoomBy(1 / ZOOM_STEP));
    root.hidden = false;
  }

  isComing(step) {
    return step <= this.last && this.cameras.isComing(step);
  }

  show(step) {
    const number = Math.min(step, this.last), { action, distance, stage } = this.replay.steps[number];
    this.map.show(number);
    this.cameras.show(number);
    const goal = this.replay.stages[stage], told = [action ?? this.words.start];
    if (goal) told.push(goal.name, metres(distance) ?? this.words.no_way);
    if (step > this.last) told.push(this.words.end);
    this.part("now").textContent = `${this.words.step} ${number} ${this.words.of} ${this.last}: ${told.join(", ")}`;
  }
}

class Pair {
  constructor(panes, words) {
    this.panes = panes;
    this.words = words;
    this.last = Math.max(...panes.map((pane) => pane.last));
    this.playing = false;
    const scrubber = part("scrubber");
    scrubber.max = String(this.last);
    scrubber.addEventListener("input", () => this.goTo(Number(scrubber.value)));
    part("back").addEventListener("click", () => this.goTo(this.step - 1));
    part("forward").addEventListener("click", () => this.goTo(this.step + 1));
    part("play").addEventListener("click", () => (this.playing ? this.pause() : this.play()));
  }

  show(step) {
    this.step = Math.max(0, Math.min(this.last, step));
    for (const pane of this.panes) pane.show(this.step);
    const scrubber = part("scrubber");
    scrubber.value = String(this.step);
    scrubber.setAttribute("aria-valuetext", `${this.words.step} ${this.step}`);
    pair.dataset.step = String(this.step);
  }

  goTo(step) {
    this.pause();
    this.show(step);
    history.replaceState(null, "", `#step=${this.step}`);
  }

  play() {
    if (this.step >= this.last) this.show(0);
    this.playing = true;
    this.label();
    let due = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      const pace = 1000 / Number(part("speed").value);
      if (now - due >= pace) {
        const waits = this.panes.some((pane) => pane.isComing(this.step + 1));
        due = waits ? now : due + pace;
        if (!waits) this.show(this.step + 1);
      }
      if (this.step >= this.last) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    this.playing = false;
    this.label();
  }

  label() {
    part("play").textContent = this.playing ? `❚❚ ${this.words.pause}` : `▶ ${this.words.play}`;
  }
}

async function begin() {
  const roots = [...pair.querySelectorAll(".pane")];
  const words = await loadJson(pair, "words");
  const replays = await Promise.all(roots.map((root) => loadJson(root, "data")));
  let both = null;
  const panes = roots.map((root, place) => new Pane(root, replays[place], words, (step) => both.goTo(step)));
  both = new Pair(panes, words);
  both.show(Number(/^#step=(\d{1,9})$/.exec(location.hash)?.[1] ?? 0));
  both.label();
  part("time").hidden = false;
  pair.dataset.ready = "true";
}

begin().catch((error) => {
  part("problem").hidden = false;
  console.error(error);
});
