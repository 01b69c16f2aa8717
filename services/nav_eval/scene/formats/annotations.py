"""Finding the annotation that lies next to a scene, and putting it on the scene's triangles.

Object ids in pictures start at 1. Data sets that count from 0 are shifted by one; the object's own
number stays in its name (`chair_12`). Data sets keep annotations on a mesh of its own, which may be cut into triangles
differently: each triangle takes the label of the annotated triangle whose middle is nearest to its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.errors import SceneError
from nav_eval.scene.formats import geometry, scan_datasets
from nav_eval.scene.formats.gltf import read_gltf
from nav_eval.scene.formats.ply import read_face_numbers, read_ply
from nav_eval.scene.formats.scene_folder import SceneFolder
from nav_eval.scene.model import ReadLog, Region, Scene
from nav_eval.scene.semantics import Label, apply_semantics, get_semantics_path, label_scene, read_semantics, to_vector

CELL = 0.1  # metres: annotated meshes have a triangle every few centimetres
REACH = 0.5  # metres: farther away it is something else


def find_nearest(points: NDArray[np.float32], targets: NDArray[np.float32]) -> NDArray[np.int64]:
    """For each point the nearest target within reach (the first of equals), −1 where there is none."""
    found = np.full(len(points), -1, np.int64)
    if not len(points) or not len(targets):
        return found
    buckets = 1 << max(len(targets).bit_length(), 4)
    keys = _compute_keys(targets.astype(np.float64), buckets)
    order = np.argsort(keys, kind="stable")
    starts = np.searchsorted(keys[order], np.arange(buckets + 1))
    _search(points.astype(np.float64), targets.astype(np.float64), order, starts, found)
    return found


@compile_kernel
def _compute_keys(points: NDArray[np.float64], buckets: int) -> NDArray[np.int64]:
    """The place of each point's cell in the hash table."""
    keys = np.empty(len(points), np.int64)
    for index in range(len(points)):
        keys[index] = _hash_cell(
            _get_cell(points[index, 0]), _get_cell(points[index, 1]), _get_cell(points[index, 2]), buckets
        )
    return keys


@compile_kernel
def _get_cell(coordinate: float) -> int:
    return int(np.floor(coordinate / CELL))


@compile_kernel
def _hash_cell(x: int, y: int, z: int, buckets: int) -> int:
    return (x * 73856093 ^ y * 19349663 ^ z * 83492791) & (buckets - 1)


