"""Where a house is worn: floors along the ways between doors, walls at their foot and beside doors, above radiators and
stoves; and paint that is nowhere quite even.

Like its light it is a function of the finished scene alone, a factor on the light of each place. How worn a house is
follows from its rooms, so that a file that was read back is worn as the house was.
"""

import hashlib
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nav_eval.randomness import derive_seed
from nav_eval.scene.model import Region, Scene, SceneObject

Array = NDArray[np.float64]

LEAST, MOST = 0.35, 1.0  #: how worn houses are
TRODDEN, AT_DOORS = 0.14, 0.1  #: how much darker a floor is on its ways and at its doors, in the most worn house
WAY, STEP = 0.34, 0.5  #: metres from there at which a quarter of that is left
FOOT, KICKED = 0.09, 0.35  #: at the foot of a wall, and up to which height
TOUCHED, HAND, REACH = 0.1, 1.05, 0.4  #: beside doors, at the height of hands, and how far around
SMOKED, RISES = 0.08, 0.8  #: above radiators and behind stoves, and how high
UNEVEN = {"wall": 0.035, "ceiling": 0.04, "floor": 0.02}
PATCH = 0.8  #: metres between brighter and darker places of a wall
TINT = np.array([0.85, 1.0, 1.2])  #: dirt is brownish
_DOORS = ("door", "doorway")
LEDGE = 0.4  #: metres between the foot of a door and the floor of its room at most


def compute_wear(scene: Scene, points: Array, owner: NDArray[np.int64]) -> Array:
    """The factor (N × 3) on the light of surfaces at these points, which belong to these objects."""
    loss = np.zeros(len(points))
    seed = _make_seed(scene.semantics.regions)
    amount = LEAST + (MOST - LEAST) * (seed >> 32) / 2**32
    rooms = {region.region_id: _Room(region, scene.semantics.objects) for region in scene.semantics.regions}
    order = np.argsort(owner, kind="stable")
    starts = np.flatnonzero(np.diff(owner[order], prepend=-1))
    objects = {item.object_id: item for item in scene.semantics.objects}
    for first, last in zip(starts, [*starts[1:], len(order)], strict=True):
        members = order[first:last]
        item = objects.get(int(owner[members[0]]))
        if item is not None and item.category in UNEVEN and item.region in rooms:
            loss[members] = rooms[item.region].compute_loss(item.category, points[members], seed)
    worn: Array = 1 - amount * loss[:, None] * TINT
    return worn


class _Room:
    """What wears one room."""

    def __init__(self, region: Region, objects: Sequence[SceneObject]) -> None:
        self._floor = region.lower[1]
        doors = [_find_way_in(item, region) for item in objects if item.category in _DOORS]
        self._doors = np.array([place for place in doors if place is not None]).reshape(-1, 2)
        own = [item for item in objects if item.region == region.region_id]
        self._hot = [item for item in own if item.category in ("radiator", "stove")]
        (x0, _, z0), (x1, _, z1) = region.lower, region.upper
        stops = self._doors if len(self._doors) > 1 else np.array([*self._doors, ((x0 + x1) / 2, (z0 + z1) / 2)])
        self._ways = list(combinations(stops, 2))

    def compute_loss(self, category: str, points: Array, seed: int) -> Array:
        """How much darker each point of floor, wall or ceiling is in the most worn house."""
        flat, height = points[:, [0, 2]], points[:, 1] - self._floor
        across = flat if category != "wall" else np.column_stack([flat.sum(axis=1), height])
        loss = UNEVEN[category] * make_patches(across / PATCH, seed)
        if category == "floor":
            loss += self._compute_tread(flat) * (0.6 + 0.4 * make_patches(flat / 0.45, seed ^ 1))
        elif category == "wall":
            loss += FOOT * np.clip(1 - height / KICKED, 0, 1) ** 2 + self._compute_touch(flat, height)
            loss += self._compute_smoke(flat, height)
        return loss

    def _compute_tread(self, flat: Array) -> Array:
        near = [_compute_fade(measure_to_segment(flat, a, b) / WAY) for a, b in self._ways]
        tread = TRODDEN * np.max(near, axis=0, initial=0.0) if near else np.zeros(len(flat))
        doors = [_compute_fade(np.sqrt(((flat - door) ** 2).sum(axis=1)) / STEP) for door in self._doors]
        return tread + (AT_DOORS * np.max(doors, axis=0, initial=0.0) if doors else 0.0)

    def _compute_touch(self, flat: Array, height: Array) -> Array:
        touch = np.zeros(len(flat))
        for door in self._doors:
            beside = abs(np.sqrt(((flat - door) ** 2).sum(axis=1)) - 0.6)
            touch = np.maximum(touch, np.clip(1 - beside / REACH, 0, 1) * np.clip(1 - abs(height - HAND) / REACH, 0, 1))
        return TOUCHED * touch

    def _compute_smoke(self, flat: Array, height: Array) -> Array:
        smoke = np.zeros(len(flat))
        for item in self._hot:
            top = item.center[1] + item.size[1] / 2 - self._floor
            beyond = np.maximum(abs(flat - np.array(item.center)[[0, 2]]) - np.array(item.size)[[0, 2]] / 2, 0)
            beside = np.sqrt((beyond * beyond).sum(axis=1))
            above = np.where(height > top - 0.1, np.clip(1 - (height - top) / RISES, 0, 1), 0.0)
            smoke = np.maximum(smoke, np.clip(1 - beside / 0.3, 0, 1) * above)
        return SMOKED * smoke


