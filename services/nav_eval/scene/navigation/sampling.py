"""Random places, uniform by area.

Quads of an island are drawn uniformly and a place within is kept if it is in the region: rejection makes
the border exact without measuring it. Only `random()` of the generator is used, whose stream is stable.
"""

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import Vec3
from nav_eval.errors import NavigationError
from nav_eval.scene.navigation.spans import EAST, SOUTH
from nav_eval.scene.navigation.surface import ABSENT, INSIDE, Surface, blend, corners, height_at, island_at, to_world

MAX_DRAWS = 10_000


def draw_point(surface: Surface, quads: NDArray[np.int64], rng: np.random.Generator, island: int) -> Vec3:
    """A place of the island, whose quads are given."""
    for _ in range(MAX_DRAWS):
        quad = int(quads[int(rng.random() * len(quads))])
        a, b = float(rng.random()), float(rng.random())
        if blend(corners(surface.margin, surface.links, quad), a, b) < INSIDE:
            continue
        u, v = float(surface.i[quad]) + a, float(surface.j[quad]) + b
        if island_at(surface, quad, u, v) == island:
            x, z = to_world(surface, u, v)
            return (x, height_at(surface, quad, u, v), z)
    raise NavigationError(f"Island {island} is too small to draw a point from; ask for another one.")


def quads_of(surface: Surface, island: int) -> NDArray[np.int64]:
    """Quads with a corner on the island."""
    present = np.flatnonzero(surface.quads != ABSENT)
    east, south = surface.links[present, EAST], surface.links[present, SOUTH]
    corners_of_quads = np.stack([present, east, south, surface.links[east, SOUTH]])
    on_island: NDArray[np.bool_] = (surface.island[corners_of_quads] == island).any(axis=0)
    return present[on_island]