@compile_kernel
def _search(
    points: NDArray[np.float64],
    targets: NDArray[np.float64],
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    buckets, rings = len(starts) - 1, int(np.ceil(REACH / CELL))
    for index in range(len(points)):
        px, py, pz = points[index]
        cx, cy, cz = _get_cell(px), _get_cell(py), _get_cell(pz)
        best = REACH * REACH
        for ring in range(rings + 1):
            if (ring - 1) * CELL > np.sqrt(best):  # nothing nearer can lie farther out
                break
            for x in range(cx - ring, cx + ring + 1):
                for y in range(cy - ring, cy + ring + 1):
                    edge = abs(x - cx) == ring or abs(y - cy) == ring
                    for z in range(cz - ring, cz + ring + 1, 1 if edge or ring == 0 else 2 * ring):
                        bucket = _hash_cell(x, y, z, buckets)
                        for place in range(starts[bucket], starts[bucket + 1]):
                            target = order[place]
                            dx, dy, dz = targets[target, 0] - px, targets[target, 1] - py, targets[target, 2] - pz
                            distance = dx * dx + dy * dy + dz * dz
                            if distance < best or (distance == best and target < found[index]):
                                best = distance
                                found[index] = target


class AnnotationFiles(NamedTuple):
    kind: str  #: whose annotation it is
    names: tuple[str, ...]  #: its files, relative to the scene's folder


class _ReaderInput(NamedTuple):
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
    annotated = READERS[sources.kind](_ReaderInput(scene, folder, to_world, log, sources.names))
    log.note(f"{len(annotated.semantics.objects)} named objects from {sources.names[0]} ({sources.kind}).")
    return annotated


def find_annotation(path: Path) -> AnnotationFiles | None:
    """The first complete set of annotation files for a scene file."""
    scan, stem = path.name.split(".")[0], path.stem
    room = stem.removesuffix("_vh_clean_2")
    candidates = [
        AnnotationFiles("nav-eval", (get_semantics_path(path).name,)),
        AnnotationFiles("HM3D", (f"{scan}.semantic.txt", f"{scan}.semantic.glb")),
        AnnotationFiles("Matterport3D", (f"{scan}.house", f"{scan}_semantic.ply")),
        AnnotationFiles("ScanNet", (f"{room}.aggregation.json", f"{stem}.0.010000.segs.json")),
        AnnotationFiles("Replica", ("habitat/info_semantic.json", "habitat/mesh_semantic.ply")),
        AnnotationFiles("Replica", ("info_semantic.json", "mesh_semantic.ply")),
    ]
    if path.suffix.lower() != ".ply":
        candidates = [sources for sources in candidates if sources.kind not in ("ScanNet", "Replica")]
    return next((s for s in candidates if all((path.parent / name).is_file() for name in s.names)), None)


def _read_own(step: _ReaderInput) -> Scene:
    name = step.names[0]
    return apply_semantics(step.scene, read_semantics(step.folder.read(name), source=_format_source(step, name)))


def _read_hm3d(step: _ReaderInput) -> Scene:
    text_name, mesh_name = step.names
    text = scan_datasets.parse_hm3d_text(step.folder.read(text_name), source=_format_source(step, text_name))
    semantic = read_gltf(step.folder.read(mesh_name), folder=step.folder, log=ReadLog(_format_source(step, mesh_name)))
    objects = _transfer_objects(step, semantic, scan_datasets.find_hm3d_objects(semantic, text.colors).astype(np.int64))
    return label_scene(step.scene, triangle_object=objects.astype(np.uint32), labels=text.labels)


def _read_matterport(step: _ReaderInput) -> Scene:
    house_name, mesh_name = step.names
    house = scan_datasets.parse_mp3d_house(step.folder.read(house_name), source=_format_source(step, house_name))
    segments, semantic = _read_numbered_mesh(step, mesh_name, ("segment_id", "object_id"))
    objects = scan_datasets.find_segment_objects(segments, house)
    scene = _label(step, _transfer_objects(step, semantic, objects + 1), house.labels)
    regions = tuple(_move_region(region, step.to_world) for region in house.regions)
    return apply_semantics(scene, replace(scene.semantics, regions=regions))


def _read_replica(step: _ReaderInput) -> Scene:
    info_name, mesh_name = step.names
    labels = scan_datasets.parse_replica_info(step.folder.read(info_name), source=_format_source(step, info_name))
    numbers, semantic = _read_numbered_mesh(step, mesh_name, ("object_id",))
    return _label(step, _transfer_objects(step, semantic, numbers + 1), labels)


def _read_scannet(step: _ReaderInput) -> Scene:
    aggregation, segmentation = (step.folder.read(name) for name in step.names)
    labels, vertex_objects = scan_datasets.parse_scannet_objects(
        aggregation, segmentation, source=_format_source(step, step.names[0])
    )
    if len(vertex_objects) != len(step.scene.positions):
        raise SceneError(
            f"{_format_source(step, step.names[1])}: labels {len(vertex_objects):,} vertices, "
            f"but the mesh has {len(step.scene.positions):,}; they belong to different meshes."
        )
    return _label(step, scan_datasets.find_scannet_objects(step.scene.triangles, vertex_objects) + 1, labels)


def _read_numbered_mesh(step: _ReaderInput, name: str, properties: tuple[str, ...]) -> tuple[NDArray[np.int64], Scene]:
    """An annotated PLY mesh and the number that each of its triangles carries."""
    content, log = step.folder.read(name), ReadLog(_format_source(step, name))
    numbers = read_face_numbers(content, names=properties, folder=step.folder, log=log)
    if numbers is None:
        raise SceneError(f"{log.source}: its faces carry none of {', '.join(properties)}.")
    return numbers, read_ply(content, folder=step.folder, log=log)


def _transfer_objects(step: _ReaderInput, semantic: Scene, objects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Objects of the annotated mesh's triangles, carried over to the scene's."""
    targets = geometry.transform_points(_compute_centroids(semantic), step.to_world)
    match = find_nearest(_compute_centroids(step.scene), targets)
    missed = int((match < 0).sum())
    if missed:
        step.log.warn(f"{missed:,} triangles are not near any annotated surface and have no name.")
    return np.where(match >= 0, objects[match], 0)


def _compute_centroids(scene: Scene) -> NDArray[np.float32]:
    return np.asarray(scene.positions[scene.triangles].mean(axis=1, dtype=np.float64), np.float32)


def _label(step: _ReaderInput, objects: NDArray[np.int64], labels: Mapping[int, Label]) -> Scene:
    """Objects counted from 0 in the data set, from 1 in pictures."""
    shifted = {number + 1: label for number, label in labels.items() if number >= 0}
    return label_scene(step.scene, triangle_object=np.maximum(objects, 0).astype(np.uint32), labels=shifted)


def _move_region(region: Region, matrix: NDArray[np.float64]) -> Region:
    corners = np.array([region.lower, region.upper], np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
    return replace(region, lower=to_vector(corners.min(axis=0)), upper=to_vector(corners.max(axis=0)))


def _format_source(step: _ReaderInput, name: str) -> str:
    return str(step.folder.path.parent / name)


READERS: dict[str, Callable[[_ReaderInput], Scene]] = {
    "nav-eval": _read_own,
    "HM3D": _read_hm3d,
    "Matterport3D": _read_matterport,
    "ScanNet": _read_scannet,
    "Replica": _read_replica,
}
