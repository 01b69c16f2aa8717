"""Navigation meshes on disk: plain arrays, mapped into memory, so that a second process starts at once."""

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from nav_eval.array_file import ArrayFile, write_arrays
from nav_eval.errors import NavigationError
from nav_eval.scene.navigation.graph import Graph
from nav_eval.scene.navigation.islands import Island, Verdict
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.shape import AgentShape
from nav_eval.scene.navigation.surface import ABSENT, Surface
from nav_eval.scene.navigation.tiles import COLUMNS, Tiling

#: part of every key: raised whenever the same input would give another mesh
VERSION = 3

_SURFACE: dict[str, tuple[type[np.generic], int]] = {
    "first": (np.int32, 1),
    "i": (np.int32, 1),
    "j": (np.int32, 1),
    "height": (np.float32, 1),
    "margin": (np.float32, 1),
    "links": (np.int32, 2),
    "quads": (np.uint8, 1),
    "island": (np.int32, 1),
}
_GRAPH: dict[str, tuple[type[np.generic], int]] = {"ways": (np.uint8, 1), "grade": (np.float32, 1)}


def mesh_key(scene_digest: str, shape: AgentShape) -> str:
    """The name under which a mesh may be kept: scene, agent and version."""
    return hashlib.sha256(f"{VERSION}:{scene_digest}:{shape.digest}".encode()).hexdigest()[:32]


def save_mesh(mesh: NavigationMesh, path: Path) -> None:
    """Write a mesh to a file."""
    surface = {name: getattr(mesh.surface, name) for name in _SURFACE}
    arrays = {"slots": mesh.surface.tiling.slots, **surface, **mesh.graph._asdict()}
    write_arrays(path, arrays, about=_description(mesh))


def load_mesh(path: Path) -> NavigationMesh:
    """A mesh that `save_mesh` wrote, its arrays mapped from the file."""
    try:
        file = ArrayFile(path)
        about = file.about
        if about["version"] != VERSION:
            raise ValueError("it was written by another version of nav-eval")
        tiling = Tiling(about["spacing"], about["tile_i"], about["tile_j"], file.array("slots", np.int32, 2))
        surface = Surface(tiling, **{name: file.array(name, *kind) for name, kind in _SURFACE.items()})
        graph = Graph(**{name: file.array(name, *kind) for name, kind in _GRAPH.items()})
        _check(surface, graph)
        islands = tuple(Island(**{**part, "verdict": Verdict(part["verdict"])}) for part in about["islands"])
        shape = AgentShape(**about["shape"])
        return NavigationMesh(surface=surface, shape=shape, islands=islands, stored_graph=graph)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NavigationError(
            f"{path} is not a whole navigation mesh ({error}); delete it, it will be made again."
        ) from error


def _check(surface: Surface, graph: Graph) -> None:
    """Kernels trust their arrays, so what comes from a disk must fit together."""
    nodes, tiles = len(surface.i), len(surface.first) // COLUMNS
    whole = (
        all(len(getattr(surface, name)) == nodes for name in _SURFACE if name != "first")
        and len(graph.ways) == len(graph.grade) == nodes
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
