"""What the policy is told about a moment: 46 numbers from the challenge's own sensors.

The same code runs on demonstrations and in the agent, so a policy never meets a number that it was not trained on.
Pictures of any size are sampled at a grid of 64 × 64 places. Turns are exact, so the way to the goal and the turns
made so far say where the robot is; by that it remembers which ways were open and where it has been.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
Place = tuple[float, float]

#: in the task's order
ACTIONS = ("stop", "move_forward", "turn_left", "turn_right")
SENSORS = ("depth", "pointgoal")

GRID = 64  #: places across and down at which pictures are sampled
COLUMNS = 8
FAR = 5.0  #: metres; beyond it all is alike
TURN = math.radians(10)  #: of one action
RING = 12  #: directions, 30° apart
NEARBY = 1.0  #: metres: what was seen from here still holds
RECENT = 6  #: steps that are not yet "where it has been"


class Moment(NamedTuple):
    """One observation, whether it comes from a file or from the evaluator."""

    depth: Array
    pointgoal: Array
    """Metres to the goal, and radians to its left."""


class Senses:
    """Turns the moments of one episode into numbers; `acted` tells it what was done."""

    def __init__(self) -> None:
        self._yaw = 0.0
        self._open: dict[int, tuple[Place, float]] = {}
        self._way: list[Place] = []
        self._last = ""

    def numbers(self, moment: Moment) -> Array:
        """What the policy gets."""
        depth = sampled(moment.depth)
        distance, bearing = (float(value) for value in moment.pointgoal)
        ahead = nearest(depth, 20, 32)
        self._remember((-distance * math.cos(bearing + self._yaw), -distance * math.sin(bearing + self._yaw)), ahead)
        return np.concatenate(
            [
                nearest(depth, 32, 56),
                ahead,
                self._openness(),
                self._visited(),
                [min(distance / FAR, 2.0), min(distance, 1.0), math.cos(bearing), math.sin(bearing)],
                [self._blocked(), min(len(self._way) / 100, 2.0)],
            ]
        ).astype(np.float32)

    def acted(self, action: str) -> None:
        self._last = action
        self._yaw += {"turn_left": TURN, "turn_right": -TURN}.get(action, 0.0)

    def _remember(self, place: Place, ahead: Array) -> None:
        """Where it is, in metres forward and left as it stood at the start; and which ways look open."""
        self._way.append(place)
        for turn, columns in ((1, ahead[:3]), (0, ahead[3:5]), (-1, ahead[5:])):
            self._open[(self._heading + turn) % RING] = place, float(columns.max())

    @property
    def _heading(self) -> int:
        return round(self._yaw / (2 * math.pi / RING)) % RING

    def _openness(self) -> Array:
        """How far it is free in each direction, by what was seen from about here; −0.2 where nobody looked."""
        ring = np.full(RING, -0.2, np.float32)
        for direction, (place, distance) in self._open.items():
            if math.dist(place, self._way[-1]) < NEARBY:
                ring[(direction - self._heading) % RING] = distance
        return ring

    def _visited(self) -> Array:
        """1 for each direction in which it has been, 1.5 m from here."""
        old = np.array(self._way[:-RECENT])
        if not len(old):
            return np.zeros(RING, np.float32)
        angles = self._yaw + np.arange(RING) * 2 * math.pi / RING
        spots = np.array(self._way[-1]) + 1.5 * np.column_stack([np.cos(angles), np.sin(angles)])
        near = np.linalg.norm(old[None] - spots[:, None], axis=2).min(axis=1) < 0.8
        return near.astype(np.float32)

    def _blocked(self) -> bool:
        """It walked, and stands where it stood."""
        return self._last == "move_forward" and len(self._way) > 1 and math.dist(*self._way[-2:]) < 0.05


def sampled(picture: Array) -> Array:
    """A picture at GRID × GRID places, those of the pixels' middles."""
    rows, columns = picture.shape[:2]
    down = ((np.arange(GRID) + 0.5) * rows / GRID).astype(int)
    across = ((np.arange(GRID) + 0.5) * columns / GRID).astype(int)
    grid: Array = picture[down[:, None], across[None, :]]
    return grid.reshape(GRID, GRID)


def nearest(depth: Array, top: int, bottom: int) -> Array:
    """Per column of the view, the nearest thing between two rows; holes (0) are far away."""
    band = np.where(depth[top:bottom] > 0, depth[top:bottom], FAR)
    return np.minimum(band.reshape(bottom - top, COLUMNS, -1).min(axis=(0, 2)), FAR) / FAR


def mirrored(numbers: Array) -> Array:
    """The same moments in a mirror: twice the demonstrations for nothing."""
    parts = np.split(numbers, np.cumsum([COLUMNS, COLUMNS, RING, RING, 4]), axis=-1)
    flipped = [part[..., ::-1] for part in parts[:2]]
    rings = [np.roll(part[..., ::-1], 1, axis=-1) for part in parts[2:4]]  # ahead stays ahead
    goal = parts[4] * np.array([1, 1, 1, -1], np.float32)
    return np.concatenate([*flipped, *rings, goal, parts[5]], axis=-1)
