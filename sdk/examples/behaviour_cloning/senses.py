"""What the policy is told about a moment: 85 numbers from the challenge's own sensors.

The same code runs on demonstrations and in the agent, so a policy never meets a number that it was not trained on.
Pictures of any size are sampled at a grid of 64 × 64 places. What was seen is remembered by where the robot stood:
the places of the things that the instruction names, and the way walked since the last stop.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

ACTIONS = ("stop", "turn_left", "move_forward", "turn_right")  #: the task's order
SENSORS = ("depth_left", "depth_front", "depth_right", "semantic_front", "pose", "categories")

GRID = 64
COLUMNS = 8  #: per camera
FAR = 5.0  #: metres; beyond it all is alike
LEAST_SEEN = 3  #: grid places that a thing must cover to count
RING = 12  #: directions in which the way so far is looked for, 30° apart
RECENT = 6  #: steps that are not yet "the way so far"
#: between two names: the second only tells the first one apart ("the book on the table", "… with the bathtub")
_DESCRIBES = re.compile(r"^( | on [a-z ]*)$|(?<!one )\b(with|beside|below|above|under|next to|near|of)( \w+){0,3} $")


class Moment(NamedTuple):
    """One observation, whether it comes from a file or from the evaluator."""

    depth_left: Array
    depth_front: Array
    depth_right: Array
    semantic_front: Array
    position: tuple[float, float]
    """x and z in the world."""
    yaw: float
    """Radians to the left of −z."""


class Senses:
    """Turns the moments of one episode into numbers; `acted` tells it what was done."""

    def __init__(self, instruction: str, categories: Sequence[str]) -> None:
        self._targets = targets_of(instruction, categories)
        self._doors = [number for number, name in enumerate(categories) if "door" in name]
        self._seen: dict[int, tuple[float, float]] = {}
        self._way: list[tuple[float, float]] = []
        self._since_stop = 0
        self._before: tuple[float, float] | None = None
        self._blocked = False
        self._last = ""

    def numbers(self, moment: Moment) -> Array:
        """What the policy gets."""
        depths = [sampled(picture) for picture in (moment.depth_left, moment.depth_front, moment.depth_right)]
        ids = sampled(moment.semantic_front)
        self._remember(moment, depths[1], ids)
        return np.concatenate(
            [
                np.concatenate([nearest(depth, 32, 54) for depth in depths]),
                np.concatenate([nearest(depth, 20, 32) for depth in depths]),
                share(ids == self._target) if self._targets else np.zeros(COLUMNS, np.float32),
                share(np.isin(ids, self._doors)),
                self._visited(moment),
                self._place_of_target(moment),
                self._sight_of_target(depths[1], ids),
                [self._blocked, min(self._since_stop / 100, 2.0), min(len(self._targets), 4) / 4],
            ]
        ).astype(np.float32)

    def acted(self, action: str) -> None:
        self._last = action
        self._since_stop += 1
        if action == "stop":
            self._targets = self._targets[1:]
            self._way.clear()
            self._since_stop = 0

    @property
    def _target(self) -> int:
        return self._targets[0] if self._targets else -1

    def _remember(self, moment: Moment, depth: Array, ids: Array) -> None:
        for number in self._targets:
            seen = (ids == number) & (depth > 0)
            if np.count_nonzero(seen) >= LEAST_SEEN:
                self._seen[number] = _world(moment, *_middle(seen, depth))
        moved = math.inf if self._before is None else math.dist(self._before, moment.position)
        self._blocked = self._last == "move_forward" and moved < 0.05
        self._before = moment.position
        self._way.append(moment.position)

    def _visited(self, moment: Moment) -> Array:
        """1 for each direction in which the way since the last stop passes 1.5 m from here."""
        ring = np.zeros(RING, np.float32)
        old = np.array(self._way[:-RECENT])
        if len(old):
            for direction in range(RING):
                angle = direction * 2 * math.pi / RING
                spot = _world(moment, 1.5 * math.cos(angle), 1.5 * math.sin(angle))
                ring[direction] = np.min(np.hypot(*(old - spot).T)) < 0.8
        return ring

    def _place_of_target(self, moment: Moment) -> Array:
        """Whether it was ever seen, how far it is, and which way, from here."""
        if self._target not in self._seen:
            return np.zeros(4, np.float32)
        ahead, left = _own(moment, self._seen[self._target])
        distance, bearing = math.hypot(ahead, left), math.atan2(left, ahead)
        return np.array([1.0, min(distance / FAR, 2.0), math.cos(bearing), math.sin(bearing)], np.float32)

    def _sight_of_target(self, depth: Array, ids: Array) -> Array:
        distances = depth[(ids == self._target) & (depth > 0)]
        if not self._targets or len(distances) < LEAST_SEEN:
            return np.array([0.0, 1.0], np.float32)
        return np.array([1.0, min(float(distances.min()) / FAR, 1.0)], np.float32)


def targets_of(instruction: str, categories: Sequence[str]) -> list[int]:
    """The categories that an instruction sends one to, in order: named, and not there to tell another thing apart."""
    text = instruction.lower()
    named = _mentions(text, categories)
    ends = [0, *(end for _, end, _ in named)]
    sent_to = [number for (start, _, number), before in zip(named, ends) if not _DESCRIBES.search(text[before:start])]
    return list(dict.fromkeys(sent_to))


def _mentions(text: str, categories: Sequence[str]) -> list[tuple[int, int, int]]:
    """Start, end and number of every category in the text; of names within names the longest counts."""
    found: list[tuple[int, int, int]] = []
    for number, name in sorted(enumerate(categories), key=lambda entry: -len(entry[1])):
        for match in re.finditer(rf"\b{re.escape(name.lower())}(e?s)?\b", text) if name else ():
            if not any(start < match.end() and match.start() < end for start, end, _ in found):
                found.append((*match.span(), number))
    return sorted(found)


def sampled(picture: Array) -> Array:
    """A picture at GRID × GRID places, those of the pixels' middles."""
    rows, columns = picture.shape[:2]
    if rows == columns == GRID:
        return picture.reshape(GRID, GRID)
    down = ((np.arange(GRID) + 0.5) * rows / GRID).astype(int)
    across = ((np.arange(GRID) + 0.5) * columns / GRID).astype(int)
    grid: Array = picture[down[:, None], across[None, :]]
    return grid.reshape(GRID, GRID)


