"""Reading Habitat's `.navmesh` files: Detour tiles in a small envelope.

Layout, all little-endian: "TESM", version (1 or 2), number of tiles, seven numbers of tile geometry; from
version 2 the settings that the mesh was built with; then per tile a reference, a size and Detour's own
block (header, vertices, polygons, links, detail meshes, detail vertices, detail triangles, …). Links and
search trees are made on load by Detour and not needed here. Files are hostile until checked.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation.ground import AgentShape
from nav_eval.scene.navigation.recast_settings import RecastSettings, decode_recast_settings

MAX_FILE = 1 << 29
SET_MAGIC, TILE_MAGIC, TILE_VERSION = b"TESM", b"VAND", 7

_SETTINGS_SIZES = {1: (0,), 2: (56, 80)}  #: by version: today's, and one that ended in the bounds of the area


class _Envelope(NamedTuple):
    """How wide references are, which a file does not say; the first tile's mark tells."""

    tile_header: struct.Struct
    link_size: int


_ENVELOPES = (_Envelope(struct.Struct("<Ii"), 12), _Envelope(struct.Struct("<Qi4x"), 16))
_WALKABLE, _OFF_MESH, _PORTAL = 0x01, 1, 0x8000
_LEAST_AREA = 1e-5  #: m²; Habitat disables smaller polygons, so do we

HEADER = np.dtype(
    [
        ("magic", "S4"),
        *((name, "<i4") for name in ("version", "x", "y", "layer", "user", "polygons", "vertices", "links")),
        *((name, "<i4") for name in ("details", "detail_vertices", "detail_triangles")),
        *((name, "<i4") for name in ("tree_nodes", "off_mesh", "off_mesh_base")),
        *((name, "<f4") for name in ("height", "radius", "climb")),
        ("lower", "<f4", 3),
        ("upper", "<f4", 3),
        ("inverse_cell", "<f4"),
    ]
)
POLYGON = np.dtype(
    [("link", "<u4"), ("corners", "<u2", 6), ("across", "<u2", 6), ("flags", "<u2"), ("count", "u1"), ("kind", "u1")]
)
POLYGON_DETAIL = np.dtype(
    [("vertices", "<u4"), ("triangles", "<u4"), ("vertex_count", "u1"), ("count", "u1"), ("pad", "<u2")]
)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DetourMesh:
    """What a file says about the ground."""

    triangles: NDArray[np.float32]  #: T × 3 × 3, the detail meshes of all walkable polygons
    borders: NDArray[np.float32]  #: B × 2 × 3, the polygon edges that lead nowhere
    shape: AgentShape  #: the agent that it was built for
    cell_size: float  #: of the voxels that it was built from
    bounds: tuple[Vec3, Vec3] | None = None  #: lower and upper corner of its tiles
    settings: RecastSettings | None = None  #: that it was built with, where the file says so


def read_detour(path: Path) -> DetourMesh:
    """Read a `.navmesh` file."""
    size = path.stat().st_size if path.is_file() else -1
    if size < 0:
        raise NavigationMeshError(f"{path} does not exist.")
    if size > MAX_FILE:
        raise NavigationMeshError(f"{path} has {size} bytes; a navigation mesh of more than {MAX_FILE} is refused.")
    data = path.read_bytes()
    try:
        return _parse(data)
    except (_Unreadable, struct.error) as error:
        raise NavigationMeshError(
            f"{path} is not a navigation mesh that we can read: {error}. Build it again."
        ) from error


class _Unreadable(Exception):
    pass


def _refuse(reason: str) -> NoReturn:
    raise _Unreadable(reason)


