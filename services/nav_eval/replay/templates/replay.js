"use strict";

// One episode on one page. The data are in script elements of this page, or at the URLs that #replay names.
// Texts are only ever set as text; nothing here makes HTML out of data.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const STAGE_COLOURS = 6;
  const SYMBOLS = {
    move_forward: "↑", turn_left: "↺", turn_right: "↻", stop: "■", look_up: "⤒", look_down: "⤓",
    velocity_control: "➤", answer: "✎",
  };
  const KNOWN_ACTIONS = ["move_forward", "turn_left", "turn_right", "stop"];
  const root = document.getElementById("replay");
  const part = (name) => document.getElementById(`replay-${name}`);

  async function load(name) {
    const element = part(name);
    if (element) return JSON.parse(element.textContent);
    const response = await fetch(root.dataset[name.replace(/-([a-z])/g, (_, letter) => letter.toUpperCase())]);
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    return response.json();
  }

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

  // ---- the map -------------------------------------------------------------------------------------

  class StoreyMap {
    constructor(replay, words) {
      this.replay = replay;
      this.words = words;
      this.floors = replay.floors.map((floor, index) => this.floor(floor, index));
      this.shown = -1;
    }

    at(index, point) {
      const floor = this.replay.floors[index];
      return [(point[0] - floor.left) * floor.pixels_per_metre, (point[2] - floor.top) * floor.pixels_per_metre];
    }

    points(index, list) {
      return list.map((point) => this.at(index, point).map((n) => n.toFixed(1)).join(",")).join(" ");
    }

    floor(floor, index) {
      const { width, height, media_type: type, data } = floor.picture;
      const unit = Math.max(width, height) / 100;
      const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": this.words.map_label });
      svg.append(draw("image", { href: `data:${type};base64,${data}`, width, height }));
      const layers = { svg, unit, runs: [] };
      this.addScale(svg, floor, unit);
      this.addPaths(svg, index, unit);
      this.addGoals(svg, floor, index, unit);
      this.addWay(layers, index);
      this.addMarks(svg, index, unit);
      this.addGuesses(svg, index, unit);
      layers.agent = this.agent(unit);
      svg.append(layers.agent);
      return layers;
    }

    addScale(svg, floor, unit) {
      const { width, height } = floor.picture;
      const long = width / floor.pixels_per_metre > 12 ? 5 : width / floor.pixels_per_metre > 4 ? 2 : 1;
      const x = unit * 2.5, y = height - unit * 2.5, end = x + long * floor.pixels_per_metre;
      svg.append(draw("g", { class: "scale" }, [
        draw("rect", { x: x - unit, y: y - unit * 3.6, width: end - x + unit * 2, height: unit * 4.8, rx: unit * 0.6 }),
        draw("path", { d: `M${x},${y - unit} V${y} H${end} V${y - unit}`, "stroke-width": unit * 0.3 }),
        draw("text", { x: (x + end) / 2, y: y - unit * 0.7, "font-size": unit * 2.2, "text-anchor": "middle" }, [`${long} m`]),
      ]));
    }

    addPaths(svg, index, unit) {
      for (const path of this.replay.paths) {
        for (const run of runsOf(path.points.length, (i) => path.floors[i])) {
          if (run.key !== index) continue;
          const points = this.points(index, path.points.slice(run.from, run.to + 1));
          svg.append(draw("polyline", { class: "casing", points, "stroke-width": unit * 1.1 }));
          svg.append(draw("polyline", { class: "reference", points, "stroke-width": unit * 0.55, "stroke-dasharray": `${unit * 1.4} ${unit}` }));
        }
      }
    }

    addGoals(svg, floor, index, unit) {
      this.replay.stages.forEach((stage, number) => {
        for (const target of stage.targets) {
          if (target.floor !== index) continue;
          const radius = this.replay.success_distance * floor.pixels_per_metre;
          for (const point of target.view_points) {
            const [x, y] = this.at(index, point);
            svg.append(draw("circle", { class: `view-point ${stageClass(number)}`, cx: x, cy: y, r: unit * 0.3 }));
          }
          const [x, y] = this.at(index, target.position);
          const label = this.replay.stages.length > 1 ? String(number + 1) : "★";
          svg.append(draw("g", { class: `goal ${stageClass(number)}` }, [
            titled(`${number + 1}. ${stage.name}`),
            draw("circle", { class: "zone", cx: x, cy: y, r: Math.max(radius, unit), "stroke-width": unit * 0.25 }),
            draw("circle", { class: "badge", cx: x, cy: y, r: unit * 1.7, "stroke-width": unit * 0.35 }),
            draw("text", { x, y: y + unit * 0.85, "font-size": unit * 2.3, "text-anchor": "middle" }, [label]),
          ]));
        }
      });
    }

    addWay(layers, index) {
      const { steps } = this.replay;
      const { svg, unit } = layers;
      for (const run of runsOf(steps.length, (i) => (steps[i].floor === index ? steps[i].stage : null))) {
        if (run.key === null) continue;
        const from = Math.max(0, run.from - 1);
        const places = steps.slice(from, run.to + 1).map((step) => step.position);
        const points = this.points(index, places);
        svg.append(draw("polyline", { class: "casing", points, "stroke-width": unit * 1.1 }));
        svg.append(draw("polyline", { class: `way later ${stageClass(run.key)}`, points, "stroke-width": unit * 0.5 }));
        const line = draw("polyline", { class: `way ${stageClass(run.key)}`, points: "", "stroke-width": unit * 0.9 });
        svg.append(line);
        layers.runs.push({ from, to: run.to, line, places: points.split(" ") });
      }
    }

    addMarks(svg, index, unit) {
      const { steps, events } = this.replay;
      steps.forEach((step, number) => {
        if (step.collided && step.floor === index) {
          const [x, y] = this.at(index, step.position);
          svg.append(draw("circle", { class: "bump", cx: x, cy: y, r: unit * 0.7 }, [titled(`${this.words.step} ${number}: ${this.words.bump}`)]));
        }
      });
      if (steps[0].floor === index && !this.replay.guesses.length) {
        const [x, y] = this.at(index, steps[0].position);
        svg.append(draw("circle", { class: "start", cx: x, cy: y, r: unit * 1.3, "stroke-width": unit * 0.6 }, [titled(this.words.start)]));
      }
      for (const event of events) {
        if (event.kind !== "closed" || steps[event.step].floor !== index) continue;
        const [x, y] = this.at(index, steps[event.step].position);
        svg.append(draw("g", { class: event.success ? "stop good" : "stop wrong" }, [
          titled(`${this.words.step} ${event.step}: ${event.success ? this.words.right : this.words.wrong}`),
          draw("rect", { x: x - unit * 1.5, y: y - unit * 1.5, width: unit * 3, height: unit * 3, rx: unit * 0.6, "stroke-width": unit * 0.35 }),
          draw("text", { x, y: y + unit * 0.95, "font-size": unit * 2.6, "text-anchor": "middle" }, [event.success ? "✓" : "✗"]),
        ]));
      }
    }

    addGuesses(svg, index, unit) {
      this.replay.guesses.forEach((guess, number) => {
        if (guess.floor !== index) return;
        const [x, y] = this.at(index, guess.position);
        const [tx, ty] = this.at(index, this.replay.steps[0].position);
        const degrees = (-guess.yaw * 180) / Math.PI;
        svg.append(
          draw("line", { class: "error", x1: x, y1: y, x2: tx, y2: ty, "stroke-width": unit * 0.3, "stroke-dasharray": `${unit} ${unit}` }),
          draw("g", { class: "guess", transform: `translate(${x} ${y}) rotate(${degrees})` }, [
            titled(`${this.words.guess} ${number + 1}: ${metres(guess.position_error)}, ${guess.rotation_error.toFixed(1)}°`),
            draw("path", { d: arrowPath(unit), "stroke-width": unit * 0.35 }),
          ]),
          draw("text", { class: "guess-number", x: x + unit * 2.4, y: y + unit, "font-size": unit * 2.4 }, [String(number + 1)]),
        );
      });
    }

    agent(unit) {
      const far = unit * 9;
      return draw("g", { class: "agent" }, [
        draw("path", { class: "cone", d: `M0,0 L${-far * 0.7},${-far * 0.7} A${far},${far} 0 0 1 ${far * 0.7},${-far * 0.7} Z` }),
        draw("path", { class: "arrow", d: arrowPath(unit), "stroke-width": unit * 0.4 }),
      ]);
    }

    show(number) {
      const step = this.replay.steps[number];
      if (step.floor !== this.shown) this.showFloor(step.floor);
      this.floors.forEach((layers, index) => {
        layers.agent.classList.toggle("gone", step.floor !== index);
        for (const run of layers.runs) {
          const count = Math.max(0, Math.min(number, run.to) - run.from + 1);
          run.line.setAttribute("points", run.places.slice(0, count > 1 ? count : 0).join(" "));
        }
      });
      const [x, y] = this.at(step.floor, step.position);
      this.floors[step.floor].agent.setAttribute("transform", `translate(${x} ${y}) rotate(${(-step.yaw * 180) / Math.PI})`);
    }

    showFloor(index) {
      this.shown = index;
      part("map").replaceChildren(this.floors[index].svg);
      part("storeys").querySelectorAll("button").forEach((button, place) => button.setAttribute("aria-pressed", String(place === index)));
    }
  }

  const arrowPath = (unit) => `M0,${-2.3 * unit} L${1.6 * unit},${1.6 * unit} L0,${0.8 * unit} L${-1.6 * unit},${1.6 * unit} Z`;

  function runsOf(count, keyOf) {
    const runs = [];
    for (let i = 0; i < count; i++) {
      const key = keyOf(i), last = runs[runs.length - 1];
      if (last && last.key === key) last.to = i;
      else runs.push({ key, from: i, to: i });
    }
    return runs;
  }

  // ---- the plots: x is the step, one unit each ------------------------------------------------------

  class Plots {
    constructor(replay, words, goTo) {
      const { steps } = replay;
      this.count = steps.length;
      this.cursors = [];
      const distances = steps.map((step) => step.distance).filter((value) => value !== null);
      if (distances.length) this.addDistances(replay, words, 1.06 * Math.max(...distances, replay.success_distance));
      else part("plot-row").hidden = true;
      this.addStrip(steps, words);
      for (const area of [part("plot"), part("strip")]) this.follow(area, goTo);
    }

    canvas(height, label) {
      return draw("svg", { viewBox: `0 0 ${this.count} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
    }

    addCursor(svg, height) {
      const cursor = draw("line", { class: "cursor", y1: 0, y2: height });
      svg.append(cursor);
      this.cursors.push(cursor);
    }

    addDistances(replay, words, largest) {
      const { steps, events, success_distance: near } = replay;
      const svg = this.canvas(100, words.plot);
      const y = (value) => (100 - (value / largest) * 100).toFixed(2);
      svg.append(draw("rect", { class: "near", x: 0, width: this.count, y: y(near), height: 100 - y(near) }));
      for (const run of runsOf(steps.length, (i) => (steps[i].distance === null ? null : steps[i].stage))) {
        if (run.key === null) continue;
        const points = [];
        for (let i = run.from; i <= run.to; i++) points.push(`${i + 0.5},${y(steps[i].distance)}`);
        if (points.length === 1) points.push(`${run.from + 1},${y(steps[run.from].distance)}`);
        svg.append(draw("polyline", { class: `curve ${stageClass(run.key)}`, points: points.join(" ") }));
      }
      for (const event of events) {
        if (event.kind !== "closed") continue;
        const line = draw("line", { class: event.success ? "mark good" : "mark wrong", x1: event.step + 0.5, x2: event.step + 0.5, y1: 0, y2: 100 });
        line.append(titled(`${words.step} ${event.step}`));
        svg.append(line);
      }
      this.addCursor(svg, 100);
      part("plot").append(svg);
      part("plot-top").textContent = `${largest.toFixed(1)} m`;
    }

    addStrip(steps, words) {
      const svg = this.canvas(10, words.strip);
      for (const run of runsOf(steps.length, (i) => steps[i].action)) {
        if (run.key === null) continue;
        const block = draw("rect", { class: actionClass(run.key), x: run.from, width: run.to - run.from + 1, y: 0, height: 10 });
        block.append(titled(run.from === run.to ? `${run.from}: ${run.key}` : `${run.from}–${run.to}: ${run.key}`));
        svg.append(block);
      }
      steps.forEach((step, i) => {
        if (step.collided) svg.append(draw("rect", { class: "strip-bump", x: i, width: 1, y: 7, height: 3 }));
      });
      this.addCursor(svg, 10);
      part("strip").append(svg);
    }

    follow(area, goTo) {
      const at = (event) => {
        const box = area.getBoundingClientRect();
        goTo(Math.floor(((event.clientX - box.left) / box.width) * this.count));
      };
      area.addEventListener("pointerdown", (event) => {
        area.setPointerCapture(event.pointerId);
        at(event);
      });
      area.addEventListener("pointermove", (event) => {
        if (area.hasPointerCapture(event.pointerId)) at(event);
      });
    }

    show(number) {
      for (const cursor of this.cursors) {
        cursor.setAttribute("x1", number + 0.5);
        cursor.setAttribute("x2", number + 0.5);
      }
    }
  }

  // ---- the cameras ----------------------------------------------------------------------------------

  class Cameras {
    constructor(replay, words, frames) {
      this.views = replay.views.map((view, index) => {
        const picture = make("img", { width: view.width, height: view.height, alt: view.sensor });
        const figure = make("figure", {}, [picture, make("figcaption", {}, [view.sensor])]);
        return { view, picture, figure, frames: frames[index] };
      });
      const figures = this.views.map(({ figure }) => figure);
      if (replay.goal_picture) {
        const { width, height, media_type: type, data } = replay.goal_picture;
        const picture = make("img", { width, height, alt: words.goal_picture, src: `data:${type};base64,${data}` });
        figures.push(make("figure", { class: "goal-picture" }, [picture, make("figcaption", {}, [words.goal_picture])]));
      }
      part("cameras").append(...figures);
      part("cameras").classList.add(`cameras-${Math.min(figures.length, 3)}`);
      part("cameras-section").hidden = figures.length === 0;
    }

    show(number) {
      for (const { view, picture, frames } of this.views) {
        picture.src = `data:${view.media_type};base64,${frames[Math.min(number, frames.length - 1)]}`;
      }
    }
  }

  // ---- the whole ------------------------------------------------------------------------------------

  class Player {
    constructor(replay, words, frames) {
      this.replay = replay;
      this.words = words;
      this.last = replay.steps.length - 1;
      this.step = -1;
      this.playing = false;
      this.map = new StoreyMap(replay, words);
      this.plots = new Plots(replay, words, (step) => this.goTo(step));
      this.cameras = new Cameras(replay, words, frames);
      this.addStoreys();
      this.addLegends();
      this.listen();
      this.goTo(this.stepOfAddress() ?? 0);
    }

    addStoreys() {
      if (this.replay.floors.length < 2) return;
      this.replay.floors.forEach((floor, index) => {
        const button = make("button", { type: "button", "aria-pressed": "false" }, [`${this.words.storey} ${index + 1}`]);
        button.addEventListener("click", () => this.map.showFloor(index));
        part("storeys").append(button);
      });
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
        if (steps > 0) {
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

  async function begin() {
    const [replay, words] = await Promise.all([load("data"), load("words")]);
    const frames = await Promise.all(replay.views.map((_, index) => load(`view-${index}`)));
    part("stage").hidden = false;
    const player = new Player(replay, words, frames);
    root.dataset.ready = "true";
    return player;
  }

  begin().catch((error) => {
    part("problem").hidden = false;
    console.error(error);
  });
})();
