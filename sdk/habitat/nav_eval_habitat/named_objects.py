"""nav-eval's annotation of a scene as Habitat's semantic scene."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import magnum as mn
from habitat_sim.semantic_scene import (
    Mp3dObjectCategory,
    Mp3dRegionCategory,
    SemanticCategory,
    SemanticLevel,
    SemanticObject,
    SemanticRegion,
    SemanticScene,
)
from nav_eval.scene.model import Region, SceneObject, Semantics
from nav_eval_habitat.world import MATTERPORT, World


def make_semantic_scene(world: World | None) -> SemanticScene:
    """Empty where there is no world, or no annotation."""
    if world is None or not world.semantics.objects:
        return SemanticScene()
    if world.annotation == MATTERPORT:
        return _make_matterport(world.semantics)
    return _make_numbered(world.semantics, shift=world.id_shift, names_rooms=world.annotation != "HM3D")


def _make_box(thing: SceneObject) -> mn.Range3D:
    return mn.Range3D.from_center(thing.center, np.asarray(thing.size) / 2)


def _make_region(region: Region, *, id: str, category: SemanticCategory | None, index: int) -> SemanticRegion:
    made = SemanticRegion(id=id, category=category, aabb=mn.Range3D(region.lower, region.upper), index=index)
    made.poly_loop_points = [mn.Vector2(x, z) for x, z in region.floor_polygon]
    return made


def _make_categories(names: Any, kind: type[SemanticCategory] = SemanticCategory) -> dict[str, SemanticCategory]:
    return {name: kind({"": name, "raw": name}, index) for index, name in enumerate(dict.fromkeys(names))}


def _make_numbered(semantics: Semantics, *, shift: int, names_rooms: bool) -> SemanticScene:
    """HM3D's and our own: `category_number`, and an object for what has no name, so that places are values."""
    categories = _make_categories(["Unknown", *semantics.categories[1:]])
    rooms = _make_categories([region.category for region in semantics.regions])
    nowhere = SemanticRegion(id="_-1", category=None, aabb=mn.Range3D())
    regions = [
        _make_region(
            region, id=f"_{region.region_id}", category=rooms[region.category] if names_rooms else None, index=index
        )
        for index, region in enumerate(semantics.regions)
    ]
    by_id = {region.region_id: made for region, made in zip(semantics.regions, regions, strict=True)}
    unknown = SemanticObject(id="Unknown_0", semantic_id=0, category=categories["Unknown"], aabb=mn.Range3D())
    objects = [unknown]
    _put_into(unknown, nowhere)
    for thing in semantics.objects:
        number = thing.object_id - shift
        named = SemanticObject(
            id=f"{thing.category}_{number}",
            semantic_id=number,
            category=categories[thing.category],
            aabb=_make_box(thing),
        )
        _put_into(named, by_id.get(thing.region or "", nowhere))
        objects.append(named)
    if shift and semantics.objects and semantics.objects[0].object_id - shift == 0:
        objects = objects[1:]  # the data set itself counts from 0
    return SemanticScene(objects, regions, (), tuple(categories.values()))


def _make_matterport(semantics: Semantics) -> SemanticScene:
    """Matterport3D's: `level_region_object`, counted from 0."""
    categories = _make_categories(semantics.categories[1:], Mp3dObjectCategory)
    rooms = _make_categories([region.category for region in semantics.regions], Mp3dRegionCategory)
    levels = _number_levels(semantics)
    by_id: dict[str, SemanticRegion] = {}
    for index, region in enumerate(semantics.regions):
        name = f"{levels[region.region_id]}_{region.region_id}"
        by_id[region.region_id] = _make_region(region, id=name, category=rooms[region.category], index=index)
    objects = []
    for thing in semantics.objects:
        room = by_id.get(thing.region or "")
        prefix = "-1_-1" if room is None else room.id
        number = thing.object_id - 1
        named = SemanticObject(
            id=f"{prefix}_{number}",
            semantic_id=number,
            category=_make_raw(categories[thing.category], thing),
            aabb=_make_box(thing),
        )
        if room is not None:
            _put_into(named, room)
        objects.append(named)
    floors = {level: [by_id[name] for name, of in levels.items() if of == level] for level in levels.values()}
    made = [SemanticLevel(id=str(level), regions=rooms_of) for level, rooms_of in sorted(floors.items())]
    for level in made:
        for region_of_level in level.regions:
            region_of_level.level = level
    return SemanticScene(objects, list(by_id.values()), made, tuple(categories.values()))


def _make_raw(category: SemanticCategory, thing: SceneObject) -> SemanticCategory:
    raw = thing.attributes.get("raw_category", "")
    return Mp3dObjectCategory({"": thing.category, "mpcat40": thing.category, "raw": raw}, category.index())


def _number_levels(semantics: Semantics) -> Mapping[str, int]:
    """Regions whose floors are within a metre and a half are of one level, from low to high."""
    ordered = sorted(semantics.regions, key=lambda region: region.lower[1])
    levels: dict[str, int] = {}
    level, floor = -1, -np.inf
    for region in ordered:
        if region.lower[1] > floor + 1.5:
            level, floor = level + 1, region.lower[1]
        levels[region.region_id] = level
    return levels


def _put_into(thing: SemanticObject, region: SemanticRegion) -> None:
    thing.region = region
    region.objects.append(thing)