def _parse(data: bytes) -> DetourMesh:
    if data[:4] != SET_MAGIC:
        _refuse("it does not start with Habitat's mark")
    version, count = struct.unpack_from("<2i", data, 4)
    if version not in _SETTINGS_SIZES:
        _refuse(f"its version is {version}, we know 1 and 2")
    start, envelope = _find_first_tile(data, version)
    tiles = [_Tile(block, envelope.link_size) for block in _split_tiles(data, start, count, envelope.tile_header)]
    if not tiles:
        _refuse("it holds no tiles")
    present = {(int(tile.header["x"]), int(tile.header["y"])) for tile in tiles}
    first = tiles[0].header
    cell_size = 1.0 / float(first["inverse_cell"]) if first["inverse_cell"] > 0 else 0.05
    settings = decode_recast_settings(data, 40) if version == 2 else None
    if settings is not None:
        cell, slope = settings.cell_size, settings.agent_max_slope
        height, radius, climb = settings.agent_height, settings.agent_radius, settings.agent_max_climb
    else:
        cell, slope = cell_size, 45.0
        height, radius, climb = (float(first[name]) for name in ("height", "radius", "climb"))
    return DetourMesh(
        triangles=np.concatenate([tile.triangles() for tile in tiles]),
        borders=np.concatenate([tile.borders(present) for tile in tiles]),
        shape=_clamp_shape(radius=radius, height=height, climb=climb, slope=slope, cell=cell),
        cell_size=float(np.clip(cell_size, 0.01, 1.0)),
        bounds=_find_bounds([tile.header for tile in tiles]),
        settings=settings,
    )


def _find_bounds(headers: list[Any]) -> tuple[Vec3, Vec3]:
    lower = np.min([header["lower"] for header in headers], axis=0).tolist()
    upper = np.max([header["upper"] for header in headers], axis=0).tolist()
    return (lower[0], lower[1], lower[2]), (upper[0], upper[1], upper[2])


def _find_first_tile(data: bytes, version: int) -> tuple[int, _Envelope]:
    """Where the tiles start: the settings grew over time, and references have one of two widths."""
    for settings in _SETTINGS_SIZES[version]:
        for envelope in _ENVELOPES:
            at = 40 + settings + envelope.tile_header.size
            if data[at : at + 4] == TILE_MAGIC:
                return 40 + settings, envelope
    return _refuse("no tile follows its header")


def _split_tiles(data: bytes, start: int, count: int, header: struct.Struct) -> list[bytes]:
    blocks: list[bytes] = []
    for _ in range(count):
        reference, size = header.unpack_from(data, start)
        if reference == 0 or size == 0:
            break
        start += header.size
        if size < 0 or start + size > len(data):
            _refuse(f"it ends within tile {len(blocks)}")
        blocks.append(data[start : start + size])
        start += size
    return blocks


def _clamp_shape(*, radius: float, height: float, climb: float, slope: float, cell: float) -> AgentShape:
    """The stated agent, within what an `AgentShape` may be: the mesh has its radius built in already."""
    if not np.isfinite([radius, height, climb, slope, cell]).all():
        _refuse("its agent has no finite size")
    height = float(np.clip(height, 0.05, 50.0))
    return AgentShape(
        radius=round(float(np.clip(radius, 0.02, 5.0)), 6),
        height=round(height, 6),
        max_climb=round(float(np.clip(climb, 0.0, 0.99 * height)), 6),
        max_slope_degrees=round(float(np.clip(slope, 0.0, 89.0)), 6),
        cell_size=round(float(np.clip(cell, 0.01, 1.0)), 6),
    )


