// One episode on one page. The data are in script elements of this page, or at the addresses that #replay names.

const SYMBOLS = {
  move_forward: "↑", turn_left: "↺", turn_right: "↻", stop: "■", look_up: "⤒", look_down: "⤓",
  velocity_control: "➤", answer: "✎",
};
const root = document.getElementById("replay");
const part = (name) => document.getElementById(`replay-${name}`);

class Player {
  constructor(replay, words) {
    this.replay = replay;
    this.words = words;
    this.last = replay.steps.length - 1;
    this.step = -1;
    this.playing = false;
    const goTo = (step) => this.goTo(step);
    this.map = new StoreyMap(replay, words, { frame: part("map"), storeys: part("storeys"), goTo });
    this.plots = new Plots(replay, words, { part, goTo });
    const frames = openFrames(root, replay, () => this.arrive());
    this.cameras = new Cameras(replay, words, { row: part("cameras"), large: part("large"), frames });
    part("cameras-section").hidden = this.cameras.isEmpty;
    this.placeMarks();
    this.addLegends();
    this.listen();
    this.goTo(this.stepOfAddress() ?? 0);
  }

  // Pictures have come: those of this step may be among them.
  arrive() {
    this.cameras.refresh();
    if (this.cameras.has(this.step)) root.dataset.pictures = "true";
  }

  // What went wrong, at its place above the time line.
  placeMarks() {
    for (const mark of part("marks").querySelectorAll("a")) {
      mark.style.left = `${((Number(mark.dataset.step) + 0.5) / this.replay.steps.length) * 100}%`;
    }
  }

  addLegends() {
    const { replay, words } = this;
    const entries = replay.guesses.length
      ? [["key-agent", words.truth], ["key-guess", words.guess]]
      : [["key-way stage-0", words.way], ["key-start", words.start]];
    if (replay.paths.length) entries.push(["key-reference", words[replay.paths[0].kind] ?? replay.paths[0].kind]);
    if (replay.stages.length) entries.push(["key-goal stage-0", words.goal], ["key-stop", words.stop_mark]);
    if (replay.steps.some((step) => step.collided)) entries.push(["key-bump", words.bump]);
    fill(part("legend"), entries);
    const actions = [...new Set(replay.steps.map((step) => step.action).filter((action) => action !== null))];
    fill(part("actions-legend"), actions.map((action) => [`key-block ${actionClass(action)}`, action]));
  }

  stepOfAddress() {
    const found = /^#step=(\d{1,9})$/.exec(location.hash);
    return found ? Number(found[1]) : null;
  }

