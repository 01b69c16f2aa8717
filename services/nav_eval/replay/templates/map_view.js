// A drawing that can be enlarged, moved and clicked: by buttons, keys, pinching, the wheel with Ctrl, and dragging.
// At its usual size a finger on it still scrolls the page.

const MOST_ZOOM = 12;
const ZOOM_STEP = 1.5;
const CLICK_PIXELS = 5; // a pointer that moved less has clicked
const REACH_PIXELS = 28; // a click counts for the way up to here

class MapView {
  constructor(frame, clicked) {
    this.frame = frame;
    this.clicked = clicked;
    this.zoom = 1;
    this.centre = null; // of what is seen, in pixels of the map; null is the middle
    this.pointers = new Map();
    frame.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    frame.addEventListener("pointerdown", (event) => this.press(event));
    frame.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, (event) => this.release(event));
  }

  show(svg) {
    const { width, height } = svg.viewBox.baseVal;
    svg.dataset.width ??= width;
    svg.dataset.height ??= height;
    this.svg = svg;
    this.frame.replaceChildren(svg);
    this.update();
  }

  get size() {
    return [Number(this.svg.dataset.width), Number(this.svg.dataset.height)];
  }

  // Zoom by a factor around a point of the map; without one, around the middle of what is seen.
  zoomBy(factor, point = null) {
    const before = this.zoom, [width, height] = this.size;
    this.zoom = Math.max(1, Math.min(MOST_ZOOM, this.zoom * factor));
    const [x, y] = this.centre ?? [width / 2, height / 2];
    const [px, py] = point ?? [x, y], ratio = before / this.zoom;
    this.centre = [px + (x - px) * ratio, py + (y - py) * ratio];
    this.update();
  }

  fit() {
    this.zoom = 1;
    this.centre = null;
    this.update();
  }

  // Keep a point in sight while the map is enlarged.
  follow([x, y]) {
    if (this.zoom === 1) return;
    const [width, height] = this.size, [cx, cy] = this.centre;
    const inside = Math.abs(x - cx) < (0.42 * width) / this.zoom && Math.abs(y - cy) < (0.42 * height) / this.zoom;
    if (inside) return;
    this.centre = [x, y];
    this.update();
  }

  update() {
    const [width, height] = this.size, wide = width / this.zoom, high = height / this.zoom;
    const [x, y] = this.centre ?? [width / 2, height / 2];
    const cx = Math.max(wide / 2, Math.min(width - wide / 2, x)), cy = Math.max(high / 2, Math.min(height - high / 2, y));
    this.centre = [cx, cy];
    this.svg.setAttribute("viewBox", `${cx - wide / 2} ${cy - high / 2} ${wide} ${high}`);
    this.frame.classList.toggle("zoomed", this.zoom > 1);
  }

  pointOf(event) {
    const matrix = this.svg.getScreenCTM().inverse();
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
    return [point.x, point.y];
  }

  get pixel() {
    return 1 / this.svg.getScreenCTM().a;
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoomBy(Math.exp(-event.deltaY / 200), this.pointOf(event));
  }

  press(event) {
    if (event.button) return;
    this.pointers.set(event.pointerId, [event.clientX, event.clientY]);
    this.moved = this.pointers.size > 1;
    this.from = [event.clientX, event.clientY];
    this.frame.setPointerCapture(event.pointerId);
  }

  move(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) return;
    const apart = this.spread();
    this.pointers.set(event.pointerId, [event.clientX, event.clientY]);
    if (this.pointers.size > 1) return this.zoomBy(this.spread() / apart, this.pointOf(event));
    if (Math.hypot(event.clientX - this.from[0], event.clientY - this.from[1]) > CLICK_PIXELS) this.moved = true;
    if (this.zoom === 1 || !this.moved) return;
    const [x, y] = this.centre;
    this.centre = [x - (event.clientX - last[0]) * this.pixel, y - (event.clientY - last[1]) * this.pixel];
    this.update();
  }

  spread() {
    const [[ax, ay], [bx, by] = [0, 0]] = [...this.pointers.values()];
    return Math.max(1, Math.hypot(ax - bx, ay - by));
  }

  release(event) {
    const pressed = this.pointers.delete(event.pointerId);
    if (pressed && !this.moved && event.type === "pointerup") this.clicked(this.pointOf(event), REACH_PIXELS * this.pixel);
  }
}
