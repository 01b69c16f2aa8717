"""Offline scoring: from files of raw quantities to the numbers of a board, without a simulator.

Scores are a pure function of these files, so that anyone can recompute a row. A line of single-goal navigation is
replayed through the same metric classes that a live evaluation uses. LH-VLN's `reference` rule pools sub-tasks
over the whole dataset, so its row cannot be had from per-episode numbers; it is computed from the raw quantities,
by the same function for `nav-eval score` and for the report of a run. Localization (SQA3D) is a prediction file
against the dataset's own annotations.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
import numpy as np

from nav_eval.config.schema import ScoringConfig
from nav_eval.errors import RecordError
from nav_eval.metrics import EpisodeStart, MetricSuite, Step
from nav_eval.metrics.lh_vln import METRIC_NAMES, ScoringOptions, SubtaskTable, score, score_each
from nav_eval.metrics.localization import (
    UNANSWERED,
    LocalizationError,
    compute_accuracies,
    compute_best_errors,
    compute_mean_accuracies,
)
from nav_eval.records import results
from nav_eval.records.geometry import Vec3
from nav_eval.records.results import EpisodeOutcome
from nav_eval.tasks.base import make_scoring_options

Metres: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
"""A distance; NaN, infinite and negative ones are refused. Null says that there is none."""
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


def require_unique_ids(ids: Iterable[str | int | None], *, path: object) -> None:
    """An episode that stands twice in a file would count twice."""
    known = [episode_id for episode_id in ids if episode_id is not None]
    if len(set(known)) == len(known):
        return
    twice, _ = Counter(known).most_common(1)[0]
    raise RecordError(f"{path}: episode {twice!r} occurs more than once; keep one line per episode.")


SINGLE_GOAL_METRICS = (
    "success",
    "spl",
    "soft_spl",
    "navigation_error",
    "path_length",
    "oracle_success",
    "oracle_navigation_error",
    "dtw",
    "ndtw",
    "sdtw",
)


class EpisodeLine(msgspec.Struct, frozen=True, kw_only=True):
    """One episode as it stands in the file."""

    episode_id: str | int
    trajectory: list[Vec3]  #: positions, the start first
    stopped: bool
    success_distance: Annotated[float, msgspec.Meta(gt=0, le=1e6)]
    goal: Vec3 | None = None
    distances_to_goal: list[Annotated[float, msgspec.Meta(ge=0)] | None] | None = None
    """One per position; null (or Infinity) where the goal is out of reach. Straight lines if absent."""
    shortest_path_length: Metres | None = None  #: the first distance if absent
    reference_path: list[Vec3] = []


class FileScores(msgspec.Struct, frozen=True, kw_only=True):
    """The means over a file, and how many episodes each of them left out."""

    means: dict[str, float | None]
    left_out: dict[str, int]


def score_single_goal_lines(path: Path) -> list[dict[str, str | int | float | None]]:
    """The numbers of every episode; null where it has none (no reference path, goal out of reach)."""
    episodes = results.read_lines(path, EpisodeLine)
    if not episodes:
        raise RecordError(f"{path} holds no episodes; there is nothing to score.")
    require_unique_ids((episode.episode_id for episode in episodes), path=path)
    return [{"episode_id": episode.episode_id, **score_episode(episode, path=path)} for episode in episodes]


def score_single_goal(path: Path) -> FileScores:
    """The mean of each number over the episodes that have it."""
    lines = score_single_goal_lines(path)
    values = {name: [value for line in lines if isinstance(value := line[name], float)] for name in SINGLE_GOAL_METRICS}
    return FileScores(
        means={name: math.fsum(known) / len(known) if known else None for name, known in values.items()},
        left_out={name: len(lines) - len(known) for name, known in values.items() if len(known) < len(lines)},
    )


def score_episode(episode: EpisodeLine, *, path: Path) -> dict[str, float | None]:
    where = f"{path} episode {episode.episode_id!r}"
    distances = _get_distances(episode, where=where)
    suite = MetricSuite(SINGLE_GOAL_METRICS)
    suite.reset(
        EpisodeStart(
            position=episode.trajectory[0],
            distance_to_goal=distances[0],
            shortest_path_length=distances[0] if episode.shortest_path_length is None else episode.shortest_path_length,
            success_distance=episode.success_distance,
            reference_path=tuple(episode.reference_path),
        )
    )
    for step in _iter_steps(episode, distances):
        suite.update(step)
    return suite.values()


def _iter_steps(episode: EpisodeLine, distances: list[float]) -> Iterator[Step]:
    """One step per position after the start; a stop on the spot repeats the last position."""
    moves = list(zip(episode.trajectory, distances, strict=True))[1:]
    for position, distance in moves:
        yield Step(position=position, distance_to_goal=distance)
    if episode.stopped:
        yield Step(position=episode.trajectory[-1], distance_to_goal=distances[-1], stopped=True)


def _get_distances(episode: EpisodeLine, *, where: str) -> list[float]:
    if not episode.trajectory:
        raise RecordError(f"{where}: trajectory is empty; it begins with the start position.")
    if episode.distances_to_goal is None:
        if episode.goal is None:
            raise RecordError(f"{where}: give a goal, or distances_to_goal with one number per position.")
        return [math.dist(position, episode.goal) for position in episode.trajectory]
    if len(episode.distances_to_goal) != len(episode.trajectory):
        raise RecordError(
            f"{where}: distances_to_goal has {len(episode.distances_to_goal)} numbers "
            f"for {len(episode.trajectory)} positions; give one per position."
        )
    return [math.inf if distance is None else distance for distance in episode.distances_to_goal]


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
    tasks = results.read_lines(path, TaskLine)
    require_unique_ids((task.episode_id for task in tasks), path=path)
    return tasks


def _make_subtask_table(tasks: list[TaskLine], path: Path) -> SubtaskTable:
    def name_of(index: int) -> str:
        numbers = [number for number, _ in results.number_lines(results.read_bytes(path))]
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
