"""Faces with any number of corners, cut into triangles.

Most faces of scans and exports are triangles or convex quads, and these are cut all at once. A
floor plan drawn as one concave polygon is cut ear by ear.
"""

import numpy as np
from numpy.typing import NDArray

MAX_CORNERS = 10_000  # beyond this, cutting ears takes minutes


def triangulate(
    corners: NDArray[np.int64], counts: NDArray[np.int64], points: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Triangles and the face of each, for faces given as runs of `counts` in `corners`.

    `corners` index `points`. Triangles hold positions within `corners`, so that whatever else is
    stored per corner can follow. Faces with fewer than three corners have none.
    """
    starts = np.cumsum(counts) - counts
    pieces, owners = [], []
    for count in np.unique(counts[counts >= 3]).tolist():
        faces = np.flatnonzero(counts == count)
        places = starts[faces, None] + np.arange(count)
        cut = _cut(places, points[corners[places]] if count > 3 else None)
        pieces.append(cut.reshape(-1, 3))
        owners.append(np.repeat(faces, count - 2))
    if not pieces:
        return np.zeros((0, 3), np.int64), np.zeros(0, np.int64)
    triangles, owner = np.concatenate(pieces), np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return triangles[order], owner[order]


def _cut(places: NDArray[np.int64], points: NDArray[np.float32] | None) -> NDArray[np.int64]:
    """Faces × (count − 2) × 3."""
    count = places.shape[1]
    fan = np.stack([np.broadcast_to(places[:, :1], (len(places), count - 2)), places[:, 1:-1], places[:, 2:]], axis=2)
    if points is None:
        return fan
    fan = fan.copy()
    for face in np.flatnonzero(~_is_convex(points.astype(np.float64))).tolist():
        fan[face] = places[face][_ears(points[face].astype(np.float64))]
    return fan


def _is_convex(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether every fan triangle of a face looks the same way as the face."""
    first = points[:, :1]
    with np.errstate(over="ignore", invalid="ignore"):
        areas = np.cross(points[:, 1:-1] - first, points[:, 2:] - first)
        whole = areas.sum(axis=1, keepdims=True)
        return np.asarray(((areas * whole).sum(axis=2) >= 0).all(axis=1))


def _ears(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Triangles of one simple polygon, cut off corner by corner; a fan where it has no ears."""
    flat = _flattened(points)
    ring = list(range(len(points)))
    triangles: list[tuple[int, int, int]] = []
    while len(ring) > 3 and len(points) <= MAX_CORNERS:
        ear = next((place for place in range(len(ring)) if _is_ear(flat, ring, place)), None)
        if ear is None:
            break
        triangles.append((ring[ear - 1], ring[ear], ring[(ear + 1) % len(ring)]))
        del ring[ear]
    triangles += [(ring[0], ring[place], ring[place + 1]) for place in range(1, len(ring) - 1)]
    return np.array(triangles)


def _flattened(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The polygon in its own plane, seen so that it runs counter-clockwise."""
    normal = np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)
    drop = int(np.argmax(np.abs(normal)))
    kept = [(drop + 1) % 3, (drop + 2) % 3]
    return points[:, kept if normal[drop] >= 0 else kept[::-1]]


def _is_ear(flat: NDArray[np.float64], ring: list[int], place: int) -> bool:
    a, b, c = (flat[ring[index % len(ring)]] for index in (place - 1, place, place + 1))
    if _turn(a, b, c) <= 0:
        return False
    corners = {ring[(place + step) % len(ring)] for step in (-1, 0, 1)}
    others = flat[[index for index in ring if index not in corners]]
    inside = (_turn(a, b, others) >= 0) & (_turn(b, c, others) >= 0) & (_turn(c, a, others) >= 0)
    return not bool(np.any(inside))


def _turn(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positive where c lies left of the way from a to b."""
    return np.asarray((b[0] - a[0]) * (c[..., 1] - a[1]) - (b[1] - a[1]) * (c[..., 0] - a[0]))
