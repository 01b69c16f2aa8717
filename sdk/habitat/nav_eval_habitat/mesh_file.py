"""`.navmesh` files: Habitat's own, and ours, which end in the very mesh that they were written from.

Readers of Detour files stop after the last tile. So what follows is for us alone: the mesh before it was cut into
polygons, which comes back exactly as it was.
"""

import hashlib
import tempfile
from pathlib import Path
from typing import NamedTuple

from nav_eval.cache import get_cache_folder
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation.mesh import NavigationMesh, load_mesh, save_mesh
from nav_eval.scene.navigation.navmesh_file import read_detour
from nav_eval.scene.navigation.navmesh_surface import resample
from nav_eval.scene.navigation.polygons.navmesh_writer import write_navmesh
from nav_eval.scene.navigation.recast_settings import RecastSettings, make_recast_settings

_MARK, _LENGTH = b"NAVEMESH", 8


class MeshFile(NamedTuple):
    """What a file holds."""

    mesh: NavigationMesh
    settings: RecastSettings
    bounds: tuple[Vec3, Vec3] | None


def read_mesh_file(path: Path) -> MeshFile:
    detour = read_detour(path)
    mesh = _read_own_part(path)
    if mesh is None:
        surface, islands = resample(detour)
        mesh = NavigationMesh(surface=surface, shape=detour.shape, islands=islands)
    return MeshFile(mesh, detour.settings or make_recast_settings(detour.shape), detour.bounds)


def write_mesh_file(mesh: NavigationMesh, path: Path, settings: RecastSettings) -> None:
    write_navmesh(mesh, path, settings)
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "mesh"
        save_mesh(mesh, own)
        content = own.read_bytes()
    with path.open("ab") as file:
        file.write(content + len(content).to_bytes(_LENGTH, "little") + _MARK)


def _read_own_part(path: Path) -> NavigationMesh | None:
    """Put beside the other meshes in the cache, because meshes are mapped from files of their own."""
    data = path.read_bytes()
    end = len(data) - len(_MARK) - _LENGTH
    if end < 0 or not data.endswith(_MARK):
        return None
    content = data[max(0, end - int.from_bytes(data[end : end + _LENGTH], "little")) : end]
    kept = get_cache_folder() / "navigation" / f"saved-{hashlib.sha256(content).hexdigest()[:32]}"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        draft = kept.with_suffix(".draft")
        draft.write_bytes(content)
        draft.replace(kept)
    return load_mesh(kept)
