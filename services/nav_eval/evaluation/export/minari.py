"""Minari datasets: `MINARI_DATASETS_PATH=OUT`, then `minari.load_dataset("nav-eval/TASK/NAME-v0")`.

Colour pictures are stored as Minari stores them by default, as JPEG; everything else without loss (for colour
without loss there is `hdf5`). Rewards are 1 at the end of a success. An observation has the frames, the pose in
the frame of the start, and the instruction.
"""

import json
import re
import string
from collections.abc import Iterable, Iterator
from typing import Any

import minari  # type: ignore[import-untyped,import-not-found,unused-ignore]
import numpy as np
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer  # type: ignore[import-untyped,import-not-found,unused-ignore]
from minari.dataset.minari_storage import MinariStorage  # type: ignore[import-untyped,import-not-found,unused-ignore]

from nav_eval.dataset.action_vectors import ActionVectors, compute_relative_states
from nav_eval.dataset.trajectory import Trajectory, describe_task
from nav_eval.dataset.trajectory_hdf5 import make_sparse_rewards, parse_action
from nav_eval.evaluation.export.exporters import Exported, ExportSetup

NAMESPACE = "nav-eval"
STATE, INSTRUCTION = "state", "instruction"
_BOUNDS = {"uint8": (0, 255), "float32": (-1e9, 1e9), "int32": (0, 2**31 - 1), "uint32": (0, 2**32 - 1)}


def write(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    name = re.sub(r"[^A-Za-z0-9_]", "_", setup.name) or "run"
    dataset_id = f"{NAMESPACE}/{setup.benchmark.task.type}/{name}-v0"
    folder = setup.out / dataset_id / "data"
    folder.mkdir(parents=True)
    for namespace in (NAMESPACE, f"{NAMESPACE}/{setup.benchmark.task.type}"):
        (setup.out / namespace / "namespace_metadata.json").write_text("{}")
    vectors = setup.vectors
    storage = MinariStorage.new(
        folder,
        observation_space=_make_observation_space(setup),
        action_space=_make_action_space(vectors),
        data_format="hdf5",
    )
    storage.update_metadata(
        {
            "dataset_id": dataset_id,
            "minari_version": minari.__version__,
            "algorithm_name": str(setup.about.get("name", "unknown")),
            "author": {NAMESPACE},
            "description": f"{setup.benchmark.name}: {setup.benchmark.description}",
            "requirements": [],
            "nav_eval": json.dumps(setup.about),
        }
    )
    storage.update_episodes(_iter_buffers(episodes, vectors))


def _iter_buffers(episodes: Iterable[Exported], vectors: ActionVectors) -> Iterator[EpisodeBuffer]:
    """One at a time: the storage writes each before it asks for the next."""
    for number, (trajectory, frames) in enumerate(episodes):
        count = len(trajectory.actions)
        ends = np.zeros((2, count), np.bool_)
        ends[0 if trajectory.terminated else 1, -1:] = True
        yield EpisodeBuffer(
            id=number,
            options={"episode_id": trajectory.episode_id, "scene_id": trajectory.scene_id or ""},
            observations=_collect_observations(trajectory, frames),
            actions=_encode_actions(trajectory, vectors),
            rewards=make_sparse_rewards(trajectory),
            terminations=ends[0],
            truncations=ends[1],
            infos={"is_success": np.array([False] * count + [trajectory.success])},
        )


def _collect_observations(trajectory: Trajectory, frames: Iterable[Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for moment, frame in enumerate(frames):
        for name, array in frame.items():
            if name not in kept:
                kept[name] = np.empty((len(trajectory.positions), *array.shape), array.dtype)
            kept[name][moment] = array
    return {
        **kept,
        STATE: compute_relative_states(trajectory.positions, trajectory.yaws),
        INSTRUCTION: [describe_task(trajectory)] * len(trajectory.positions),
    }


def _encode_actions(trajectory: Trajectory, vectors: ActionVectors) -> Any:  # noqa: ANN401 - by the kind of task
    actions = [parse_action(entry) for entry in trajectory.actions]
    if _is_discrete(vectors):
        return np.array([vectors.index(name) for name, _ in actions], np.int64)
    return np.stack([vectors.encode(*action) for action in actions])


def _is_discrete(vectors: ActionVectors) -> bool:
    return "velocity_control" not in vectors.action_names


def _make_action_space(vectors: ActionVectors) -> "spaces.Space[Any]":
    if _is_discrete(vectors):
        return spaces.Discrete(len(vectors.action_names))
    return spaces.Box(-vectors.limits, vectors.limits, dtype=np.float32)


def _make_observation_space(setup: ExportSetup) -> spaces.Dict:
    suite = setup.benchmark.sensors()
    boxes: dict[str, spaces.Space[Any]] = {}
    for name in setup.sensors:
        spec = suite[name].spec
        if spec.dtype in _BOUNDS:
            low, high = _BOUNDS[spec.dtype]
            boxes[name] = spaces.Box(low, high, spec.shape, np.dtype(spec.dtype).type)
    longest = max(1, *map(len, setup.texts))
    characters = frozenset(string.printable) | frozenset("".join(setup.texts))
    return spaces.Dict(
        {
            **boxes,
            STATE: spaces.Box(-1e9, 1e9, (4,), np.float32),
            INSTRUCTION: spaces.Text(longest, min_length=0, charset=characters),
        }
    )
