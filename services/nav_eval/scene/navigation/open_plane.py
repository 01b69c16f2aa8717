"""An endless floor without walls.

The ground of tests, and of replays whose positions are known but whose scene is not there: every
point is navigable, every way is a straight line.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nav_eval.dataset.episode import Vec3
from nav_eval.scene.navigation.ground import Seed, StepResult, goals_of, straight_line


@dataclass(frozen=True, slots=True)
class StraightLines:
    """Distances on open ground."""

    goals: tuple[Vec3, ...]

    def distance(self, position: Vec3) -> float:
        return min((straight_line(position, goal) for goal in self.goals), default=math.inf)


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenPlane:
    """Ground everywhere, at the height where one already stands."""

    extent: float = 10.0  #: random points come from the square of this half-width around the origin
    height: float = 0.0  #: of random points

    def is_navigable(self, point: Vec3) -> bool:
        return all(map(math.isfinite, point))

    def snap_point(self, point: Vec3) -> Vec3 | None:
        return point if self.is_navigable(point) else None

    def island(self, point: Vec3) -> int | None:
        return 0 if self.is_navigable(point) else None

    def try_step(self, start: Vec3, end: Vec3, *, sliding: bool) -> StepResult:
        return StepResult((end[0], start[1], end[2]), False)

    def distance_field(self, goals: Sequence[Vec3]) -> StraightLines:
        return StraightLines(goals_of(goals))

    def geodesic_distance(self, start: Vec3, goal: Vec3 | Sequence[Vec3]) -> float:
        return StraightLines(goals_of(goal)).distance(start)

    def shortest_path(self, start: Vec3, goal: Vec3) -> list[Vec3]:
        return [start, goal]

    def random_navigable_point(self, seed: Seed, *, island: int | None = None) -> Vec3:
        rng = np.random.default_rng(seed)
        across, along = (2.0 * float(rng.random()) - 1.0 for _ in range(2))
        return (self.extent * across, self.height, self.extent * along)
