"""What a picture costs in CPU, against pyrender and against a straightforward renderer, all in software.

Every renderer runs in a process of its own with the same LP_NUM_THREADS (0 unless set) and the same
poses. It answers lines `mode start count` on stdin with the CPU milliseconds per picture of that block
of poses. Blocks alternate between the renderers, so a busy machine is unfair to nobody, and the best of three passes
counts for everybody. A pass of ours is a first walk, by a renderer that has seen nothing: it costs what an episode in a
new place costs, uploading textures included. No ratio is given where the pictures do not agree.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bench.buildings import building
from bench.shared_data import find_shared_data
from nav_eval.scene.formats import read_scene, write_glb
from nav_eval.scene.model import Scene
from nav_eval.scene.navigation import AgentShape
from nav_eval.sensors import Channel
from nav_eval.simulator.rendering import Device, PreparedScene, Renderer
from nav_eval.simulator.rendering.throughput import EyePose, Lens, make_walk, measure_frames, walk_on
from nav_eval.simulator.scene_manager import SceneSource
from nav_eval_worlds.houses import generate_house

ROOT = Path(__file__).resolve().parent.parent
PEERS = Path(__file__).resolve().parent / "peers"
PYRENDER_HOME = ROOT / "var" / "pyrender-3.1.7"
PYRENDER_PACKAGES = ("pyrender==0.1.45", "numpy==1.26.4")
PYRENDER_OPENGL = "PyOpenGL==3.1.7"
"""Twice as fast as the 3.1.0 that pyrender asks for."""
SMALL_HOUSE = find_shared_data("scenes/small_house.glb")
BLOCKS, BLOCK, PASSES = 20, 10, 3
AGREE = 3.0  #: mean difference of 40 × 40 pixel means, of 255


def run() -> dict[str, object]:
    os.environ.setdefault("LP_NUM_THREADS", "0")
    figures: dict[str, object] = {"lp_num_threads": os.environ["LP_NUM_THREADS"], "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NAV_EVAL_CACHE"] = str(Path(folder) / "cache")
        pyrender = _pyrender(figures)
        figures |= _batches(Path(folder))
        figures |= _houses(Path(folder), pyrender)
        figures |= _growth(Path(folder))
    return figures


def _batches(folder: Path) -> dict[str, object]:
    """Small pictures of a generated house on first walks: drawn together against one by one."""
    file = folder / "house.glb"
    write_glb(generate_house(1).scene, file)
    source = SceneSource(path=file, things=(), root=folder, cache=folder / "cache")
    ground = source.ground(AgentShape())
    poses = list(islice(walk_on(ground, np.random.default_rng(1)), BLOCKS * BLOCK))
    prepared, device = source.prepare_for(ground), Device.open()
    figures: dict[str, object] = {}
    for side in (64, 128):
        lens = Lens(channels=frozenset({Channel.RGB, Channel.DEPTH}), width=side, height=side, hfov=90.0)
        ways = (_walk_one_by_one, _walk_together)
        walks = [[walk(prepared, device, lens, poses) for walk in ways] for _ in range(PASSES)]
        alone, together = map(min, zip(*walks, strict=True))
        figures |= {
            f"batch_{side}_single_ms": 1000 * alone,
            f"batch_{side}_ms": 1000 * together,
            f"batch_{side}_over_single_ratio": alone / together,
            f"batch_{side}_frames_per_second_and_core": 1 / together,
        }
    return figures


def _walk_one_by_one(prepared: PreparedScene, device: Device, lens: Lens, poses: list[EyePose]) -> float:
    """CPU seconds per picture, by a renderer that has drawn a single one."""
    with Renderer(prepared, device=device) as renderer:
        renderer.render(lens.camera(poses[0]), lens.channels)
        _, cpu = measure_frames(renderer, lens, poses)
    return cpu / len(poses)


def _walk_together(prepared: PreparedScene, device: Device, lens: Lens, poses: list[EyePose]) -> float:
    """The same in batches, as so many environments would take them that are spread along the walk."""
    batches = [[lens.camera(pose) for pose in poses[start::BLOCK]] for start in range(BLOCK)]
    with Renderer(prepared, device=device) as renderer:
        renderer.render_batch(batches[0][:1] * BLOCKS, lens.channels)
        cpu = time.process_time()
        for cameras in batches:
            renderer.render_batch(cameras, lens.channels)
        return (time.process_time() - cpu) / len(poses)


def _houses(folder: Path, pyrender: Path | None) -> dict[str, object]:
    figures: dict[str, object] = {}
    houses = {"150k": building(rooms=12), "500k": building(rooms=10, cuts=1)}
    if SMALL_HOUSE.exists():
        houses["small_house"] = read_scene(SMALL_HOUSE)
    for name, scene in houses.items():
        file = SMALL_HOUSE if name == "small_house" else folder / f"{name}.glb"
        if not file.exists():
            write_glb(scene, file)
        poses = _poses(folder, scene)
        with ExitStack() as stack:
            ours = stack.enter_context(_peer("ours", file, poses))
            rivals = {"naive": stack.enter_context(_peer("naive", file, poses))}
            if pyrender:
                rivals["pyrender"] = stack.enter_context(_peer("pyrender_peer", file, poses, python=pyrender))
            figures[f"{name}_triangles"] = ours.about["triangles"]
            figures["renderer"] = ours.about["renderer"]
            for mode in ("rgb", "rgb+depth"):
                figures |= _race(f"{name}_{mode.replace('+', '_')}", mode, ours, rivals)
            figures |= _compare(f"{name}_rig_over_single", ours, ("seen_rig_rgb", "seen_rgb"))
    return figures


def _growth(folder: Path) -> dict[str, object]:
    """The same views in a building with more rooms, in the same rooms cut finer, and where round things are rounder."""
    small = building(rooms=8)
    poses = _poses(folder, small)
    grown = {
        "rooms": building(rooms=120),
        "finer": building(rooms=8, cuts=2),
        "rounder": building(rooms=8, detail=4),
    }
    files = {}
    for name, scene in {"small": small, **grown}.items():
        files[name] = folder / f"{name}.glb"
        write_glb(scene, files[name])
    figures: dict[str, object] = {}
    with ExitStack() as stack:
        peers = {name: stack.enter_context(_peer("ours", file, poses)) for name, file in files.items()}
        for name in grown:
            pairs = [
                tuple(peers[which].block("seen_rgb+depth", start)["cpu_ms"] for which in (name, "small"))
                for start in _starts()
            ]
            figures[f"{name}_triangles"] = peers[name].about["triangles"]
            figures[f"{name}_growth_ratio"] = statistics.median(more / less for more, less in pairs)
    return figures


class Peer:
    """A renderer in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.about = self._read()

    def block(self, mode: str, start: int) -> dict[str, Any]:
        assert self._process.stdin
        print(mode, start, BLOCK, file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args} ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def _peer(name: str, scene: Path, poses: Path, *, python: Path | None = None) -> Iterator[Peer]:
    command = [str(python or sys.executable), str(PEERS / f"{name}.py"), str(scene), str(poses)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Peer(process)
        finally:
            process.kill()


def _race(name: str, mode: str, ours: Peer, rivals: dict[str, Peer]) -> dict[str, object]:
    """CPU of first walks, against the same walk once more and against each rival; the best pass of everybody counts."""
    passes: dict[str, list[list[dict[str, Any]]]] = {who: [] for who in ("first", "seen", *rivals)}
    for number in range(PASSES):
        asked = {"first": (ours, f"new{number}_{mode}"), "seen": (ours, f"seen_{mode}")}
        asked |= {rival: (peer, mode) for rival, peer in rivals.items()}
        rounds = [{who: peer.block(how, start) for who, (peer, how) in asked.items()} for start in _starts()]
        for who, blocks in passes.items():
            blocks.append([answers[who] for answers in rounds])
    best = {who: min(map(_mean, blocks)) for who, blocks in passes.items()}
    figures: dict[str, object] = {
        f"{name}_first_walk_ms": best["first"],
        f"{name}_repeated_walk_ms": best["seen"],
        f"{name}_first_over_repeated_ratio": best["first"] / best["seen"],
    }
    for rival in rivals:
        figures[f"{name}_{rival}_ms"] = best[rival]
        pairs = zip(passes["first"][0], passes[rival][0], strict=True)
        gap = max(_gap(one["thumbnails"], other["thumbnails"]) for one, other in pairs)
        if gap > AGREE:
            figures[f"{name}_over_{rival}_refused"] = f"the pictures differ by {gap:.1f} of 255"
        else:
            figures[f"{name}_over_{rival}_ratio"] = best[rival] / best["first"]
    return figures


def _mean(blocks: list[dict[str, Any]]) -> float:
    return statistics.fmean(block["cpu_ms"] for block in blocks)


def _compare(name: str, peer: Peer, modes: tuple[str, str]) -> dict[str, object]:
    rounds = [tuple(peer.block(mode, start)["cpu_ms"] for mode in modes) for start in _starts()]
    return {f"{name}_ratio": statistics.median(one / other for one, other in rounds)}


def _gap(one: list[list[int]], other: list[list[int]]) -> float:
    return float(np.abs(np.array(one) - np.array(other)).mean())


def _starts() -> Iterator[int]:
    return (BLOCK * number for number in range(BLOCKS))


def _poses(folder: Path, scene: Scene) -> Path:
    poses: list[EyePose] = make_walk(scene, steps=BLOCKS * BLOCK, seed=1)
    file = folder / f"poses-{len(list(folder.iterdir()))}.json"
    file.write_text(json.dumps(poses))
    return file


def _pyrender(figures: dict[str, object]) -> Path | None:
    """The interpreter of pyrender's own environment, made on first use; None, with the reason noted, without one."""
    python = PYRENDER_HOME / "bin" / "python"
    try:
        if not python.exists():
            venv.create(PYRENDER_HOME, with_pip=True)
            for packages in (PYRENDER_PACKAGES, ("--no-deps", PYRENDER_OPENGL)):
                subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True, capture_output=True)
        subprocess.run([python, "-c", "import trimesh, PIL, OpenGL, numpy"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        figures["pyrender"] = f"not measured: {error}"
        return None
    return python
