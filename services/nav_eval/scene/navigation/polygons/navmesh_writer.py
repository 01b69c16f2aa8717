"""Writing Habitat's `.navmesh` files: one Detour tile in the envelope that `navmesh_file` describes."""

import struct
from pathlib import Path

import numpy as np

from nav_eval.errors import NavigationMeshError
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.navmesh_file import HEADER, POLYGON, POLYGON_DETAIL, SET_MAGIC, TILE_MAGIC, TILE_VERSION
from nav_eval.scene.navigation.polygons.convex_parts import Corners, PolygonMesh, make_polygon_mesh
from nav_eval.scene.navigation.recast_settings import RecastSettings, make_recast_settings

FILE_VERSION = 2
MOST_VERTICES = 0xFFFE  #: of one tile: corners are named by 16 bits
WALKABLE = 0x01
NO_LINK = 0xFFFFFFFF
_BORDER_EDGES = (0x01, 0x04, 0x10)  #: bits of a detail triangle: which of its edges are edges of the polygon


def write_navmesh(mesh: NavigationMesh, path: Path, settings: RecastSettings | None = None) -> None:
    """Write a mesh as a `.navmesh` file, which Habitat and `read_navmesh` read."""
    path.write_bytes(encode_navmesh(make_polygon_mesh(mesh), settings or make_recast_settings(mesh.shape)))


def encode_navmesh(polygons: PolygonMesh, settings: RecastSettings) -> bytes:
    """The bytes of a `.navmesh` file."""
    if len(polygons.vertices) > MOST_VERTICES:
        raise NavigationMeshError(
            f"The mesh has {len(polygons.vertices)} corners; a .navmesh file of one tile holds {MOST_VERTICES}. "
            "Cut the scene into smaller ones."
        )
    tile = _encode_tile(polygons, settings)
    lower, upper = polygons.bounds
    bits = max(1, (len(polygons.polygons) - 1).bit_length())
    params = struct.pack("<5f2i", *lower, upper[0] - lower[0], upper[2] - lower[2], 1, 1 << bits)
    reference = 1 << bits  # salt 1, tile 0
    head = SET_MAGIC + struct.pack("<2i", FILE_VERSION, 1) + params + settings.encode()
    return head + struct.pack("<Ii", reference, len(tile)) + tile


def _encode_tile(mesh: PolygonMesh, settings: RecastSettings) -> bytes:
    links = sum(map(len, mesh.polygons))
    triangles = [triangle for polygon in mesh.polygons for triangle in _list_detail_triangles(len(polygon))]
    header = np.zeros(1, dtype=HEADER)
    header["magic"], header["version"] = TILE_MAGIC, TILE_VERSION
    header["polygons"] = header["details"] = header["off_mesh_base"] = len(mesh.polygons)
    header["vertices"], header["links"], header["detail_triangles"] = len(mesh.vertices), links, len(triangles)
    header["height"], header["radius"] = settings.agent_height, settings.agent_radius
    header["climb"], header["inverse_cell"] = settings.agent_max_climb, 1.0 / settings.cell_size
    header["lower"], header["upper"] = mesh.bounds
    parts = [header.tobytes(), mesh.vertices.astype("<f4").tobytes(), _encode_polygons(mesh)]
    parts += [bytes(12 * links), _encode_details(mesh), bytes(np.array(triangles, dtype=np.uint8).tobytes())]
    return b"".join(parts)


def _encode_polygons(mesh: PolygonMesh) -> bytes:
    """Detour goes around polygons the other way: clockwise when x points right and z up."""
    records = np.zeros(len(mesh.polygons), dtype=POLYGON)
    records["link"], records["flags"] = NO_LINK, WALKABLE
    for record, polygon, beyond in zip(records, mesh.polygons, mesh.beyond, strict=True):
        count = len(polygon)
        record["count"] = count
        record["corners"][:count] = polygon[::-1]
        record["across"][:count] = [other + 1 for other in (*beyond[-2::-1], beyond[-1])]
    return records.tobytes()


def _encode_details(mesh: PolygonMesh) -> bytes:
    records = np.zeros(len(mesh.polygons), dtype=POLYGON_DETAIL)
    counts = np.array([len(polygon) - 2 for polygon in mesh.polygons])
    records["count"] = counts
    records["triangles"] = np.cumsum(counts) - counts
    return records.tobytes()


def _list_detail_triangles(corners: int) -> list[Corners]:
    """A fan from the first corner, and which edges lie on the polygon's outline."""
    first, middle, last = _BORDER_EDGES
    return [
        (0, k, k + 1, (first if k == 1 else 0) | middle | (last if k == corners - 2 else 0))
        for k in range(1, corners - 1)
    ]
