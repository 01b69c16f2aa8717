"""What motion, metrics and generators may ask of the ground, whatever it is made of.

A navigation mesh from geometry, an official Habitat file and an endless open plane answer the same
questions, so nothing above this package knows which one it stands on.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from nav_eval.dataset.episode import Vec3

Seed: TypeAlias = int | np.random.Generator


class StepResult(NamedTuple):
    """Where a step really ended."""

    position: Vec3
    """On the ground, never beyond a wall."""
    collided: bool
    """True when the step was cut short, horizontally, by more than a rounding error."""


class DistanceField(Protocol):
    """How far it is to the nearest of a set of goals, from anywhere."""

    def distance(self, position: Vec3) -> float:
        """Geodesic metres to the nearest goal; infinity when there is no way."""
        ...


class Ground(Protocol):
    """Where an agent can stand, and how it gets from one place to another."""

    def is_navigable(self, point: Vec3) -> bool:
        """Can an agent stand here? Half a metre of height and a centimetre sideways are forgiven."""
        ...

    def snap_point(self, point: Vec3) -> Vec3 | None:
        """The nearest place where an agent can stand, or None when there is none nearby."""
        ...

    def island(self, point: Vec3) -> int | None:
        """Which connected part of the ground this is; None off the ground."""
        ...

    def try_step(self, start: Vec3, end: Vec3, *, sliding: bool) -> StepResult:
        """Walk straight from start to end; a wall stops the step, or bends it along itself if sliding."""
        ...

    def distance_field(self, goals: Sequence[Vec3]) -> DistanceField:
        """Distances to the nearest of these goals; made once per goal set, then cheap to ask."""
        ...

    def geodesic_distance(self, start: Vec3, goal: Vec3 | Sequence[Vec3]) -> float:
        """Metres of the shortest way to the goal, or to the nearest of several; infinity without a way."""
        ...

    def shortest_path(self, start: Vec3, goal: Vec3) -> list[Vec3]:
        """The corners of the shortest way, both ends included; empty without a way."""
        ...

    def random_navigable_point(self, seed: Seed, *, island: int | None = None) -> Vec3:
        """A place drawn uniformly by area; equal seeds give equal places in every process."""
        ...


def straight_line(start: Vec3, end: Vec3) -> float:
    """Metres as the crow flies; spelled out because library norms differ in the last bit."""
    x, y, z = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    return math.sqrt(x * x + y * y + z * z)


def goals_of(goal: Vec3 | Sequence[Vec3]) -> tuple[Vec3, ...]:
    """One goal or several, as several."""
    points = np.asarray(goal, dtype=np.float64).reshape(-1, 3)
    return tuple((float(x), float(y), float(z)) for x, y, z in points)
