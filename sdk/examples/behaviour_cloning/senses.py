"""What the policy is told about a moment: 64 numbers from the challenge's own sensors.

The same code runs on demonstrations and in the agent, so a policy never meets a number that it was not trained on.
Pictures of any size are sampled at a grid of 64 × 48 places. What was seen is remembered by where the robot stood: the
place of the thing to find, which ways were open, and where it has been.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
Place = tuple[float, float]

#: the first ones of the task, in its order
ACTIONS = ("stop", "move_forward", "turn_left", "turn_right")
SENSORS = ("depth", "semantic", "gps", "compass", "categories")

WIDE, HIGH = 64, 48  #: places at which pictures are sampled
COLUMNS = 8
HALF_WIDTH = math.tan(math.radians(79 / 2))  #: of the view, one metre ahead
FAR = 5.0  #: metres; the depth camera sees no farther
LEAST_SEEN = 3  #: places that a thing must cover to count
RING = 12  #: directions, 30° apart as the robot turns
NEARBY = 1.0  #: metres: what was seen from here still holds
RECENT = 6  #: steps that are not yet "where it has been"


class Moment(NamedTuple):
    """One observation, whether it comes from a file or from the evaluator."""

    depth: Array
    semantic: Array
    position: Place
    """Metres to the right and back, from the start."""
    yaw: float
    """Radians to the left of how it stood at the start."""


class Senses:
    """Turns the moments of one episode into numbers; `acted` tells it what was done."""

    def __init__(self, target: str, categories: Sequence[str]) -> None:
        self._target = categories.index(target) if target in categories else -1
        self._doors = [number for number, name in enumerate(categories) if "door" in name]
        self._seen_at: Place | None = None
        self._open: dict[int, tuple[Place, float]] = {}
        self._way: list[Place] = []
        self._last = ""

    def numbers(self, moment: Moment) -> Array:
        """What the policy gets."""
        depth, ids = sampled(moment.depth), sampled(moment.semantic)
        target = (ids == self._target) & (depth > 0)
        ahead = nearest(depth, 15, 24)
        self._remember(moment, depth, target, ahead)
        return np.concatenate(
            [
                nearest(depth, 24, 42),
                ahead,
                share(target),
                share(np.isin(ids, self._doors)),
                self._openness(moment),
                self._visited(moment),
                self._place_of_target(moment),
                _sight(depth, target),
                [self._blocked(), min(len(self._way) / 100, 2.0)],
            ]
        ).astype(np.float32)

    def acted(self, action: str) -> None:
        self._last = action

    def _remember(self, moment: Moment, depth: Array, target: Array, ahead: Array) -> None:
        if np.count_nonzero(target) >= LEAST_SEEN:
            self._seen_at = _world(moment, *_middle(target, depth))
        self._way.append(moment.position)
        for turn, columns in ((1, ahead[:2]), (0, ahead[3:5]), (-1, ahead[6:])):
            self._open[(_bin(moment.yaw) + turn) % RING] = moment.position, float(columns.max())

    def _openness(self, moment: Moment) -> Array:
        """How far it is free in each direction, by what was seen from about here; −0.2 where nobody looked."""
        ring = np.full(RING, -0.2, np.float32)
        for direction, (place, distance) in self._open.items():
            if math.dist(place, moment.position) < NEARBY:
                ring[(direction - _bin(moment.yaw)) % RING] = distance
        return ring

    def _visited(self, moment: Moment) -> Array:
        """1 for each direction in which it has been, 1.5 m from here."""
        ring = np.zeros(RING, np.float32)
        old = np.array(self._way[:-RECENT])
        if len(old):
            angles = np.arange(RING) * 2 * math.pi / RING
            spots = np.array([_world(moment, 1.5 * math.cos(a), 1.5 * math.sin(a)) for a in angles])
            ring[:] = np.linalg.norm(old[None] - spots[:, None], axis=2).min(axis=1) < 0.8
        return ring

    def _place_of_target(self, moment: Moment) -> Array:
        """Whether it was ever seen, how far it is, and which way, from here."""
        if self._seen_at is None:
            return np.zeros(4, np.float32)
        ahead, left = _own(moment, self._seen_at)
        distance, bearing = math.hypot(ahead, left), math.atan2(left, ahead)
        return np.array([1.0, min(distance / FAR, 2.0), math.cos(bearing), math.sin(bearing)], np.float32)

    def _blocked(self) -> bool:
        """It walked, and stands where it stood."""
        return self._last == "move_forward" and len(self._way) > 1 and math.dist(*self._way[-2:]) < 0.05


def sampled(picture: Array) -> Array:
    """A picture at HIGH × WIDE places, those of the pixels' middles."""
    rows, columns = picture.shape[:2]
    if (rows, columns) == (HIGH, WIDE):
        return picture.reshape(HIGH, WIDE)
    down = ((np.arange(HIGH) + 0.5) * rows / HIGH).astype(int)
    across = ((np.arange(WIDE) + 0.5) * columns / WIDE).astype(int)
    grid: Array = picture[down[:, None], across[None, :]]
    return grid.reshape(HIGH, WIDE)


def nearest(depth: Array, top: int, bottom: int) -> Array:
    """Per column of the view, the nearest thing between two rows; holes (0) are far away."""
    band = np.where(depth[top:bottom] > 0, depth[top:bottom], FAR)
    return np.minimum(band.reshape(bottom - top, COLUMNS, -1).min(axis=(0, 2)), FAR) / FAR


def share(mask: Array) -> Array:
    """Per column of the view, how much of it is covered."""
    return mask.reshape(HIGH, COLUMNS, -1).mean(axis=(0, 2), dtype=np.float32)


def mirrored(numbers: Array) -> Array:
    """The same moments in a mirror: twice the demonstrations for nothing."""
    parts = np.split(numbers, np.cumsum([COLUMNS] * 4 + [RING, RING, 4]), axis=-1)
    flipped = [part[..., ::-1] for part in parts[:4]]
    rings = [np.roll(part[..., ::-1], 1, axis=-1) for part in parts[4:6]]  # ahead stays ahead
    place = parts[6] * np.array([1, 1, 1, -1], np.float32)
    return np.concatenate([*flipped, *rings, place, parts[7]], axis=-1)


def _sight(depth: Array, target: Array) -> Array:
    if np.count_nonzero(target) < LEAST_SEEN:
        return np.array([0.0, 1.0], np.float32)
    return np.array([1.0, min(float(depth[target].min()) / FAR, 1.0)], np.float32)


def _middle(seen: Array, depth: Array) -> Place:
    """Metres ahead and to the left of what is seen."""
    ahead = float(np.median(depth[seen]))
    column = float(np.flatnonzero(seen.any(axis=0)).mean())
    return ahead, -ahead * HALF_WIDTH * ((column + 0.5) / WIDE * 2 - 1)


def _bin(yaw: float) -> int:
    return round(yaw / (2 * math.pi / RING)) % RING


def _world(moment: Moment, ahead: float, left: float) -> Place:
    sin, cos = math.sin(moment.yaw), math.cos(moment.yaw)
    x, z = moment.position
    return x - ahead * sin - left * cos, z - ahead * cos + left * sin


def _own(moment: Moment, place: Place) -> Place:
    sin, cos = math.sin(moment.yaw), math.cos(moment.yaw)
    x, z = place[0] - moment.position[0], place[1] - moment.position[1]
    return -x * sin - z * cos, -x * cos + z * sin
