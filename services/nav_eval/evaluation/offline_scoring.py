"""Offline scoring of LH-VLN and localization: from files of raw quantities to the numbers of a board.

Scores are a pure function of these files, so that anyone can recompute a row. LH-VLN's `reference` rule pools sub-tasks
over the whole dataset, so its row cannot be had from per-episode numbers; it is computed from the raw quantities,
by the same function for `nav-eval score` and for the report of a run. Localization (SQA3D) is a prediction file
against the dataset's own annotations.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
import numpy as np

from nav_eval.errors import RecordError
from nav_eval.metrics.lh_vln import METRIC_NAMES, ScoringOptions, SubtaskTable, score, score_each
from nav_eval.metrics.localization import (
    UNANSWERED,
    LocalizationError,
    compute_accuracies,
    compute_best_errors,
    compute_mean_accuracies,
)
from nav_eval.records import results
from nav_eval.records.results import UNSCORED, EpisodeOutcome, EpisodeStatus, Metres, require_unique_ids

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


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
    status: str | None = None  #: a run's lines say how they ended; what is not scored there is not scored here
    cause: str | None = None

    @property
    def is_scored(self) -> bool:
        return self.status != EpisodeStatus.CANCELLED and self.cause not in UNSCORED


def score_long_horizon(path: Path, options: ScoringOptions) -> dict[str, float | None]:
    """The numbers of all lines together."""
    scores = score(read_subtask_table(path), options)
    return {name: _to_finite(value) for name, value in scores._asdict().items()}


def score_long_horizon_lines(path: Path, options: ScoringOptions) -> list[dict[str, str | int | float | None]]:
    """The numbers of every line alone."""
    tasks = _read_tasks(path)
    columns = score_each(_make_subtask_table(tasks, path), options)
    return [
        {"episode_id": task.episode_id, **{name: _to_finite(float(columns[name][index])) for name in METRIC_NAMES}}
        for index, task in enumerate(tasks)
    ]


def read_subtask_table(path: Path) -> SubtaskTable:
    """The sub-tasks of a file as arrays, checked."""
    return _make_subtask_table(_read_tasks(path), path)


def _read_tasks(path: Path) -> list[TaskLine]:
    try:
        tasks = [task for task in results.read_lines(path, TaskLine) if task.is_scored]
    except RecordError:
        tasks = _read_played_tasks(path)
    require_unique_ids((task.episode_id for task in tasks), path=path)
    return tasks


class _Ending(msgspec.Struct):
    status: str
    cause: str | None = None


def _read_played_tasks(path: Path) -> list[TaskLine]:
    """Those of a run in which some were never played, and have no sub-tasks; anything else that is wrong is refused."""
    tasks = []
    for number, line in results.number_lines(results.read_bytes(path)):
        try:
            ending = msgspec.json.decode(line, type=_Ending)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            ending = _Ending(status="")
        if ending.status != EpisodeStatus.CANCELLED and ending.cause not in UNSCORED:
            tasks.append(results.decode_line(line, TaskLine, where=f"{path} line {number}"))
    return tasks


def _make_subtask_table(tasks: list[TaskLine], path: Path) -> SubtaskTable:
    def name_of(index: int) -> str:
        lines = results.number_lines(results.read_bytes(path))
        numbers = [number for number, line in lines if msgspec.json.decode(line, type=TaskLine).is_scored]
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


def _to_finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def compute_long_horizon_scores(config: Mapping[str, Any], scored: Iterable[EpisodeOutcome]) -> dict[str, float | None]:
    """The row of an LH-VLN run; empty for other tasks, whose row is the means."""
    task = config.get("task", {})
    tasks = [outcome.subtasks for outcome in scored if outcome.subtasks]
    if task.get("type") != "lh_vln" or not tasks:
        return {}
    from nav_eval.config.schema import ScoringConfig
    from nav_eval.tasks.base import make_scoring_options

    options = make_scoring_options(
        ScoringConfig.model_validate(task["scoring"]), success_distance=config["evaluation"]["success_distance"]
    )
    values = score(SubtaskTable.from_tasks(tasks), options)._asdict()
    return {name: _to_finite(value) for name, value in values.items()}


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """Up to three guesses for one situation."""

    positions: list[list[float]]
    rotations: list[list[float]]
    id: str | int | None = None


class Predictions(msgspec.Struct, frozen=True, kw_only=True):
    predictions: list[Prediction]


class _Position(msgspec.Struct, frozen=True):
    x: float
    y: float
    z: float = 0.0


class _Rotation(msgspec.Struct, frozen=True, kw_only=True):
    """Read by key: files with the keys in another order are about."""

    x: float = msgspec.field(name="_x")
    y: float = msgspec.field(name="_y")
    z: float = msgspec.field(name="_z")
    w: float = msgspec.field(name="_w")


class Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """A true pose in SQA3D's own format."""

    position: _Position
    rotation: _Rotation
    id: str | int | None = None
    question_id: str | int | None = None


