"""Compile everything that an evaluation compiles, into numba's cache of the image: a few steps in a small room.

Containers have a read-only root, so what is not compiled here is compiled again by every shard.
"""

import tempfile
from pathlib import Path

import numpy as np

from nav_eval.config import load_benchmark
from nav_eval.config.schema import PrimitiveCubeCfg
from nav_eval.dataset.episode import Episode, Goal, Instruction, PrivateEpisode, PublicEpisode
from nav_eval.dataset.formats.native import write_episodes
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.records.geometry import Pose
from nav_eval.scene.formats import write_glb
from nav_eval.scene.model import Scene
from nav_eval.scene.navigation.warmup import warm_up
from nav_eval.scene.objects import place_objects

BOXES = {
    "floor": ((8.0, 0.1, 6.0), (0.0, -0.05, 0.0)),
    "wall": ((8.0, 2.5, 0.1), (0.0, 1.25, -3.0)),
    "table": ((1.0, 0.8, 1.0), (-2.0, 0.4, -1.0)),
}
START, GOAL = (-3.0, 0.0, 2.0), (2.5, 0.0, 1.0)


def room() -> Scene:
    nothing = Scene(
        positions=np.zeros((0, 3), np.float32),
        normals=np.zeros((0, 3), np.float32),
        uvs=np.zeros((0, 2), np.float32),
        colors=np.zeros((0, 4), np.uint8),
        triangles=np.zeros((0, 3), np.uint32),
        triangle_material=np.zeros(0, np.uint16),
        triangle_object=np.zeros(0, np.uint32),
        triangle_category=np.zeros(0, np.uint16),
        materials=(),
    )
    boxes = [
        PrimitiveCubeCfg(name=name, category=name, size=size, position=place, color=(0.8, 0.7, 0.5))
        for name, (size, place) in BOXES.items()
    ]
    return place_objects(nothing, boxes, root=Path()).scene


def episode() -> Episode:
    goal = (Goal(position=GOAL),)
    private = PrivateEpisode(scene_id="room.glb", start=Pose(START), goals=goal, reference_path=(START, GOAL))
    return Episode(public=PublicEpisode(episode_id="a", instruction=Instruction(text="Go.")), private=private)


def main() -> None:
    warm_up()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_glb(room(), folder / "room.glb")
        write_episodes(folder / "val.json.gz", [episode()])
        place = [f"dataset.data_path={folder / 'val.json.gz'}", f"dataset.scene_path={folder}"]
        benchmark = load_benchmark("demo_vln", overrides=[*place, "evaluation.max_steps=4"], environ={})
        orchestrator = EvaluationOrchestrator(cache=folder / "cache")
        orchestrator.run_benchmark(benchmark, agent="baseline:keyword", out=folder / "run")


if __name__ == "__main__":
    main()
