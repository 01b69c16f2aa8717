"""One leg of a generated episode: where it leads, and how the expert walked it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nav_eval.dataset.episode import Subtask, Vec3
from nav_eval.geometry import straight_line
from nav_eval.simulator.episode_generation.site import Site
from nav_eval.simulator.episode_generation.targets import Target
from nav_eval.simulator.expert import Walk
from nav_eval.simulator.motion import AgentState
from nav_eval.tasks.base import STOP


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


def walked(site: Site, start: AgentState, points: Sequence[Vec3], *, limit: int) -> Leg | None:
    """The expert's way to the nearest of these points; None where it does not arrive in time."""
    field = site.ground.distance_field(points)
    geodesic = field.distance(start.position)
    if math.isinf(geodesic):
        return None
    walk = site.walk(start, field, limit=limit)
    if not walk.arrived:
        return None
    from_start = site.ground.distance_field([start.position])
    nearest = min(points, key=from_start.distance)
    return Leg(walk=walk, geodesic=geodesic, corners=tuple(site.ground.shortest_path(start.position, nearest)))


def subtask(target: Target, leg: Leg) -> Subtask:
    return Subtask(
        target=target.category,
        region=target.thing.region,
        goals=target.goals,
        reference_path=leg.corners,
        ground_truth_steps=len(leg.actions),
        ground_truth_distance=leg.metres,
    )


def dense_path(legs: Iterable[Leg]) -> tuple[Vec3, ...]:
    """Every position of the expert once; turning on the spot adds none."""
    positions = [state.position for leg in legs for state in leg.walk.states]
    return tuple(p for n, p in enumerate(positions) if n == 0 or p != positions[n - 1])


def joined_corners(legs: Iterable[Leg]) -> tuple[Vec3, ...]:
    """The corners of all ways, one after the other."""
    corners = [corner for leg in legs for corner in leg.corners]
    return tuple(c for n, c in enumerate(corners) if n == 0 or c != corners[n - 1])
