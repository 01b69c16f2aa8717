"""Putting names on triangles.

Every annotation format boils down to the same two things: which object each triangle belongs to,
and what that object is. Where a format does not say how large an object is, its triangles do.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import Vec3
from nav_eval.errors import SceneError
from nav_eval.scene.model import Region, Scene, SceneObject, Semantics

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
    boxes = object_boxes(scene, triangle_object)
    objects = tuple(
        _measured(object_id, label, boxes[object_id])
        for object_id, label in sorted(labels.items())
        if object_id in boxes
    )
    regions = tuple(regions_around(objects, region_categories or {}))
    return with_semantics(
        replace(scene, triangle_object=triangle_object.astype(np.uint32)),
        Semantics(objects=objects, regions=regions),
    )


def with_semantics(scene: Scene, semantics: Semantics) -> Scene:
    """The scene with `semantics`, and each triangle's category looked up through its object."""
    categories = category_table(semantics)
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


def category_table(semantics: Semantics) -> tuple[str, ...]:
    """Category id → name: "" first, then those that exist already, then the objects' in order of appearance."""
    names = dict.fromkeys(("", *semantics.categories, *(thing.category for thing in semantics.objects)))
    if len(names) > MAX_CATEGORIES:
        raise SceneError(f"The annotation names {len(names):,} categories; at most {MAX_CATEGORIES:,} are possible.")
    return tuple(names)


def object_boxes(scene: Scene, triangle_object: NDArray[np.uint32]) -> dict[int, NDArray[np.float64]]:
    """Object id → lower and upper corner over its triangles."""
    ids, group = np.unique(triangle_object, return_inverse=True)
    corners = scene.positions[scene.triangles].astype(np.float64)
    lower, upper = np.full((len(ids), 3), np.inf), np.full((len(ids), 3), -np.inf)
    np.minimum.at(lower, group, corners.min(axis=1))
    np.maximum.at(upper, group, corners.max(axis=1))
    return {int(key): np.stack([lower[row], upper[row]]) for row, key in enumerate(ids)}


def regions_around(objects: Sequence[SceneObject], categories: Mapping[str, str]) -> Iterable[Region]:
    """Regions that are only known by name, as the box around their objects."""
    names = dict.fromkeys(thing.region for thing in objects if thing.region is not None)
    for name in names:
        members = [thing for thing in objects if thing.region == name]
        centers, halves = np.array([m.center for m in members]), np.array([m.size for m in members]) / 2
        lower, upper = (centers - halves).min(axis=0), (centers + halves).max(axis=0)
        yield Region(region_id=name, category=categories.get(name, ""), lower=vector(lower), upper=vector(upper))


def vector(values: Iterable[float]) -> Vec3:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _measured(object_id: int, label: Label, box: NDArray[np.float64]) -> SceneObject:
    return SceneObject(
        object_id=object_id,
        category=label.category,
        center=vector((box[0] + box[1]) / 2),
        size=vector(box[1] - box[0]),
        region=label.region,
        name=label.name,
        attributes=dict(label.attributes),
    )