class Annotations(msgspec.Struct, frozen=True, kw_only=True):
    annotations: list[Annotation]


def score_localization(predictions: Path, ground_truth: Path) -> dict[str, float]:
    """The share of situations below each threshold."""
    return compute_mean_accuracies([error for _, error in _compute_errors(predictions, ground_truth)])


def score_localization_lines(predictions: Path, ground_truth: Path) -> list[dict[str, str | float]]:
    """0 or 1 for each situation and threshold."""
    return [{"id": name, **compute_accuracies(error)} for name, error in _compute_errors(predictions, ground_truth)]


def _compute_errors(predictions: Path, ground_truth: Path) -> list[tuple[str, LocalizationError]]:
    truths = results.read_document(ground_truth, Annotations).annotations
    answers = results.read_document(predictions, Predictions).predictions
    if not truths:
        raise RecordError(f"{ground_truth} holds no annotations; there is nothing to score.")
    matched = _match(answers, truths, path=predictions)
    return [
        (name, _compute_error(matched.get(name), truth, where=f"{predictions}, annotation {name}"))
        for name, truth in zip(_list_names(truths, path=ground_truth), truths, strict=True)
    ]


def _list_names(truths: list[Annotation], *, path: Path) -> list[str]:
    """Each annotation's own id, or its place in the file where the file has none."""
    names = [_get_name(truth, place) for place, truth in enumerate(truths)]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RecordError(f"{path}: the id {twice} occurs more than once; ids must be unique.")
    return names


def _get_name(truth: Annotation, place: int) -> str:
    for identifier in (truth.id, truth.question_id):
        if identifier is not None:
            return str(identifier)
    return str(place)


def _match(answers: list[Prediction], truths: list[Annotation], *, path: Path) -> dict[str, Prediction]:
    """By id if the predictions have ids, else by order; situations without an answer count as wrong."""
    names = _list_names(truths, path=path)
    given = [answer.id is not None for answer in answers]
    if any(given) and not all(given):
        raise RecordError(f"{path}: prediction {given.index(False)} has no id although others have; give all or none.")
    if len(answers) > len(truths):
        raise RecordError(f"{path}: {len(answers)} predictions for {len(truths)} annotations; remove the extra ones.")
    if not any(given):
        return dict(zip(names, answers, strict=False))
    matched: dict[str, Prediction] = {}
    known = set(names)
    for answer in answers:
        name = str(answer.id)
        if name not in known:
            raise RecordError(
                f"{path}: prediction with id {name} matches no annotation; ids are id, question_id or place."
            )
        if name in matched:
            raise RecordError(f"{path}: two predictions have the id {name}; give one per annotation.")
        matched[name] = answer
    return matched


def _compute_error(answer: Prediction | None, truth: Annotation, *, where: str) -> LocalizationError:
    if answer is None:
        return UNANSWERED
    rotation = (truth.rotation.x, truth.rotation.y, truth.rotation.z, truth.rotation.w)
    try:
        return compute_best_errors(
            position=(truth.position.x, truth.position.y),
            rotation=rotation,
            guessed_positions=answer.positions,
            guessed_rotations=answer.rotations,
        )
    except RecordError as error:
        raise RecordError(f"{where}: {error}") from error
