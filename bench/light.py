"""Pictures of lit files against three.js, a plain viewer, with the same camera: how far apart pixels are, of 255.

npm's `three` draws in Chromium (SwiftShader), without tone mapping, under several lights that viewers commonly have,
and under the light that docs/rendering.md documents (`plain`; `lamps` where a file has its own). Its RoomEnvironment
(`room`) is compared with `lighting: environment`, all others with `auto`. Per model the median
is taken over the pixels that either picture shows; per light, the median of the models, and how many of them are within
`CLOSE`.
"""

import base64
import io
import math
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Error, Page, sync_playwright

from bench.shared_data import find_shared_data
from nav_eval.records.geometry import make_rotation
from nav_eval.scene.formats import read_scene
from nav_eval.scene.model import Scene, apply_lighting
from nav_eval.simulator.rendering import Camera, Channel, Device, Renderer
from nav_eval.simulator.rendering.camera import Frame

SAMPLES = find_shared_data("gltf")
PAGE = Path(__file__).resolve().parent / "peers" / "three_viewer.html"
LIBRARY = "three@0.170.0"
CLOSE = 12.0
COMMON_LIGHTS = ("ambient", "hemisphere", "even", "room")
SIZE = (320, 240)
BROWSER_OPTIONS = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox")


def run() -> dict[str, object]:
    if not SAMPLES.is_dir():
        return {"skipped": f"no samples in {SAMPLES}"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            install_library(folder)
        except (OSError, subprocess.SubprocessError) as error:
            return {"skipped": f"three.js is not to be had: {error}"}
        shutil.copy(PAGE, folder / "viewer.html")
        with _serve(folder) as address, _open_viewer(address) as page:
            return _summarize(_compare_models(page))


def install_library(folder: Path) -> None:
    """Get three.js from npm."""
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("there is no npm")
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), LIBRARY]
    subprocess.run(command, check=True, capture_output=True, timeout=300)


def find_models() -> list[Path]:
    """One file per sample, binary where there is a choice."""
    chosen = []
    for sample in sorted(SAMPLES.iterdir()):
        files = sorted([*sample.glob("*/*.glb"), *sample.glob("*/*.gltf")], key=lambda file: file.suffix != ".glb")
        chosen += files[:1]
    return chosen


def choose_camera(scene: Scene) -> Camera:
    """From the front, a little to the right and above; flat things from nearly straight ahead."""
    lower, upper = scene.bounds
    radius = float(np.linalg.norm(upper - lower)) / 2
    is_flat = float((upper - lower).min()) < 1e-3 * radius
    yaw, pitch = (math.radians(10), -math.radians(5)) if is_flat else (math.radians(25), -math.radians(20))
    away = 0.95 * radius / math.sin(math.radians(20))
    back = np.array([math.sin(yaw) * math.cos(pitch), -math.sin(pitch), math.cos(yaw) * math.cos(pitch)])
    x, y, z = ((lower + upper) / 2 + away * back).tolist()
    return Camera(
        position=(x, y, z), rotation=make_rotation(yaw, pitch, 0.0), width=SIZE[0], height=SIZE[1], hfov=50.0,
        near=0.02 * away, far=4 * away,
    )  # fmt: skip


def _compare_models(page: Page) -> dict[str, dict[str, float]]:
    """Of each model, the median difference under each light."""
    device, found = Device.open(), {}
    for file in find_models():
        scene = read_scene(file, up="format")
        camera = choose_camera(scene)
        auto, placed = (
            _render(apply_lighting(scene, lighting), camera, device) for lighting in ("auto", "environment")
        )
        url = "/samples/" + quote(file.relative_to(SAMPLES).as_posix())
        try:
            documented = "lamps" if page.evaluate("url => hasLamps(url)", url) else "plain"
            lights = {**{light: light for light in COMMON_LIGHTS}, "documented": documented}
            pictures = {name: _draw(page, url, light, camera) for name, light in lights.items()}
        except Error:  # three.js cannot read it
            continue
        found[file.stem] = {
            name: _measure(placed if name == "room" else auto, theirs) for name, theirs in pictures.items()
        }
    return found


def _render(scene: Scene, camera: Camera, device: Device) -> Frame:
    with Renderer(scene, device=device) as renderer:
        return renderer.render(camera, [Channel.RGB, Channel.DEPTH])


def _draw(page: Page, url: str, light: str, camera: Camera) -> NDArray[np.uint8]:
    view = {
        "position": camera.position, "rotation": camera.rotation, "hfov": camera.hfov, "near": camera.near,
        "far": camera.far, "width": camera.width, "height": camera.height,
    }  # fmt: skip
    encoded = page.evaluate("([url, light, view]) => draw(url, light, view)", [url, light, view])
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGB"))


def _measure(ours: Frame, theirs: NDArray[np.uint8]) -> float:
    assert ours.rgb is not None
    assert ours.depth is not None
    shown = (ours.depth > 0) | theirs.any(axis=-1)
    apart = np.abs(ours.rgb.astype(np.float64) - theirs)[shown].mean(axis=-1)
    return float(np.median(apart)) if len(apart) else 0.0


def _summarize(models: dict[str, dict[str, float]]) -> dict[str, object]:
    figures: dict[str, object] = {"models": len(models)}
    for light in (*COMMON_LIGHTS, "documented"):
        medians = np.array([model[light] for model in models.values()])
        figures[f"median_{light}"] = float(np.median(medians))
        figures[f"models_within_{CLOSE:g}_{light}"] = int(np.sum(medians <= CLOSE))
        figures[f"share_within_{CLOSE:g}_{light}"] = float(np.mean(medians <= CLOSE))
    figures["by_model"] = {
        name: {light: round(value, 1) for light, value in model.items()} for name, model in models.items()
    }
    return figures


class _Handler(SimpleHTTPRequestHandler):
    """Files of the library and the page, and the samples."""

    def translate_path(self, path: str) -> str:
        plain = unquote(path.split("?", maxsplit=1)[0])
        if plain.startswith("/samples/"):
            return str(SAMPLES / plain.removeprefix("/samples/"))
        return super().translate_path(path)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def _serve(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def _find_chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-headless-shell")


@contextmanager
def _open_viewer(address: str) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_find_chromium(), args=list(BROWSER_OPTIONS))
        page = browser.new_page()
        page.goto(f"{address}/viewer.html")
        page.wait_for_function("window.ready", timeout=120_000)
        yield page
        browser.close()
