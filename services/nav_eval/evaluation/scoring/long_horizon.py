"""Offline scoring of LH-VLN: one line per task with its sub-tasks."""

import math
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from nav_eval import jsonl
from nav_eval.evaluation.scoring.fields import Count, Metres, require_unique_ids
from nav_eval.metrics.lh_vln import METRIC_NAMES, ScoringOptions, SubtaskTable, score, score_each


class SubtaskLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One sub-task as it stands in the file; null where it was never attempted."""

    success: bool
    oracle_success: bool
    ground_truth_steps: Count
    navigation_error: Metres | None = None
    ground_truth_distance: Metres | None = None
    steps: Count | None = None
    path_length: Metres | None = None


class TaskLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One task; other keys of a run's `episodes.jsonl` are ignored."""

    subtasks: Annotated[list[SubtaskLine], msgspec.Meta(min_length=1)]
    episode_id: str | int | None = None


def score_file(path: Path, options: ScoringOptions) -> dict[str, float | None]:
    """The numbers of all lines together."""
    scores = score(read_table(path), options)
    return {name: _finite(value) for name, value in scores._asdict().items()}


def score_lines(path: Path, options: ScoringOptions) -> list[dict[str, str | int | float | None]]:
    """The numbers of every line alone."""
    tasks = _read(path)
    columns = score_each(_table(tasks, path), options)
    return [
        {"episode_id": task.episode_id, **{name: _finite(float(columns[name][index])) for name in METRIC_NAMES}}
        for index, task in enumerate(tasks)
    ]


def read_table(path: Path) -> SubtaskTable:
    """The sub-tasks of a file as arrays, checked."""
    return _table(_read(path), path)


def _read(path: Path) -> list[TaskLine]:
    tasks = jsonl.read_lines(path, TaskLine)
    require_unique_ids((task.episode_id for task in tasks), path=path)
    return tasks


def _table(tasks: list[TaskLine], path: Path) -> SubtaskTable:
    def name_of(index: int) -> str:
        numbers = [number for number, _ in jsonl.numbered_lines(jsonl.read_bytes(path))]
        return f"{path} line {numbers[index]} (episode {tasks[index].episode_id!r})"

    flat = [subtask for task in tasks for subtask in task.subtasks]
    return SubtaskTable(
        counts=np.array([len(task.subtasks) for task in tasks], dtype=np.int64),
        success=np.array([subtask.success for subtask in flat], dtype=np.bool_),
        oracle_success=np.array([subtask.oracle_success for subtask in flat], dtype=np.bool_),
        # numpy reads None as NaN, which is how the table says "there is none"
        navigation_error=np.array([subtask.navigation_error for subtask in flat], dtype=np.float64),
        ground_truth_distance=np.array([subtask.ground_truth_distance for subtask in flat], dtype=np.float64),
        ground_truth_steps=np.array([subtask.ground_truth_steps for subtask in flat], dtype=np.float64),
        steps=np.array([subtask.steps for subtask in flat], dtype=np.float64),
        path_length=np.array([subtask.path_length for subtask in flat], dtype=np.float64),
        name_of=name_of,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
