"""One episode as LeRobot's columns: a row per action, with what was there before it.

The last observation has no action and is left out; the stop is the last row. Actions are vectors of metres and
radians (a single index would load but not train), with the task's own number beside them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.config.schema import RgbSensor
from nav_eval.dataset.trajectory import Trajectory
from nav_eval.dataset.trajectory_hdf5 import named, sparse_rewards
from nav_eval.dataset.vectors import STATE_NAMES, ActionVectors, relative_states
from nav_eval.errors import ConfigError
from nav_eval.evaluation.export.registry import ExportSetup
from nav_eval.evaluation.export.video import CODEC, PIXELS

IMAGES = "observation.images."
SUBTASK = "subtask_index"
Columns = dict[str, NDArray[Any]]


class Place(NamedTuple):
    """Where an episode stands in its dataset."""

    episode: int
    first_row: int
    task: int


def columns_of(
    trajectory: Trajectory, place: Place, *, vectors: ActionVectors, fps: int, subtasks: Mapping[str, int]
) -> Columns:
    """Everything but the pictures."""
    actions = [named(entry) for entry in trajectory.actions]
    count = len(actions)
    frame = np.arange(count, dtype=np.int64)
    done = np.zeros(count, np.bool_)
    done[-1:] = True
    columns: Columns = {
        "action": np.array([vectors.encode(*action) for action in actions], np.float32),
        "action.index": np.array([vectors.index(name) for name, _ in actions], np.int64),
        "observation.state": relative_states(trajectory.positions, trajectory.yaws)[:-1],
        "next.reward": sparse_rewards(trajectory),
        "next.done": done,
        "timestamp": (frame / fps).astype(np.float32),
        "frame_index": frame,
        "episode_index": np.full(count, place.episode, np.int64),
        "index": place.first_row + frame,
        "task_index": np.full(count, place.task, np.int64),
    }
    if subtasks:
        columns[SUBTASK] = np.array([subtasks[text] for text in subtask_texts(trajectory)], np.int64)
    return columns


def subtask_texts(trajectory: Trajectory) -> list[str]:
    """Which sub-task each action belongs to; none for tasks without."""
    targets = [str(subtask["target"]) for subtask in trajectory.subtasks]
    texts, stage = [], 0
    for entry in trajectory.actions if targets else ():
        texts.append(targets[min(stage, len(targets) - 1)])
        stage += entry == "stop"
    return texts


def features_of(setup: ExportSetup, *, with_subtasks: bool) -> dict[str, dict[str, Any]]:
    """What `info.json` says about the columns and the videos."""
    vectors = setup.vectors
    features: dict[str, dict[str, Any]] = {
        "action": _feature("float32", len(vectors.names), list(vectors.names)),
        "action.index": _feature("int64"),
        "observation.state": _feature("float32", len(STATE_NAMES), list(STATE_NAMES)),
        "next.reward": _feature("float32"),
        "next.done": _feature("bool"),
        "timestamp": _feature("float32"),
        **{name: _feature("int64") for name in ("frame_index", "episode_index", "index", "task_index")},
    }
    if with_subtasks:
        features[SUBTASK] = _feature("int64")
    return features | {IMAGES + name: _video_feature(setup, name) for name in setup.sensors}


def _feature(dtype: str, size: int = 1, names: list[str] | None = None) -> dict[str, Any]:
    return {"dtype": dtype, "shape": [size], "names": names}


def _video_feature(setup: ExportSetup, name: str) -> dict[str, Any]:
    sensor = setup.benchmark.sensors()[name]
    if not isinstance(sensor, RgbSensor):
        raise ConfigError(
            f"LeRobot's videos hold colour; {name!r} is {sensor.kind}. Leave it out, or use --format hdf5 or minari."
        )
    height, width = sensor.height + sensor.height % 2, sensor.width + sensor.width % 2
    return {
        "dtype": "video",
        "shape": [height, width, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": height,
            "video.width": width,
            "video.codec": CODEC,
            "video.pix_fmt": PIXELS,
            "video.is_depth_map": False,
            "video.fps": setup.fps,
            "video.channels": 3,
            "has_audio": False,
        },
    }
