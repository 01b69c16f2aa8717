"""Two simulators side by side: the same episode, the same actions; how far it is, where they end, what they see."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import Episode
from nav_eval.records.geometry import Vec3
from nav_eval.simulator.base import Observations, Simulator

WANDERING = ("move_forward", "move_forward", "turn_left", "move_forward", "turn_right", "turn_right")
LONGEST = 60  #: actions where an episode has no expert


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayedActions:
    """What one simulator made of an episode and some actions."""

    geodesic: float  #: metres from the start to the nearest goal
    positions: tuple[Vec3, ...]  #: at the start and after every action
    collisions: int
    pictures: tuple[Observations, ...]  #: first and last


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeComparison:
    """One episode in two simulators."""

    episode_id: str
    actions: int
    geodesics: tuple[float, float]
    collisions: tuple[int, int]
    farthest: float  #: metres between the two agents, where they were farthest apart
    apart_at_end: float
    pictures: dict[str, float] = field(default_factory=dict)
    """By sensor: mean difference of values (colours 0 to 255, depths in metres), for ids the share that differs."""


def choose_actions(episode: Episode, known: Iterable[str]) -> tuple[str, ...]:
    """What to play: the expert's actions, or some wandering; never a stop."""
    allowed = set(known)
    wanted: Sequence[str] = episode.private.expert_actions or WANDERING * (LONGEST // len(WANDERING))
    return tuple(action for action in wanted if action in allowed and action != "stop")


def play_actions(simulator: Simulator, episode: Episode, actions: Sequence[str]) -> PlayedActions:
    """Play an episode from its start."""
    first = simulator.reset(episode)
    state = simulator.get_agent_state()
    positions = [state.position]
    for action in actions:
        state = simulator.act(action)
        positions.append(state.position)
    goals = [goal.position for goal in _list_goals(simulator.episode)]
    return PlayedActions(
        geodesic=simulator.ground.geodesic_distance(positions[0], goals) if goals else math.inf,
        positions=tuple(positions),
        collisions=state.collisions,
        pictures=(first, simulator.observe()),
    )


def compare_plays(episode: Episode, first: PlayedActions, second: PlayedActions) -> EpisodeComparison:
    """What differs between two plays of the same actions."""
    apart = [math.dist(a, b) for a, b in zip(first.positions, second.positions, strict=True)]
    views = list(zip(first.pictures, second.pictures, strict=True))
    shared = [name for name, value in first.pictures[0].items() if isinstance(value, np.ndarray) and value.ndim >= 2]
    return EpisodeComparison(
        episode_id=episode.episode_id,
        actions=len(first.positions) - 1,
        geodesics=(first.geodesic, second.geodesic),
        collisions=(first.collisions, second.collisions),
        farthest=max(apart),
        apart_at_end=apart[-1],
        pictures={
            name: float(np.mean([measure_difference(a[name], b[name]) for a, b in views]))
            for name in shared
            if all(name in view for pair in views for view in pair)
        },
    )


def measure_difference(first: Any, second: Any) -> float:  # noqa: ANN401 - any reading of a sensor
    """How much two pictures differ: in their values, or in the share of ids that are not the same."""
    one: NDArray[Any] = np.asarray(first)
    other: NDArray[Any] = np.asarray(second)
    if one.shape != other.shape:
        return math.nan
    if one.dtype in (np.int32, np.uint32):
        return float((one != other).mean())
    return float(np.abs(one.astype(np.float64) - other.astype(np.float64)).mean())


def _list_goals(episode: Episode) -> list[Any]:
    goals = list(episode.private.goals)
    return goals or [goal for subtask in episode.subtasks[:1] for goal in subtask.goals]
