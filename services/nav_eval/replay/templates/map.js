// The map of each storey, with everything that happened drawn on it.

class StoreyMap {
  // `frame` holds the map of a storey, `storeys` the buttons that choose another; `goTo` is told the step of a click.
  constructor(replay, words, { frame, storeys, goTo }) {
    this.replay = replay;
    this.words = words;
    this.storeys = storeys;
    this.goTo = goTo;
    this.view = new MapView(frame, (point, reach) => this.seek(point, reach));
    this.floors = replay.floors.map((floor, index) => this.floor(floor, index));
    this.shown = -1;
    this.addStoreys();
  }

  addStoreys() {
    if (this.replay.floors.length < 2) return;
    this.replay.floors.forEach((_, index) => {
      const button = make("button", { type: "button", "aria-pressed": "false" }, [`${this.words.storey} ${index + 1}`]);
      button.addEventListener("click", () => this.showFloor(index));
      this.storeys.append(button);
    });
  }

  // The step whose place is nearest to a point of the shown map, if one is within reach (pixels of the map).
  seek([x, y], reach) {
    let best = null, least = reach;
    this.replay.steps.forEach((step, number) => {
      if (step.floor !== this.shown) return;
      const [left, top] = this.at(this.shown, step.position);
      const far = Math.hypot(left - x, top - y);
      if (far < least) [best, least] = [number, far];
    });
    if (best !== null) this.goTo(best);
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
    this.view.follow([x, y]);
    this.floors[step.floor].agent.setAttribute("transform", `translate(${x} ${y}) rotate(${(-step.yaw * 180) / Math.PI})`);
  }

  showFloor(index) {
    this.shown = index;
    this.view.show(this.floors[index].svg);
    this.storeys.querySelectorAll("button").forEach((button, place) => button.setAttribute("aria-pressed", String(place === index)));
  }
}

const arrowPath = (unit) => `M0,${-2.3 * unit} L${1.6 * unit},${1.6 * unit} L0,${0.8 * unit} L${-1.6 * unit},${1.6 * unit} Z`;
