"""What motion, metrics and generators may ask of the ground, whatever it is made of, and the body that must fit on it.

A navigation mesh from geometry, an official Habitat file and an endless open plane answer the same
questions, so nothing above this package knows which one it stands on. `OpenPlane` is the ground of tests, and of
replays whose positions are known but whose scene is not there: every point is navigable, every way a straight line.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import Vec3, measure_distance

Seed: TypeAlias = int | np.random.Generator


class StepResult(NamedTuple):
    """Where a step really ended."""

    position: Vec3  #: on the ground, never beyond a wall
    collided: bool  #: true when the step was cut short, horizontally, by more than a rounding error


class DistanceField(Protocol):
    """How far it is to the nearest of a set of goals, from anywhere."""

    def distance(self, position: Vec3) -> float:
        """Geodesic metres to the nearest goal; infinity when there is no way."""


class Ground(Protocol):
    """Where an agent can stand, and how it gets from one place to another."""

    def is_navigable(self, point: Vec3) -> bool:
        """Can an agent stand here? Half a metre of height and a centimetre sideways are forgiven."""

    def snap_point(self, point: Vec3) -> Vec3 | None:
        """The nearest place where an agent can stand, or None when there is none nearby."""

    def island(self, point: Vec3) -> int | None:
        """Which connected part of the ground this is; None off the ground."""

    def try_step(self, start: Vec3, end: Vec3, *, sliding: bool) -> StepResult:
        """Walk straight from start to end; a wall stops the step, or bends it along itself if sliding."""

    def distance_field(self, goals: Sequence[Vec3]) -> DistanceField:
        """Distances to the nearest of these goals; made once per goal set, then cheap to ask."""

    def geodesic_distance(self, start: Vec3, goal: Vec3 | Sequence[Vec3]) -> float:
        """Metres of the shortest way to the goal, or to the nearest of several; infinity without a way."""

    def shortest_path(self, start: Vec3, goal: Vec3) -> list[Vec3]:
        """The corners of the shortest way, both ends included; empty without a way."""

    def random_navigable_point(self, seed: Seed, *, island: int | None = None) -> Vec3:
        """A place drawn uniformly by area; equal seeds give equal places in every process."""


def as_goals(goal: Vec3 | Sequence[Vec3]) -> tuple[Vec3, ...]:
    """One goal or several, as several."""
    points = np.asarray(goal, dtype=np.float64).reshape(-1, 3)
    return tuple((float(x), float(y), float(z)) for x, y, z in points)


#: (lower, upper) bounds of what we build for
_BOUNDS = {
    "radius": (0.02, 5.0),
    "height": (0.05, 50.0),
    "max_climb": (0.0, 10.0),
    "max_slope_degrees": (0.0, 89.0),
    "cell_size": (0.01, 1.0),
    "max_gap": (0.0, 2.0),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentShape:
    """An upright cylinder and what it can climb; Habitat's default agent unless stated."""

    radius: float = 0.1
    height: float = 1.5
    max_climb: float = 0.2  #: the highest step or kerb it walks over
    max_slope_degrees: float = 45.0
    cell_size: float = 0.05  #: spacing of the samples; boundaries are finer than this
    max_gap: float = 0.15  #: holes in the floor up to this width are closed (scans, seams between rooms)

    def __post_init__(self) -> None:
        for name, (lower, upper) in _BOUNDS.items():
            value = getattr(self, name)
            if not lower <= value <= upper:
                raise NavigationMeshError(f"AgentShape.{name} is {value}; it must be between {lower} and {upper}.")
        if self.max_climb >= self.height:
            raise NavigationMeshError(
                f"AgentShape.max_climb {self.max_climb} must be below its height {self.height}: "
                "an agent cannot step onto what is taller than itself."
            )

    @property
    def spacing(self) -> float:
        """The sample spacing that is used: at least two samples across the radius."""
        return min(self.cell_size, self.radius / 2.0)

    @property
    def digest(self) -> str:
        parts = ",".join(f"{name}={value!r}" for name, value in asdict(self).items())
        return hashlib.sha256(parts.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class StraightLineField:
    """Distances on open ground."""

    goals: tuple[Vec3, ...]

    def distance(self, position: Vec3) -> float:
        return min((measure_distance(position, goal) for goal in self.goals), default=math.inf)


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

    def distance_field(self, goals: Sequence[Vec3]) -> StraightLineField:
        return StraightLineField(as_goals(goals))

    def geodesic_distance(self, start: Vec3, goal: Vec3 | Sequence[Vec3]) -> float:
        return StraightLineField(as_goals(goal)).distance(start)

    def shortest_path(self, start: Vec3, goal: Vec3) -> list[Vec3]:
        return [start, goal]

    def random_navigable_point(self, seed: Seed, *, island: int | None = None) -> Vec3:
        rng = np.random.default_rng(seed)
        across, along = (2.0 * float(rng.random()) - 1.0 for _ in range(2))
        return (self.extent * across, self.height, self.extent * along)
