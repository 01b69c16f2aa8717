// The plots below the map: x is the step, one unit each.

class Plots {
  constructor(replay, words, { part, goTo }) {
    this.part = part;
    const { steps } = replay;
    this.count = steps.length;
    this.cursors = [];
    const distances = steps.map((step) => step.distance).filter((value) => value !== null);
    if (distances.length) this.addDistances(replay, words, 1.06 * Math.max(...distances, replay.success_distance));
    else this.part("plot-row").hidden = true;
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
    this.part("plot").append(svg);
    this.part("plot-top").textContent = `${largest.toFixed(1)} m`;
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
    this.part("strip").append(svg);
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
