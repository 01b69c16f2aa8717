"""Finding the annotation that lies next to a scene, and putting it on the scene's triangles.

Object ids in pictures start at 1. Data sets that count from 0 are shifted by one; the object's own
number stays in its name (`chair_12`).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.model import Region, Scene
from nav_eval.scene.reading import geometry
from nav_eval.scene.reading.files import SceneFolder
from nav_eval.scene.reading.gltf import read_gltf
from nav_eval.scene.reading.log import ReadLog
from nav_eval.scene.reading.ply import face_numbers, read_ply
from nav_eval.scene.semantics import hm3d, mp3d, replica, scannet, transfer
from nav_eval.scene.semantics.labels import Label, label_scene, vector, with_semantics
from nav_eval.scene.semantics.own import read_semantics, semantics_path


class Sources(NamedTuple):
    kind: str
    """Whose annotation it is."""
    names: tuple[str, ...]
    """Its files, relative to the scene's folder."""


class _Step(NamedTuple):
    """What a format's reader works with."""

    scene: Scene
    folder: SceneFolder
    to_world: NDArray[np.float64]
    log: ReadLog
    names: tuple[str, ...]


def annotate(scene: Scene, *, folder: SceneFolder, to_world: NDArray[np.float64], log: ReadLog) -> Scene:
    """The scene with the names that an annotation next to it gives."""
    sources = find_annotation(folder.path)
    if sources is None:
        return scene
    annotated = READERS[sources.kind](_Step(scene, folder, to_world, log, sources.names))
    log.note(f"{len(annotated.semantics.objects)} named objects from {sources.names[0]} ({sources.kind}).")
    return annotated


def find_annotation(path: Path) -> Sources | None:
    """The first complete set of annotation files for a scene file."""
    scan, stem = path.name.split(".")[0], path.stem
    room = stem.removesuffix("_vh_clean_2")
    candidates = [
        Sources("nav-eval", (semantics_path(path).name,)),
        Sources("HM3D", (f"{scan}.semantic.txt", f"{scan}.semantic.glb")),
        Sources("Matterport3D", (f"{scan}.house", f"{scan}_semantic.ply")),
        Sources("ScanNet", (f"{room}.aggregation.json", f"{stem}.0.010000.segs.json")),
        Sources("Replica", ("habitat/info_semantic.json", "habitat/mesh_semantic.ply")),
        Sources("Replica", ("info_semantic.json", "mesh_semantic.ply")),
    ]
    if path.suffix.lower() != ".ply":
        candidates = [sources for sources in candidates if sources.kind not in ("ScanNet", "Replica")]
    return next((s for s in candidates if all((path.parent / name).is_file() for name in s.names)), None)


def _own(step: _Step) -> Scene:
    name = step.names[0]
    return with_semantics(step.scene, read_semantics(step.folder.read(name), source=_beside(step, name)))


def _hm3d(step: _Step) -> Scene:
    text_name, mesh_name = step.names
    text = hm3d.parse_semantic_text(step.folder.read(text_name), source=_beside(step, text_name))
    semantic = read_gltf(step.folder.read(mesh_name), folder=step.folder, log=ReadLog(_beside(step, mesh_name)))
    objects = _transferred(step, semantic, hm3d.triangle_objects(semantic, text.colors).astype(np.int64))
    return label_scene(step.scene, triangle_object=objects.astype(np.uint32), labels=text.labels)


def _matterport(step: _Step) -> Scene:
    house_name, mesh_name = step.names
    house = mp3d.parse_house(step.folder.read(house_name), source=_beside(step, house_name))
    segments, semantic = _numbered_mesh(step, mesh_name, ("segment_id", "object_id"))
    objects = mp3d.objects_of_segments(segments, house)
    scene = _labelled(step, _transferred(step, semantic, objects + 1), house.labels)
    regions = tuple(_moved_region(region, step.to_world) for region in house.regions)
    return with_semantics(scene, replace(scene.semantics, regions=regions))


def _replica(step: _Step) -> Scene:
    info_name, mesh_name = step.names
    labels = replica.parse_info(step.folder.read(info_name), source=_beside(step, info_name))
    numbers, semantic = _numbered_mesh(step, mesh_name, ("object_id",))
    return _labelled(step, _transferred(step, semantic, numbers + 1), labels)


def _scannet(step: _Step) -> Scene:
    aggregation, segmentation = (step.folder.read(name) for name in step.names)
    labels, vertex_objects = scannet.parse_objects(aggregation, segmentation, source=_beside(step, step.names[0]))
    if len(vertex_objects) != len(step.scene.positions):
        raise SceneError(
            f"{_beside(step, step.names[1])}: labels {len(vertex_objects):,} vertices, "
            f"but the mesh has {len(step.scene.positions):,}; they belong to different meshes."
        )
    return _labelled(step, scannet.triangle_objects(step.scene.triangles, vertex_objects) + 1, labels)


def _numbered_mesh(step: _Step, name: str, properties: tuple[str, ...]) -> tuple[NDArray[np.int64], Scene]:
    """An annotated PLY mesh and the number that each of its triangles carries."""
    content, log = step.folder.read(name), ReadLog(_beside(step, name))
    numbers = face_numbers(content, names=properties, folder=step.folder, log=log)
    if numbers is None:
        raise SceneError(f"{log.source}: its faces carry none of {', '.join(properties)}.")
    return numbers, read_ply(content, folder=step.folder, log=log)


def _transferred(step: _Step, semantic: Scene, objects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Objects of the annotated mesh's triangles, carried over to the scene's."""
    targets = geometry.transform_points(_middles(semantic), step.to_world)
    match = transfer.nearest(_middles(step.scene), targets)
    missed = int((match < 0).sum())
    if missed:
        step.log.warn(f"{missed:,} triangles are not near any annotated surface and have no name.")
    return np.where(match >= 0, objects[match], 0)


def _middles(scene: Scene) -> NDArray[np.float32]:
    return np.asarray(scene.positions[scene.triangles].mean(axis=1, dtype=np.float64), np.float32)


def _labelled(step: _Step, objects: NDArray[np.int64], labels: Mapping[int, Label]) -> Scene:
    """Objects counted from 0 in the data set, from 1 in pictures."""
    shifted = {number + 1: label for number, label in labels.items() if number >= 0}
    return label_scene(step.scene, triangle_object=np.maximum(objects, 0).astype(np.uint32), labels=shifted)


def _moved_region(region: Region, matrix: NDArray[np.float64]) -> Region:
    corners = np.array([region.lower, region.upper], np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
    return replace(region, lower=vector(corners.min(axis=0)), upper=vector(corners.max(axis=0)))


def _beside(step: _Step, name: str) -> str:
    return str(step.folder.path.parent / name)


READERS: dict[str, Callable[[_Step], Scene]] = {
    "nav-eval": _own,
    "HM3D": _hm3d,
    "Matterport3D": _matterport,
    "ScanNet": _scannet,
    "Replica": _replica,
}
