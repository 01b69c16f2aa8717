"""Small things added to furniture: seen, in nobody's way, standing on what is really there (`clutter_places`).

A thing is lit like the surface that it stands on. What is drawn for one episode takes a stream of numbers of its own
and the scene's supports, which are found once; so a plan is made in a fraction of a millisecond, whoever asks for it.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nav_eval.config.schema import PrimitiveCubeCfg, PrimitiveCylinderCfg, PrimitiveSphereCfg
from nav_eval.config.schema.scenario import ObjectConfig
from nav_eval.number_stream import hash_keys
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Scene
from nav_eval.scene.objects import place_objects
from nav_eval.simulator.clutter_places import CATEGORY, ClutterPlan, SupportMap, find_supports

BOX, BALL, CYLINDER = 0, 1, 2
BALL_SIZE = 2 / 3  #: of a ball across, where a box of the same size is 1
#: how much of the light on its support the sides of a thing get, by how they face
_TOP, _SIDE = 1.0, 0.8

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ClutterThing:
    """One small thing, and what carries it."""

    number: int  #: of the things that were drawn
    shape: int  #: BOX, BALL or CYLINDER
    size: float  #: metres
    color: Vec3
    bottom: Vec3  #: the middle of its underside
    triangle: int  #: of the scene, that carries it

    @property
    def position(self) -> Vec3:
        """Of its middle."""
        x, y, z = self.bottom
        return x, round(y + self.height / 2, 4), z

    @property
    def height(self) -> float:
        return self.size * BALL_SIZE if self.shape == BALL else self.size


def plan_clutter(supports: SupportMap, *, seed: int, count: int, kept: Collection[int]) -> ClutterPlan:
    """So many things, where there is room; none stands on the objects to keep."""
    return supports.plan(hash_keys(seed, "clutter things"), count=count, kept=kept)


def _list_things(plan: ClutterPlan) -> list[ClutterThing]:
    """Those that found a place."""
    rows = zip(*(column.tolist() for column in plan), strict=True)
    return [
        ClutterThing(number=number, shape=shape, size=size, color=tuple(color), bottom=tuple(bottom), triangle=triangle)
        for number, (shape, size, color, bottom, triangle) in enumerate(rows)
        if triangle >= 0
    ]


def add_clutter(scene: Scene, *, seed: int, count: int, kept: Collection[int]) -> Scene:
    """The scene with so many things more."""
    for thing in _list_things(plan_clutter(find_supports(scene), seed=seed, count=count, kept=kept)):
        scene = _put_down(scene, thing)
    return scene


def light_clutter(scene: Scene, thing: ClutterThing, normals: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Vertex colours (V × 4) of a thing on an unlit surface, by how its sides face."""
    light = scene.colors[scene.triangles[thing.triangle]].astype(np.float64).mean(axis=0)
    facing = _SIDE + (_TOP - _SIDE) * np.clip(normals[:, 1:2], -1.0, 1.0)
    colors: NDArray[np.uint8] = np.round(np.clip(light * facing, 0, 255)).astype(np.uint8)
    colors[:, 3] = 255
    return colors


def is_on_lit_surface(scene: Scene, thing: ClutterThing) -> bool:
    return not scene.materials[scene.triangle_material[thing.triangle]].unlit


def _configure(thing: ClutterThing) -> ObjectConfig:
    common = {
        "name": f"{CATEGORY}_{thing.number}",
        "category": CATEGORY,
        "position": thing.position,
        "color": thing.color,
        "collision_enabled": False,
    }
    if thing.shape == BOX:
        return PrimitiveCubeCfg(size=(thing.size, thing.size, thing.size), **common)
    if thing.shape == BALL:
        return PrimitiveSphereCfg(radius=thing.height / 2, **common)
    return PrimitiveCylinderCfg(radius=thing.size / 3, height=thing.size, **common)


def _put_down(scene: Scene, thing: ClutterThing) -> Scene:
    """The scene with one thing, lit by the light that falls on its support."""
    vertices = len(scene.positions)
    support = scene.triangle_object[thing.triangle]
    region = next((own.region for own in scene.semantics.objects if own.object_id == support), None)
    joined = place_objects(scene, [_configure(thing)], root=Path()).scene
    *objects, added = joined.semantics.objects
    semantics = replace(joined.semantics, objects=(*objects, replace(added, region=region)))
    if is_on_lit_surface(scene, thing):
        return replace(joined, semantics=semantics)
    *materials, own = joined.materials
    colors = joined.colors.copy()
    colors[vertices:] = light_clutter(scene, thing, joined.normals[vertices:])
    return replace(joined, semantics=semantics, colors=colors, materials=(*materials, replace(own, unlit=True)))
