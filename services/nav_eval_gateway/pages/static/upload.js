// A resumable upload (tus 1.0): in pieces, paused and continued at will, also after the page was closed.

const PIECE = 8 * 1024 * 1024, ATTEMPTS = 8, VERSION = "1.0.0";

class Refused extends Error {}

class Upload {
  constructor(file, box, told) {
    this.file = file;
    this.box = box;
    this.told = told;
    this.paused = false;
    this.location = box.dataset.url && Number(box.dataset.length) === file.size ? box.dataset.url : null;
  }

  headers(more = {}) {
    return { "Tus-Resumable": VERSION, "X-CSRF-Token": this.box.dataset.csrf, ...more };
  }

  async ask(address, options) {
    const answer = await fetch(address, { credentials: "same-origin", ...options });
    if (answer.status >= 400 && answer.status < 500 && ![408, 409, 423, 429].includes(answer.status)) {
      const problem = await answer.json().catch(() => ({}));
      throw new Refused(problem.detail ?? `${answer.status}`);
    }
    if (!answer.ok) throw new Error(String(answer.status));
    return answer;
  }

  async create() {
    const details = { submission_id: this.box.dataset.submission, filename: this.file.name };
    const coded = Object.entries(details).map(([key, value]) => `${key} ${base64(value)}`).join(",");
    const answer = await this.ask(this.box.dataset.endpoint, {
      method: "POST",
      headers: this.headers({ "Upload-Length": String(this.file.size), "Upload-Metadata": coded }),
    });
    this.location = new URL(answer.headers.get("Location"), location.href).pathname;
  }

  async offset() {
    const answer = await this.ask(this.location, { method: "HEAD", headers: this.headers() });
    return Number(answer.headers.get("Upload-Offset"));
  }

  send(offset) {
    return new Promise((resolve, reject) => {
      const piece = this.file.slice(offset, offset + PIECE), request = new XMLHttpRequest(); // fetch tells no progress
      this.request = request;
      request.open("PATCH", this.location);
      const headers = this.headers({ "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream" });
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      request.upload.onprogress = (event) => this.told(offset + event.loaded);
      request.onload = () => (request.status === 204 ? resolve(Number(request.getResponseHeader("Upload-Offset"))) : reject(new Error(String(request.status))));
      request.onerror = request.onabort = () => reject(new Error("connection"));
      request.send(piece);
    });
  }

  async run() {
    this.paused = false;
    let failures = 0, offset = null;
    while (!this.paused) {
      try {
        if (!this.location) await this.create();
        offset ??= await this.offset();
        this.told(offset);
        if (offset >= this.file.size) return true;
        offset = await this.send(offset);
        failures = 0;
      } catch (error) {
        if (this.paused) return false;
        if (error instanceof Refused || ++failures > ATTEMPTS) throw error;
        offset = null; // ask how much is safe
        await new Promise((resolve) => setTimeout(resolve, Math.min(20000, 500 * 2 ** failures)));
      }
    }
    return false;
  }

  pause() {
    this.paused = true;
    this.request?.abort();
  }
}

function base64(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

function bytes(value) {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (value < 1000) return `${value.toFixed(unit === "B" ? 0 : 1)} ${unit}`;
    value /= 1000;
  }
  return `${value.toFixed(2)} TB`;
}

export function offerUpload() {
  const box = document.getElementById("upload");
  if (!box) return;
  const part = (name) => document.getElementById(`upload-${name}`);
  const words = JSON.parse(part("words").textContent);
  let upload = null;
  part("drop").hidden = false;
  if (box.dataset.url) part("status").textContent = words.continue;

  const told = (sent) => {
    part("bar").value = sent / upload.file.size;
    part("said").textContent = `${bytes(sent)} / ${bytes(upload.file.size)}`;
  };
  const choose = (file) => {
    if (!file) return;
    const large = file.size > Number(box.dataset.most);
    upload = large || file.size === 0 ? null : new Upload(file, box, told);
    part("start").disabled = !upload;
    part("status").textContent = large ? words.large : file.size === 0 ? words.empty : "";
  };
  const run = async () => {
    part("start").disabled = true;
    part("file").disabled = true;
    part("pause").hidden = false;
    part("progress").hidden = false;
    part("pause").textContent = words.pause;
    part("status").textContent = words.running;
    try {
      const done = await upload.run();
      part("status").textContent = done ? words.done : words.paused;
      part("pause").hidden = done;
    } catch (error) {
      part("status").textContent = `${words.failed} ${error.message}`;
      part("pause").textContent = words.resume;
      upload.paused = true;
    }
  };
  part("file").addEventListener("change", () => choose(part("file").files[0]));
  if (part("file").files.length) choose(part("file").files[0]); // chosen before this script came
  part("start").addEventListener("click", run);
  part("pause").addEventListener("click", () => {
    if (upload.paused) run();
    else {
      upload.pause();
      part("pause").textContent = words.resume;
    }
  });
  const drop = part("drop");
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (part("file").disabled || !event.dataTransfer.files.length) return;
    part("file").files = event.dataTransfer.files;
    choose(event.dataTransfer.files[0]);
  });
}