class _Tile:
    """One Detour block."""

    def __init__(self, block: bytes, link_size: int) -> None:
        self._block = block
        self._at = 0
        self.header = self._take(HEADER, 1)[0]
        if self.header["magic"] != TILE_MAGIC or self.header["version"] != TILE_VERSION:
            _refuse(f"a tile is not of Detour version {TILE_VERSION}")
        self._vertices = self._take_points(self.header["vertices"])
        self._polygons = self._take(POLYGON, self.header["polygons"])
        self._skip(link_size, self.header["links"])
        self._details = self._take(POLYGON_DETAIL, self.header["details"])
        self._detail_vertices = self._take_points(self.header["detail_vertices"])
        self._detail_triangles = self._take(np.dtype(("u1", 4)), self.header["detail_triangles"])
        self._check()
        self._meshes = [self._triangulate_polygon(k) for k in range(len(self._polygons))]
        self._walkable = [self._is_walkable(k) for k in range(len(self._polygons))]

    def triangles(self) -> NDArray[np.float32]:
        meshes = [mesh for mesh, walkable in zip(self._meshes, self._walkable, strict=True) if walkable]
        return np.concatenate([np.zeros((0, 3, 3), dtype=np.float32), *meshes])

    def borders(self, present: set[tuple[int, int]]) -> NDArray[np.float32]:
        """Edges without a walkable polygon or another tile on their other side."""
        edges = [
            (self._vertices[polygon["corners"][k]], self._vertices[polygon["corners"][(k + 1) % polygon["count"]]])
            for index, polygon in enumerate(self._polygons)
            if self._walkable[index]
            for k in range(polygon["count"])
            if not self._is_connected(int(polygon["across"][k]), present)
        ]
        return np.array(edges, dtype=np.float32).reshape(-1, 2, 3)

    def _is_connected(self, across: int, present: set[tuple[int, int]]) -> bool:
        if across & _PORTAL:
            x, y = int(self.header["x"]), int(self.header["y"])
            beside = {0: (x + 1, y), 2: (x, y + 1), 4: (x - 1, y), 6: (x, y - 1)}
            return beside.get(across & 0xF) in present
        return across != 0 and self._walkable[across - 1]

    def _is_walkable(self, index: int) -> bool:
        polygon = self._polygons[index]
        if polygon["kind"] >> 6 == _OFF_MESH or not polygon["flags"] & _WALKABLE:
            return False
        mesh = self._meshes[index].astype(np.float64)
        areas = np.linalg.norm(np.cross(mesh[:, 1] - mesh[:, 0], mesh[:, 2] - mesh[:, 0]), axis=1) / 2.0
        return bool(areas.sum() >= _LEAST_AREA)

    def _triangulate_polygon(self, index: int) -> NDArray[np.float32]:
        """The detail triangles of a polygon, or a fan where there are none."""
        polygon = self._polygons[index]
        corners = self._vertices[polygon["corners"][: polygon["count"]]]
        if index >= len(self._details) or self._details[index]["count"] == 0:
            fan = [(0, k, k + 1) for k in range(1, len(corners) - 1)]
            flat: NDArray[np.float32] = corners[np.array(fan, dtype=np.int64).reshape(-1, 3)]
            return flat
        detail = self._details[index]
        inner = int(detail["vertices"])
        points = np.concatenate([corners, self._detail_vertices[inner : inner + int(detail["vertex_count"])]])
        first = int(detail["triangles"])
        triangles = self._detail_triangles[first : first + int(detail["count"]), :3].astype(np.int64)
        if len(triangles) != detail["count"] or (triangles >= len(points)).any():
            _refuse(f"the detail mesh of polygon {index} points outside of its tile")
        mesh: NDArray[np.float32] = points[triangles]
        return mesh

    def _check(self) -> None:
        counts, corners = self._polygons["count"], self._polygons["corners"]
        used = np.arange(6) < counts[:, None]
        if (counts > 6).any() or (corners[used] >= len(self._vertices)).any():
            _refuse("a polygon has corners outside of its tile")
        across = self._polygons["across"][used & (self._polygons["across"] & _PORTAL == 0)]
        if (across > len(self._polygons)).any():
            _refuse("a polygon has neighbours outside of its tile")

    def _take(self, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
        start = self._at
        self._skip(dtype.itemsize, count)
        return np.frombuffer(self._block, dtype, count=int(count), offset=start)

    def _take_points(self, count: int) -> NDArray[np.float32]:
        points: NDArray[np.float32] = self._take(np.dtype(("<f4", 3)), count)
        if not np.isfinite(points).all():
            _refuse("a vertex is not a finite number")
        return points

    def _skip(self, size: int, count: int) -> None:
        if count < 0 or self._at + size * int(count) > len(self._block):
            _refuse("a tile is shorter than its header says")
        self._at += (size * int(count) + 3) // 4 * 4
