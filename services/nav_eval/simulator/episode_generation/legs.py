"""One leg of a generated episode: where it leads, and how the expert walked it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from nav_eval.dataset.episode import Goal, Pose, PrivateEpisode, Subtask, Vec3
from nav_eval.geometry import straight_line
from nav_eval.simulator.episode_generation.site import Site
from nav_eval.simulator.episode_generation.targets import Target
from nav_eval.simulator.expert import Walk
from nav_eval.simulator.motion import AgentState
from nav_eval.tasks.base import STOP

#: the expert needs less than this share of the allowed steps
SHARE_OF_STEPS = 0.6


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Leg:
    """A way to some goals."""

    walk: Walk
    geodesic: float  #: metres of the shortest way to the nearest goal
    corners: tuple[Vec3, ...]  #: of that way

    @property
    def end(self) -> AgentState:
        return self.walk.states[-1]

    @property
    def actions(self) -> tuple[str, ...]:
        """With the stop that closes it."""
        return (*self.walk.actions, STOP)

    @property
    def metres(self) -> float:
        """What the expert walked."""
        positions = [state.position for state in self.walk.states]
        return math.fsum(straight_line(a, b) for a, b in pairwise(positions))


def walked(
    site: Site, start: AgentState, points: Sequence[Vec3], *, limit: int, near: float | None = None
) -> Leg | None:
    """The expert's way to the nearest of these points; None where it does not arrive in time."""
    field = site.ground.distance_field(points)
    geodesic = field.distance(start.position)
    if math.isinf(geodesic):
        return None
    walk = site.expert.walk(start, field, near=near or site.near, limit=limit)
    if not walk.arrived:
        return None
    from_start = site.ground.distance_field([start.position])
    nearest = min(points, key=from_start.distance)
    return Leg(walk=walk, geodesic=geodesic, corners=tuple(site.ground.shortest_path(start.position, nearest)))


def expert_limit(site: Site) -> int:
    """The expert needs fewer actions than this, so that others have time to err."""
    return int(SHARE_OF_STEPS * site.benchmark.evaluation.max_steps)


def private_half(
    site: Site,
    start: Pose,
    legs: Sequence[Leg],
    *,
    goals: tuple[Goal, ...] = (),
    subtasks: tuple[Subtask, ...] = (),
    info: Mapping[str, Any],
) -> PrivateEpisode:
    """What the evaluator knows of an episode that the expert walked."""
    return PrivateEpisode(
        scene_id=site.around.scene_id,
        start=start,
        goals=goals,
        reference_path=_once(corner for leg in legs for corner in leg.corners),
        dense_path=_once(state.position for leg in legs for state in leg.walk.states),
        expert_actions=tuple(action for leg in legs for action in leg.actions),
        subtasks=subtasks,
        shortest_path_length=math.fsum(leg.geodesic for leg in legs),
        robot=site.robot.name,
        info=dict(info),
    )


def subtask(target: Target, leg: Leg) -> Subtask:
    return Subtask(
        target=target.category,
        region=target.thing.region,
        goals=target.goals,
        reference_path=leg.corners,
        ground_truth_steps=len(leg.actions),
        ground_truth_distance=leg.metres,
    )


def _once(points: Iterable[Vec3]) -> tuple[Vec3, ...]:
    """Every position once in a row; turning on the spot adds none."""
    kept: list[Vec3] = []
    for point in points:
        if not kept or point != kept[-1]:
            kept.append(point)
    return tuple(kept)
