"""Offline scoring of LH-VLN: one line per task with its sub-tasks."""

import math
from pathlib import Path

import msgspec
import numpy as np

from nav_eval import jsonl
from nav_eval.errors import RecordError
from nav_eval.evaluation.scoring.checks import require_finite, require_unique_ids
from nav_eval.metrics.lh_vln import METRIC_NAMES, ScoringOptions, SubtaskTable, score, score_each


class SubtaskLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One sub-task as it stands in the file; null where it was never attempted."""

    success: bool
    oracle_success: bool
    ground_truth_steps: int
    navigation_error: float | None = None
    ground_truth_distance: float | None = None
    steps: int | None = None
    path_length: float | None = None


class TaskLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One task; other keys of a run's `episodes.jsonl` are ignored."""

    subtasks: list[SubtaskLine]
    episode_id: str | None = None


def score_file(path: Path, options: ScoringOptions) -> dict[str, float | None]:
    """The numbers of all lines together."""
    scores = score(read_table(path), options)
    return {name: _finite(value) for name, value in scores._asdict().items()}


def score_lines(path: Path, options: ScoringOptions) -> list[dict[str, str | float | None]]:
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
    table = SubtaskTable(
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
    _check(tasks, table)
    return table


def _check(tasks: list[TaskLine], table: SubtaskTable) -> None:
    """Vectorised first; a line is looked for only when something is wrong."""
    empty = table.counts == 0
    if np.any(empty):
        raise RecordError(f"{table.name_of(int(np.argmax(empty)))}: subtasks is empty; a task has at least one.")
    for field in ("navigation_error", "ground_truth_distance", "ground_truth_steps", "steps", "path_length"):
        values: np.ndarray[tuple[int], np.dtype[np.float64]] = getattr(table, field)
        if np.all((values >= 0) & (values < math.inf) | np.isnan(values)) and not _has_written_nan(
            values, tasks, field
        ):
            continue
        for index, task in enumerate(tasks):
            require_finite(
                (getattr(subtask, field) for subtask in task.subtasks),
                field=field,
                where=table.name_of(index),
                unknown="Write null for a sub-task that was never attempted or cannot be reached.",
            )


def _has_written_nan(values: np.ndarray[tuple[int], np.dtype[np.float64]], tasks: list[TaskLine], field: str) -> bool:
    """True if a NaN stood in the file itself rather than a null."""
    if not np.any(np.isnan(values)):
        return False
    nulls = sum(getattr(subtask, field) is None for task in tasks for subtask in task.subtasks)
    return nulls != int(np.count_nonzero(np.isnan(values)))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