  listen() {
    part("scrubber").addEventListener("input", (event) => this.goTo(Number(event.target.value)));
    part("first").addEventListener("click", () => this.goTo(0));
    part("back").addEventListener("click", () => this.goTo(this.step - 1));
    part("forward").addEventListener("click", () => this.goTo(this.step + 1));
    part("last").addEventListener("click", () => this.goTo(this.last));
    part("play").addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    part("zoom-in").addEventListener("click", () => this.map.view.zoomBy(ZOOM_STEP));
    part("zoom-out").addEventListener("click", () => this.map.view.zoomBy(1 / ZOOM_STEP));
    part("fit").addEventListener("click", () => this.map.view.fit());
    window.addEventListener("resize", () => makeRoom());
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => {
      const step = this.stepOfAddress();
      if (step !== null) this.goTo(step);
    });
    root.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-step]");
      if (!link) return;
      event.preventDefault();
      this.goTo(Number(link.dataset.step));
    });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target.closest ? event.target : document.body;
    const isScrubber = target.id === "replay-scrubber";
    if (!isScrubber && target.closest("input, select, textarea, .wide")) return;
    if (event.key === " " && target.closest("button, a, summary")) return;
    const far = event.shiftKey ? 10 : 1;
    const moves = {
      ArrowLeft: () => this.goTo(this.step - far),
      ArrowRight: () => this.goTo(this.step + far),
      Home: () => this.goTo(0),
      End: () => this.goTo(this.last),
      " ": () => (this.playing ? this.pause() : this.play()),
      "+": () => this.map.view.zoomBy(ZOOM_STEP),
      "-": () => this.map.view.zoomBy(1 / ZOOM_STEP),
      0: () => this.map.view.fit(),
      Escape: () => this.cameras.enlarge(null),
    };
    if (!Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    moves[event.key]();
  }

  play() {
    if (this.step >= this.last) this.show(0);
    this.playing = true;
    this.labelPlay();
    let due = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      const pace = 1000 / Number(part("speed").value);
      const steps = Math.floor((now - due) / pace);
      if (steps > 0 && this.cameras.isComing(this.step + 1)) due = now; // rather late than without pictures
      else if (steps > 0) {
        due += steps * pace;
        this.show(this.step + steps);
      }
      if (this.step >= this.last) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    this.playing = false;
    this.labelPlay();
    this.settle();
  }

  labelPlay() {
    const button = part("play"), word = this.playing ? this.words.pause : this.words.play;
    button.textContent = `${this.playing ? "❚❚" : "▶"} ${word}`;
    button.setAttribute("aria-label", word);
    button.title = word;
  }

  goTo(step) {
    if (this.playing) this.pause();
    this.show(step);
    this.settle();
  }

  show(step) {
    const number = Math.max(0, Math.min(this.last, step));
    if (number === this.step) return;
    this.step = number;
    this.map.show(number);
    this.plots.show(number);
    this.cameras.show(number);
    this.showNumbers(number);
    root.dataset.step = String(number);
    root.dispatchEvent(new CustomEvent("replay-step", { detail: number })); // for what a server puts beside it
  }

  showNumbers(number) {
    const { action, arguments: given, stage, distance, collided, text, reply } = this.replay.steps[number];
    const goal = this.replay.stages[stage];
    const details = Object.entries(given).map(([name, value]) => `${name} ${value}`).join(", ");
    const what = action === null ? this.words.start : `${SYMBOLS[action] ?? "•"} ${action}${details ? ` (${details})` : ""}`;
    const link = part("step-link");
    link.textContent = String(number);
    link.href = `#step=${number}`;
    part("action").textContent = `${what}${text ? ` — “${text}”` : ""}${reply ? ` → “${reply}”` : ""}`;
    part("action").classList.toggle("bumped", collided);
    part("goal-cell").hidden = part("distance-cell").hidden = goal === undefined;
    if (goal) {
      part("goal").textContent = this.replay.stages.length > 1 ? `${stage + 1}. ${goal.name}` : goal.name;
      part("goal").className = `of-stage ${stageClass(stage)}`;
      part("distance").textContent = metres(distance) ?? this.words.no_way;
    }
    const scrubber = part("scrubber");
    scrubber.value = String(number);
    scrubber.setAttribute("aria-valuetext", `${this.words.step} ${number}, ${what}${goal ? `, ${metres(distance) ?? this.words.no_way}` : ""}`);
  }

  // What is said aloud and what stands in the address: not while it plays.
  settle() {
    const { events, stages, steps } = this.replay;
    const here = events.filter((event) => event.step === this.step && event.kind !== "end");
    const said = here.map((event) => {
      const what = event.kind === "reached" ? this.words.reached : event.success ? this.words.right : this.words.wrong;
      return stages[event.stage] ? `${stages[event.stage].name}: ${what}` : what;
    });
    if (steps[this.step].collided) said.push(this.words.bump);
    part("said").textContent = said.join(" · ");
    const address = `#step=${this.step}`;
    if (location.hash !== address && (this.step > 0 || location.hash)) history.replaceState(null, "", address);
  }
}

function fill(list, entries) {
  list.append(...entries.map(([key, text]) => make("li", {}, [make("span", { class: `key ${key}`, "aria-hidden": "true" }), text])));
}

// Map, cameras, events and time line on one screen, whatever stands above them.
function makeRoom() {
  const stage = part("stage"), top = stage.getBoundingClientRect().top + scrollY;
  const room = innerHeight - top - part("time").offsetHeight - 2 * parseFloat(getComputedStyle(stage).rowGap);
  stage.style.setProperty("--room", `${Math.floor(room)}px`);
}

async function begin() {
  const [replay, words] = await Promise.all([loadJson(root, "data"), loadJson(root, "words")]);
  part("stage").hidden = false;
  const player = new Player(replay, words);
  makeRoom();
  root.dataset.ready = "true";
  return player;
}

begin().catch((error) => {
  part("problem").hidden = false;
  console.error(error);
});
