"""Navigation meshes on disk: plain arrays, mapped into memory, so that a second process starts at once.

A folder holds one `.npy` per array and `mesh.json` with everything else. The folder is written beside its
place and moved there when complete; a reader therefore finds a whole mesh or none.
"""

import hashlib
import json
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import NavigationError
from nav_eval.scene.navigation.islands import Island, Verdict
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.shape import AgentShape
from nav_eval.scene.navigation.surface import ABSENT, Surface
from nav_eval.scene.navigation.tiles import COLUMNS, Tiling

#: part of every key: raised whenever the same input would give another mesh
VERSION = 2

_ARRAYS: dict[str, tuple[type[np.generic], int]] = {
    "first": (np.int32, 1),
    "i": (np.int32, 1),
    "j": (np.int32, 1),
    "height": (np.float32, 1),
    "margin": (np.float32, 1),
    "links": (np.int32, 2),
    "quads": (np.uint8, 1),
    "island": (np.int32, 1),
}


def mesh_key(scene_digest: str, shape: AgentShape) -> str:
    """The name under which a mesh may be kept: scene, agent and version."""
    return hashlib.sha256(f"{VERSION}:{scene_digest}:{shape.digest}".encode()).hexdigest()[:32]


def save_mesh(mesh: NavigationMesh, folder: Path) -> None:
    """Write a mesh to a folder, which must not exist yet or holds the same mesh."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        np.save(draft / "slots.npy", mesh.surface.tiling.slots)
        for name in _ARRAYS:
            np.save(draft / f"{name}.npy", getattr(mesh.surface, name))
        (draft / "mesh.json").write_text(json.dumps(_description(mesh), indent=1))
        draft.replace(folder)
    except OSError:
        if not (folder / "mesh.json").exists():  # otherwise another process was faster: the mesh is there
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def load_mesh(folder: Path) -> NavigationMesh:
    """A mesh that `save_mesh` wrote, its arrays mapped from the files."""
    try:
        about = json.loads((folder / "mesh.json").read_text())
        if about["version"] != VERSION:
            raise NavigationError(
                f"{folder} was written by another version of nav-eval; delete it, it will be made again."
            )
        tiling = Tiling(about["spacing"], about["tile_i"], about["tile_j"], _array(folder, "slots", np.int32, 2))
        arrays = {name: _array(folder, name, dtype, axes) for name, (dtype, axes) in _ARRAYS.items()}
        surface = Surface(tiling, **arrays)
        _check(surface)
        islands = tuple(Island(**{**part, "verdict": Verdict(part["verdict"])}) for part in about["islands"])
        return NavigationMesh(surface=surface, shape=AgentShape(**about["shape"]), islands=islands)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NavigationError(
            f"{folder} is not a whole navigation mesh ({error}); delete it, it will be made again."
        ) from error


def _check(surface: Surface) -> None:
    """Kernels trust their arrays, so what comes from a disk must fit together."""
    nodes, tiles = len(surface.i), len(surface.first) // COLUMNS
    whole = (
        all(len(getattr(surface, name)) == nodes for name in _ARRAYS if name != "first")
        and surface.links.shape == (nodes, 4)
        and surface.links.max(initial=-1) < nodes
        and surface.links.min(initial=-1) >= -1
        and surface.tiling.slots.max(initial=-1) < tiles
        and surface.tiling.slots.min(initial=-1) >= -1
        and len(surface.first) == tiles * COLUMNS + 1
        and surface.first[0] == 0
        and surface.first[-1] == nodes
        and bool((np.diff(surface.first) >= 0).all())
        and not (surface.links[surface.quads != ABSENT][:, :2] < 0).any()
    )
    if not whole:
        raise ValueError("its arrays do not fit together")


def _description(mesh: NavigationMesh) -> dict[str, Any]:
    tiling = mesh.surface.tiling
    return {
        "version": VERSION,
        "spacing": tiling.spacing,
        "tile_i": tiling.tile_i,
        "tile_j": tiling.tile_j,
        "shape": asdict(mesh.shape),
        "islands": [asdict(part) for part in mesh.islands],
    }


def _array(folder: Path, name: str, dtype: type[np.generic], axes: int) -> NDArray[Any]:
    mapped = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    if mapped.dtype != dtype or mapped.ndim != axes or not mapped.flags.c_contiguous:
        raise ValueError(f"{name}.npy holds {mapped.ndim} axes of {mapped.dtype}")
    return np.asarray(mapped)
