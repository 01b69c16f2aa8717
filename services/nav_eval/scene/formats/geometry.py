"""What all readers share: vector arithmetic, polygons cut into triangles, and parts that become one triangle list."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.formats.scene_folder import ReadLimits, check_limit
from nav_eval.scene.model import Light, Material, ReadLog, Scene, Texture


def compute_face_normals(positions: NDArray[np.float32], triangles: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Unit normals of triangles; (0, 1, 0) where a triangle has no area."""
    return normalize(compute_area_vectors(positions, triangles))


def compute_area_vectors(positions: NDArray[np.float32], triangles: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Normals as long as twice the triangle's area."""
    a, b, c = (positions[triangles[:, corner]].astype(np.float64) for corner in range(3))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.cross(b - a, c - a)


def iterate_slices(count: int, *, size: int = 1 << 18) -> Iterator[slice]:
    """Runs that cover `count` rows: what is worked out in double precision goes through memory piece by piece."""
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def compute_vertex_normals(positions: NDArray[np.float32], triangles: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Area-weighted normals, smooth across every shared vertex."""
    areas = np.nan_to_num(compute_area_vectors(positions, triangles))
    corners = triangles.ravel()
    sums = [np.bincount(corners, np.repeat(areas[:, axis], 3), minlength=len(positions)) for axis in range(3)]
    return normalize(np.stack(sums, axis=1))


def normalize(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Unit vectors; (0, 1, 0) for those without a direction."""
    vectors = vectors.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    units[~np.isfinite(units).all(axis=1)] = (0.0, 1.0, 0.0)
    return np.asarray(units, np.float32)


def transform_points(points: NDArray[np.floating], matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    """Points moved by a 4 × 4 matrix; computed in double precision so that far scenes keep their millimetres."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (points.astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]).astype(np.float32)


def transform_normals(normals: NDArray[np.float32], matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    """Normals turned by the inverse transpose, which stays right under uneven and mirroring scales."""
    with np.errstate(over="ignore", invalid="ignore"):
        return normalize(normals.astype(np.float64) @ compute_normal_matrix(matrix).T)


def compute_normal_matrix(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse transpose up to a positive factor, defined for singular matrices too."""
    x, y, z = matrix[:3, 0], matrix[:3, 1], matrix[:3, 2]
    cofactors = np.stack([np.cross(y, z), np.cross(z, x), np.cross(x, y)], axis=1)
    return cofactors * (-1.0 if is_mirroring(matrix) else 1.0)


def is_mirroring(matrix: NDArray[np.float64]) -> bool:
    """Whether the matrix turns left hands into right ones, and so flips the winding."""
    return bool(np.dot(np.cross(matrix[:3, 0], matrix[:3, 1]), matrix[:3, 2]) < 0)


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
        fan[face] = places[face][_cut_ears(points[face].astype(np.float64))]
    return fan


def _is_convex(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether every fan triangle of a face looks the same way as the face."""
    first = points[:, :1]
    with np.errstate(over="ignore", invalid="ignore"):
        areas = np.cross(points[:, 1:-1] - first, points[:, 2:] - first)
        whole = areas.sum(axis=1, keepdims=True)
        return np.asarray(((areas * whole).sum(axis=2) >= 0).all(axis=1))


def _cut_ears(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Triangles of one simple polygon, cut off corner by corner; a fan where it has no ears."""
    flat = _flatten(points)
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


def _flatten(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The polygon in its own plane, seen so that it runs counter-clockwise."""
    normal = np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)
    drop = int(np.argmax(np.abs(normal)))
    kept = [(drop + 1) % 3, (drop + 2) % 3]
    return points[:, kept if normal[drop] >= 0 else kept[::-1]]


def _is_ear(flat: NDArray[np.float64], ring: list[int], place: int) -> bool:
    a, b, c = (flat[ring[index % len(ring)]] for index in (place - 1, place, place + 1))
    if _compute_turn(a, b, c) <= 0:
        return False
    corners = {ring[(place + step) % len(ring)] for step in (-1, 0, 1)}
    others = flat[[index for index in ring if index not in corners]]
    inside = (
        (_compute_turn(a, b, others) >= 0) & (_compute_turn(b, c, others) >= 0) & (_compute_turn(c, a, others) >= 0)
    )
    return not bool(np.any(inside))


def _compute_turn(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positive where c lies left of the way from a to b."""
    return np.asarray((b[0] - a[0]) * (c[..., 1] - a[1]) - (b[1] - a[1]) * (c[..., 0] - a[0]))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MeshPart:
    """Triangles of one material and one object, in world space."""

    positions: NDArray[np.float32]  #: V × 3
    normals: NDArray[np.float32]  #: V × 3
    uvs: NDArray[np.float32]  #: V × 2
    colors: NDArray[np.uint8]  #: V × 4
    triangles: NDArray[np.uint32]  #: T × 3, into this part's vertices
    material: int
    object_id: int = 0


def move_part(part: MeshPart, matrix: NDArray[np.float64], *, object_id: int) -> MeshPart:
    """A part placed by a 4 × 4 matrix."""
    return replace(
        part,
        positions=transform_points(part.positions, matrix),
        normals=transform_normals(part.normals, matrix),
        triangles=part.triangles[:, ::-1] if is_mirroring(matrix) else part.triangles,
        object_id=object_id,
    )


class PartList:
    """Parts as they are read, counted against the limits.

    Instances share their part until they are joined, and are then moved straight into the scene's arrays: a small file
    that places a mesh ten thousand times takes the memory of what it shows, once.
    """

    def __init__(self, limits: ReadLimits, log: ReadLog) -> None:
        self._limits = limits
        self._log = log
        self._placed: list[tuple[MeshPart, NDArray[np.float64] | None, int]] = []
        self._vertices = 0
        self._triangles = 0

    def reserve(self, *, vertices: int, triangles: int) -> None:
        """Count what is about to be made."""
        self._vertices += vertices
        self._triangles += triangles
        check_limit(self._vertices, limit=self._limits.vertices, what="vertices", source=self._log.source)
        check_limit(self._triangles, limit=self._limits.triangles, what="triangles", source=self._log.source)

    def add(self, part: MeshPart) -> None:
        self._placed.append((part, None, part.object_id))

    def place(self, part: MeshPart, matrix: NDArray[np.float64], *, object_id: int) -> None:
        """Add a part where a 4 × 4 matrix puts it."""
        self._placed.append((part, matrix, object_id))

    def join(
        self, *, materials: Sequence[Material], textures: Sequence[Texture] = (), lights: Sequence[Light] = ()
    ) -> Scene:
        """One scene of all parts, without objects' names yet."""
        counts = [len(part.triangles) for part, _, _ in self._placed]
        if not any(counts):
            raise SceneError(self._explain_emptiness())
        self._log.meshes = len(self._placed)
        self._log.triangles = self._triangles
        check_limit(len(materials), limit=self._limits.materials, what="materials", source=self._log.source)
        scene = Scene(
            **self._make_arrays(),
            triangle_material=np.repeat([part.material for part, _, _ in self._placed], counts).astype(np.uint16),
            triangle_object=np.repeat([object_id for _, _, object_id in self._placed], counts).astype(np.uint32),
            triangle_category=np.zeros(sum(counts), np.uint16),
            materials=tuple(materials),
            textures=tuple(textures),
            lights=tuple(lights),
        )
        vertex = triangle = 0
        for part, matrix, object_id in self._placed:
            moved = part if matrix is None else move_part(part, matrix, object_id=object_id)
            ahead = slice(vertex, vertex + len(moved.positions))
            for whole, piece in (
                (scene.positions, moved.positions),
                (scene.normals, moved.normals),
                (scene.uvs, moved.uvs),
                (scene.colors, moved.colors),
            ):
                whole[ahead] = piece
            scene.triangles[triangle : triangle + len(moved.triangles)] = moved.triangles + np.uint32(vertex)
            vertex, triangle = vertex + len(moved.positions), triangle + len(moved.triangles)
        return scene

    def _explain_emptiness(self) -> str:
        left_out = " ".join(self._log.report().warnings)[:600]
        because = left_out or "Nothing was left out."
        return f"{self._log.source}: there is not a single triangle in it. {because} Export it again, with its meshes."

    def _make_arrays(self) -> dict[str, Any]:
        vertices = sum(len(part.positions) for part, _, _ in self._placed)
        triangles = sum(len(part.triangles) for part, _, _ in self._placed)
        return {
            "positions": np.empty((vertices, 3), np.float32),
            "normals": np.empty((vertices, 3), np.float32),
            "uvs": np.empty((vertices, 2), np.float32),
            "colors": np.empty((vertices, 4), np.uint8),
            "triangles": np.empty((triangles, 3), np.uint32),
        }
