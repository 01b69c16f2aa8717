"""A scene of splats: what pictures show comes from them, everything else from triangles in the same frame."""

from dataclasses import replace
from pathlib import Path

from nav_eval.scene.formats.geometry import PartList
from nav_eval.scene.formats.gltf import read_gltf
from nav_eval.scene.formats.obj import read_obj
from nav_eval.scene.formats.ply import PlyTable, parse_ply, read_ply
from nav_eval.scene.formats.scene_folder import SceneFolder
from nav_eval.scene.formats.splat_files import convert_packed_splats, convert_splat_table, parse_splat
from nav_eval.scene.formats.splat_surface import build_surface
from nav_eval.scene.model import Material, ReadLog, Scene
from nav_eval.scene.splats import SplatCloud

#: Kinds of meshes that may lie beside a file of splats, in the order in which they are looked for.
MESH_READERS = {".glb": read_gltf, ".ply": read_ply, ".obj": read_obj}
SURFACE = Material(name="splats", base_color=(0.5, 0.5, 0.5, 1.0), unlit=True)


def read_ply_or_splats(content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene:
    """A PLY file holds a scan, or splats: its header says which."""
    header = content[: content.find(b"end_header")]
    if b" f_dc_0" not in header and b" packed_position" not in header:
        return read_ply(content, folder=folder, log=log)
    tables = parse_ply(content, source=log.source, limits=folder.limits).tables
    vertices = tables.get("vertex", PlyTable())
    if "packed_position" in vertices.columns:
        cloud = convert_packed_splats(tables.get("chunk", PlyTable()), vertices, log)
    else:
        cloud = convert_splat_table(vertices, log)
    return _add_triangles(cloud, folder=folder, log=log)


def read_splat(content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene:
    """The scene in a `.splat` file."""
    cloud = parse_splat(content, source=log.source, limits=folder.limits, log=log)
    return _add_triangles(cloud, folder=folder, log=log)


def find_mesh(path: Path) -> Path | None:
    """The mesh that belongs to a file of splats: `room.mesh.glb` to `room.ply`."""
    candidates = (path.with_name(f"{path.stem}.mesh{suffix}") for suffix in MESH_READERS)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _add_triangles(cloud: SplatCloud, *, folder: SceneFolder, log: ReadLog) -> Scene:
    log.note("Files of splats do not say which way is up; if the place is upside down, pass up=-y (or another axis).")
    mesh = find_mesh(folder.path)
    if mesh is None:
        log.note(f"There is no {folder.path.stem}.mesh.glb beside it: depth and ground are made of opaque splats.")
        surface = build_surface(cloud, source=log.source, limits=folder.limits)
        parts = PartList(folder.limits, log)
        parts.reserve(vertices=len(surface.positions), triangles=len(surface.triangles))
        parts.add(surface)
        return replace(parts.join(materials=[SURFACE]), splats=cloud)
    scene = MESH_READERS[mesh.suffix](folder.read(mesh.name), folder=folder, log=log)
    return replace(scene, splats=cloud, lights=())
