"""What the things in a scene are called: names on triangles, and our own annotation, `<scene>.semantics.json`.

Every annotation format boils down to the same two things: which object each triangle belongs to,
and what that object is. Where a format does not say how large an object is, its triangles do. In our own, objects are
tied to triangles by the glTF nodes' `extras.object_id`, and all coordinates are those of the scene as it is read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Region, Scene, SceneObject, Semantics
from nav_eval.whole_files import write_atomically

MAX_CATEGORIES = 65_535  # `Scene.triangle_category` is 16 bits wide


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """What an annotation says about one object."""

    category: str
    name: str | None = None
    region: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


def label_scene(
    scene: Scene,
    *,
    triangle_object: NDArray[np.uint32],
    labels: Mapping[int, Label],
    region_categories: Mapping[str, str] | None = None,
) -> Scene:
    """The scene with objects measured on their triangles and regions around their objects."""
    boxes = compute_object_boxes(scene, triangle_object)
    objects = tuple(
        _measure_object(object_id, label, boxes[object_id])
        for object_id, label in sorted(labels.items())
        if object_id in boxes
    )
    regions = tuple(make_regions(objects, region_categories or {}))
    return apply_semantics(
        replace(scene, triangle_object=triangle_object.astype(np.uint32)), Semantics(objects=objects, regions=regions)
    )


def apply_semantics(scene: Scene, semantics: Semantics) -> Scene:
    """The scene with `semantics`, and each triangle's category looked up through its object."""
    categories = make_category_table(semantics)
    number = {category: index for index, category in enumerate(categories)}
    known = np.array([0, *(thing.object_id for thing in semantics.objects)], np.uint32)
    values = np.array([0, *(number[thing.category] for thing in semantics.objects)], np.uint16)
    order = np.argsort(known, kind="stable")
    place = np.searchsorted(known[order], scene.triangle_object)
    place = np.minimum(place, len(known) - 1)
    found = known[order][place] == scene.triangle_object
    return replace(
        scene,
        semantics=replace(semantics, categories=categories),
        triangle_category=np.where(found, values[order][place], 0).astype(np.uint16),
    )


def make_category_table(semantics: Semantics) -> tuple[str, ...]:
    """Category id → name: "" first, then those that exist already, then the objects' in order of appearance."""
    names = dict.fromkeys(("", *semantics.categories, *(thing.category for thing in semantics.objects)))
    if len(names) > MAX_CATEGORIES:
        raise SceneError(f"The annotation names {len(names):,} categories; at most {MAX_CATEGORIES:,} are possible.")
    return tuple(names)


def compute_object_boxes(scene: Scene, triangle_object: NDArray[np.uint32]) -> dict[int, NDArray[np.float64]]:
    """Object id → lower and upper corner over its triangles."""
    ids, group = np.unique(triangle_object, return_inverse=True)
    corners = scene.positions[scene.triangles].astype(np.float64)
    lower, upper = np.full((len(ids), 3), np.inf), np.full((len(ids), 3), -np.inf)
    np.minimum.at(lower, group, corners.min(axis=1))
    np.maximum.at(upper, group, corners.max(axis=1))
    return {int(key): np.stack([lower[row], upper[row]]) for row, key in enumerate(ids)}


def make_regions(objects: Sequence[SceneObject], categories: Mapping[str, str]) -> Iterable[Region]:
    """Regions that are only known by name, as the box around their objects."""
    names = dict.fromkeys(thing.region for thing in objects if thing.region is not None)
    for name in names:
        members = [thing for thing in objects if thing.region == name]
        centers, halves = np.array([m.center for m in members]), np.array([m.size for m in members]) / 2
        lower, upper = (centers - halves).min(axis=0), (centers + halves).max(axis=0)
        yield Region(region_id=name, category=categories.get(name, ""), lower=to_vector(lower), upper=to_vector(upper))


def to_vector(values: Iterable[float]) -> Vec3:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _measure_object(object_id: int, label: Label, box: NDArray[np.float64]) -> SceneObject:
    return SceneObject(
        object_id=object_id,
        category=label.category,
        center=to_vector((box[0] + box[1]) / 2),
        size=to_vector(box[1] - box[0]),
        region=label.region,
        name=label.name,
        attributes=dict(label.attributes),
    )


class ObjectEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    id: int
    category: str
    center: Vec3
    size: Vec3
    region: str | None = None
    name: str | None = None
    attributes: dict[str, str] = {}


class RegionEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    category: str
    lower: Vec3
    upper: Vec3
    floor_polygon: tuple[tuple[float, float], ...] = ()


class SemanticsFile(msgspec.Struct, frozen=True, omit_defaults=True):
    objects: list[ObjectEntry] = []
    regions: list[RegionEntry] = []
    categories: list[str] = []  #: optional: the order of category ids after 0
    generator: int = FIRST_GENERATOR  #: of a generated house


def get_semantics_path(scene: Path) -> Path:
    """Where the annotation of a scene file belongs."""
    return scene.with_suffix(".semantics.json")


def read_semantics(content: bytes, *, source: str) -> Semantics:
    """The annotation in a file's bytes."""
    try:
        table = msgspec.json.decode(content, type=SemanticsFile, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SceneError(f"{source}: is not a usable annotation: {error}.") from error
    objects = tuple(_make_object(entry, source) for entry in table.objects)
    repeated = len(objects) - len({thing.object_id for thing in objects})
    if repeated:
        raise SceneError(f"{source}: {repeated} object ids are used twice; every object needs its own.")
    return Semantics(
        objects=objects,
        regions=tuple(
            Region(
                region_id=entry.id,
                category=entry.category,
                lower=entry.lower,
                upper=entry.upper,
                floor_polygon=entry.floor_polygon,
            )
            for entry in table.regions
        ),
        categories=("", *table.categories),
        generator=table.generator,
    )


def write_semantics(semantics: Semantics, path: Path) -> None:
    """Write the annotation to `path` (see `get_semantics_path`); equal input gives equal bytes."""
    table = SemanticsFile(
        objects=[
            ObjectEntry(
                id=thing.object_id,
                category=thing.category,
                center=to_vector(thing.center),
                size=to_vector(thing.size),
                region=thing.region,
                name=thing.name,
                attributes=dict(sorted(thing.attributes.items())),
            )
            for thing in semantics.objects
        ],
        regions=[
            RegionEntry(
                id=region.region_id,
                category=region.category,
                lower=to_vector(region.lower),
                upper=to_vector(region.upper),
                floor_polygon=tuple((float(x), float(z)) for x, z in region.floor_polygon),
            )
            for region in semantics.regions
        ],
        categories=[category for category in semantics.categories if category],
        generator=semantics.generator,
    )
    write_atomically(path, msgspec.json.format(msgspec.json.encode(table), indent=1))


def _make_object(entry: ObjectEntry, source: str) -> SceneObject:
    if not 0 < entry.id < 2**32:
        raise SceneError(f'{source}: object id {entry.id} is not possible; ids start at 1, 0 is "nothing".')
    return SceneObject(
        object_id=entry.id,
        category=entry.category,
        center=entry.center,
        size=entry.size,
        region=entry.region,
        name=entry.name,
        attributes=entry.attributes,
    )
