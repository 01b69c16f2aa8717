"""Offline scoring of single-goal navigation: from trajectories in a file to the numbers of a board.

A line is replayed through the same metric classes that a live evaluation uses, without a simulator.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from nav_eval.errors import RecordError
from nav_eval.metrics import EpisodeStart, MetricSuite, Step
from nav_eval.records import results
from nav_eval.records.geometry import Vec3
from nav_eval.records.results import Metres, require_unique_ids

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
