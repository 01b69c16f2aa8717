"""Mesh files of a world's models, each read once however often it is placed."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from nav_eval.errors import SceneError
from nav_eval.scene.formats.collada import read_collada_unturned
from nav_eval.scene.formats.gazebo.materials import MaterialReader
from nav_eval.scene.formats.gazebo.model_library import ModelFolder, ModelLibrary
from nav_eval.scene.formats.gazebo.poses import TO_OURS
from nav_eval.scene.formats.geometry import MeshPart, move_part
from nav_eval.scene.formats.gltf import read_gltf
from nav_eval.scene.formats.obj import read_obj
from nav_eval.scene.formats.scene_folder import check_limit
from nav_eval.scene.formats.stl_off import read_stl
from nav_eval.scene.model import ReadLog, Scene

#: Gazebo takes coordinates as they stand, but for glTF, which is Y up by its standard and is turned.
READERS = {
    ".dae": read_collada_unturned,
    ".stl": read_stl,
    ".obj": read_obj,
    ".glb": read_gltf,
    ".gltf": read_gltf,
}


class MeshLibrary:
    """Meshes by their files, as parts of one material each, in Gazebo's frame."""

    def __init__(self, library: ModelLibrary, materials: MaterialReader, log: ReadLog) -> None:
        self._library = library
        self._materials = materials
        self._log = log
        self._parts: dict[Path, list[MeshPart]] = {}
        self._warnings: dict[str, list[str]] = {}

    def report(self) -> None:
        """What was left out of meshes, one sentence for all that it happened to."""
        for warning, names in self._warnings.items():
            others = f" and {len(names) - 1} more" if len(names) > 1 else ""
            self._log.warn(f"{names[0]}{others}: {warning}")

    def get_parts(self, uri: str, *, model: Path) -> list[MeshPart]:
        """The mesh that a model's SDF names."""
        path, root = self._library.find_file(uri, model=model)
        if path not in self._parts:
            self._parts[path] = self._read(path, root)
        return self._parts[path]

    def _read(self, path: Path, root: Path) -> list[MeshPart]:
        reader = READERS.get(path.suffix.lower())
        if reader is None:
            raise SceneError(f"Meshes of the kind {path.suffix!r} are not read ({path.name}).")
        log = ReadLog(str(path))
        folder = ModelFolder(path, root, limits=self._library.limits)
        scene = reader(folder.read_main(), folder=folder, log=log)
        for warning in log.report().warnings:
            self._warnings.setdefault(warning.removeprefix(f"{path}: "), []).append(path.name)
        return self._split(scene, turned=path.suffix.lower() in (".glb", ".gltf"))

    def _split(self, scene: Scene, *, turned: bool) -> list[MeshPart]:
        """A part per material, with its pictures moved behind those that are there."""
        first = len(self._materials.textures)
        self._materials.textures += scene.textures
        pixels = sum(texture.pixels.size // 4 for texture in self._materials.textures)
        limit = self._library.limits.texture_pixels
        check_limit(pixels, limit=limit, what="pixels in all pictures", source=self._log.source)
        parts = []
        for index in np.unique(scene.triangle_material).tolist():
            material = scene.materials[index]
            if material.texture is not None:
                material = replace(material, texture=material.texture + first)
            part = _pick_part(scene, index, slot=self._materials.get_slot(material))
            parts.append(move_part(part, TO_OURS.T, object_id=0) if turned else part)
        return parts


def _pick_part(scene: Scene, material: int, *, slot: int) -> MeshPart:
    corners = scene.triangles[scene.triangle_material == material]
    used, triangles = np.unique(corners, return_inverse=True)
    return MeshPart(
        positions=scene.positions[used],
        normals=scene.normals[used],
        uvs=scene.uvs[used],
        colors=scene.colors[used],
        triangles=triangles.reshape(-1, 3).astype(np.uint32),
        material=slot,
    )