def measure_to_segment(points: Array, a: Array, b: Array) -> Array:
    """From each point (N × 2) to the line from a to b."""
    way = b - a
    along = np.clip(((points - a) * way).sum(axis=1) / max(float((way * way).sum()), 1e-9), 0, 1)
    off = points - a - along[:, None] * way
    distance: Array = np.sqrt((off * off).sum(axis=1))
    return distance


def make_patches(places: Array, seed: int) -> Array:
    """Smooth noise in [0, 1] over the plane, one value per unit cell; from integers alone, the same everywhere."""
    low = np.floor(places).astype(np.int64)
    part = places - low
    part = part * part * (3 - 2 * part)
    corners = [[_hash_cells(low[:, 0] + i, low[:, 1] + j, seed) for j in (0, 1)] for i in (0, 1)]
    sides = [row[0] + (row[1] - row[0]) * part[:, 1] for row in corners]
    noise: Array = sides[0] + (sides[1] - sides[0]) * part[:, 0]
    return noise


def _hash_cells(x: NDArray[np.int64], z: NDArray[np.int64], seed: int) -> Array:
    mixed = x.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + z.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    value: Array = (mixed >> np.uint64(40)).astype(np.float64) / 2**24
    return value


def _compute_fade(distance: Array) -> Array:
    """1 there, a quarter at 1, nothing to speak of far away."""
    fade: Array = 1 / (1 + distance * distance) ** 2
    return fade


def _find_way_in(item: SceneObject, region: Region) -> Array | None:
    """Where a door goes through the outline of a room; None if it is no door of the room."""
    if abs(item.center[1] - item.size[1] / 2 - region.lower[1]) > LEDGE:
        return None
    middle, half = np.array(item.center)[[0, 2]], np.array(item.size)[[0, 2]] / 2
    corners = [np.array(corner) for corner in region.floor_polygon]
    for a, b in zip(corners, [*corners[1:], *corners[:1]], strict=True):
        place: Array = np.clip(middle, np.minimum(a, b), np.maximum(a, b))  # outlines are parallel to the axes
        wide = abs(b - a) > 0
        if (abs(place - middle) < half + 0.02).all() and (place == middle)[wide].all():
            return place
    return None


def _make_seed(regions: Sequence[Region]) -> int:
    """From the rooms, to the centimetre."""
    sizes = [[round(100 * value) for value in (*region.lower, *region.upper)] for region in regions]
    digest = hashlib.blake2b(repr(sizes).encode(), digest_size=8).hexdigest()
    return derive_seed(0, "wear", digest) & 0xFFFFFFFFFFFFFFFF