def nearest(depth: Array, top: int, bottom: int) -> Array:
    """Per column of the view, the nearest thing between two rows; holes (0) are far away."""
    band = np.where(depth[top:bottom] > 0, depth[top:bottom], FAR)
    return np.minimum(band.reshape(bottom - top, COLUMNS, -1).min(axis=(0, 2)), FAR) / FAR


def share(mask: Array) -> Array:
    """Per column of the view, how much of it is covered."""
    return mask.reshape(GRID, COLUMNS, -1).mean(axis=(0, 2), dtype=np.float32)


def mirrored(numbers: Array) -> Array:
    """The same moments in a mirror: twice the demonstrations for nothing."""
    width = 3 * COLUMNS
    parts = np.split(numbers, np.cumsum([width, width, COLUMNS, COLUMNS, RING, 4, 2]), axis=-1)
    flipped = [part[..., ::-1] for part in parts[:4]]
    ring = np.roll(parts[4][..., ::-1], 1, axis=-1)  # ahead stays ahead
    place = parts[5] * np.array([1, 1, 1, -1], np.float32)
    return np.concatenate([*flipped, ring, place, *parts[6:]], axis=-1)


def _middle(seen: Array, depth: Array) -> tuple[float, float]:
    """Metres ahead and to the left of what is seen; the cameras are 90° wide."""
    ahead = float(np.median(depth[seen]))
    column = float(np.flatnonzero(seen.any(axis=0)).mean())
    return ahead, -ahead * ((column + 0.5) / GRID * 2 - 1)


def _world(moment: Moment, ahead: float, left: float) -> tuple[float, float]:
    sin, cos = math.sin(moment.yaw), math.cos(moment.yaw)
    x, z = moment.position
    return x - ahead * sin - left * cos, z - ahead * cos + left * sin


def _own(moment: Moment, place: tuple[float, float]) -> tuple[float, float]:
    sin, cos = math.sin(moment.yaw), math.cos(moment.yaw)
    x, z = place[0] - moment.position[0], place[1] - moment.position[1]
    return -x * sin - z * cos, -x * cos + z * sin
