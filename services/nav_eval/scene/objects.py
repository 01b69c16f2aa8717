"""Things put into a scene on top of what its file holds: boxes, balls, cylinders and meshes.

They are drawn, named in the annotation, and, unless their configuration says otherwise, in the way: the
navigation mesh is made from the scene with them in it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.config.schema import MeshObjCfg, ObjectConfig, PrimitiveCubeCfg, PrimitiveCylinderCfg, PrimitiveSphereCfg
from nav_eval.errors import SceneError
from nav_eval.records.geometry import Vec3, to_rotation_matrix
from nav_eval.scene.formats import read_scene
from nav_eval.scene.model import MATTE, Material, Scene, SceneObject, Semantics
from nav_eval.scene.semantics import to_vector

_SEGMENTS = 32
_RINGS = 16
_DEFAULT_COLOR = (0.7, 0.7, 0.7)


class FurnishedScene(NamedTuple):
    """A scene with things in it."""

    scene: Scene
    blocks: NDArray[np.bool_]  #: per triangle: whether it is in anybody's way


class ShapeMesh(NamedTuple):
    positions: NDArray[np.float64]
    normals: NDArray[np.float64]
    triangles: NDArray[np.int64]


def place_objects(scene: Scene, objects: Sequence[ObjectConfig], *, root: Path) -> FurnishedScene:
    """The scene with all objects; mesh files are looked for under `root`."""
    blocks = np.ones(len(scene.triangles), dtype=np.bool_)
    for thing in objects:
        part = _read_mesh(thing, root) if isinstance(thing, MeshObjCfg) else _make_primitive(thing)
        placed = _place(part, thing)
        scene = _join(scene, placed, thing)
        blocks = np.concatenate([blocks, np.full(len(placed.triangles), thing.collision_enabled)])
    return FurnishedScene(scene, blocks)


def _make_primitive(thing: PrimitiveCubeCfg | PrimitiveSphereCfg | PrimitiveCylinderCfg) -> Scene:
    if isinstance(thing, PrimitiveCubeCfg):
        mesh = _make_box(thing.size)
    elif isinstance(thing, PrimitiveSphereCfg):
        mesh = _make_ball(thing.radius)
    else:
        mesh = _make_cylinder(thing.radius, thing.height)
    red, green, blue = thing.color or _DEFAULT_COLOR
    count = len(mesh.triangles)
    return Scene(
        positions=mesh.positions.astype(np.float32),
        normals=mesh.normals.astype(np.float32),
        uvs=np.zeros((len(mesh.positions), 2), dtype=np.float32),
        colors=np.full((len(mesh.positions), 4), 255, dtype=np.uint8),
        triangles=mesh.triangles.astype(np.uint32),
        triangle_material=np.zeros(count, dtype=np.uint16),
        triangle_object=np.zeros(count, dtype=np.uint32),
        triangle_category=np.zeros(count, dtype=np.uint16),
        materials=(Material(name=thing.name, base_color=(red, green, blue, 1.0), unlit=False),),
    )


def make_unit_mesh(shape: str) -> ShapeMesh:
    """A box of one metre, a ball with a radius of one, or a cylinder of one metre with a radius of a third."""
    if shape == "box":
        return _make_box((1.0, 1.0, 1.0))
    return _make_ball(1.0) if shape == "ball" else _make_cylinder(1 / 3, 1.0)


def _read_mesh(thing: MeshObjCfg, root: Path) -> Scene:
    path = (root / thing.mesh_path).resolve()
    if not path.is_relative_to(root.resolve()):
        raise SceneError(f"Object {thing.name!r}: {thing.mesh_path} leads out of {root}.")
    mesh = read_scene(path, up="format" if thing.up == "auto" else thing.up)  # a chair has no floors to go by
    if thing.color is None:
        return mesh
    red, green, blue = thing.color
    color = (red, green, blue, 1.0)
    painted = tuple(replace(look, base_color=color, texture=None, shading=MATTE) for look in mesh.materials)
    return replace(mesh, materials=painted)


def _place(part: Scene, thing: ObjectConfig) -> Scene:
    """Scaled, turned and moved to where the configuration says."""
    scale = np.array(thing.scale if isinstance(thing.scale, tuple) else (thing.scale,) * 3)
    turn = to_rotation_matrix(thing.rotation)
    positions = part.positions.astype(np.float64) * scale @ turn.T + np.array(thing.position)
    normals = part.normals.astype(np.float64) / scale @ turn.T
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    return replace(part, positions=positions.astype(np.float32), normals=normals.astype(np.float32))


def _join(scene: Scene, part: Scene, thing: ObjectConfig) -> Scene:
    """One scene of two; the new part is one object of its own."""
    object_id = 1 + max((known.object_id for known in scene.semantics.objects), default=0)
    object_id = max(object_id, 1 + int(scene.triangle_object.max(initial=0)))  # triangles may have ids without a name
    semantics, category = _add_to_semantics(scene.semantics, _make_object(part, thing, object_id))
    textures = len(scene.textures)
    moved = tuple(material.move_maps(textures) for material in part.materials)
    count = len(part.triangles)
    return replace(
        scene,
        positions=np.concatenate([scene.positions, part.positions]),
        normals=np.concatenate([scene.normals, part.normals]),
        uvs=np.concatenate([scene.uvs, part.uvs]),
        colors=np.concatenate([scene.colors, part.colors]),
        triangles=np.concatenate([scene.triangles, part.triangles + np.uint32(len(scene.positions))]),
        triangle_material=_append(scene.triangle_material, part.triangle_material + len(scene.materials)),
        triangle_object=_append(scene.triangle_object, np.full(count, object_id)),
        triangle_category=_append(scene.triangle_category, np.full(count, category)),
        materials=scene.materials + moved,
        textures=scene.textures + part.textures,
        semantics=semantics,
    )


def _append(known: NDArray[np.unsignedinteger], new: NDArray[np.integer]) -> NDArray[np.unsignedinteger]:
    return np.concatenate([known, new.astype(known.dtype)])


def _make_object(part: Scene, thing: ObjectConfig, object_id: int) -> SceneObject:
    lower, upper = part.positions.min(axis=0), part.positions.max(axis=0)
    return SceneObject(
        object_id=object_id,
        category=thing.category or thing.name,
        center=to_vector((lower + upper) / 2),
        size=to_vector(upper - lower),
        name=thing.name,
    )


def _add_to_semantics(semantics: Semantics, thing: SceneObject) -> tuple[Semantics, int]:
    categories = semantics.categories
    if thing.category not in categories:
        categories = (*categories, thing.category)
    named = replace(semantics, objects=(*semantics.objects, thing), categories=categories)
    return named, categories.index(thing.category)


def _make_box(size: Vec3) -> ShapeMesh:
    """Four corners per face, so that each face has its own normal."""
    positions: list[NDArray[np.float64]] = []
    normals: list[NDArray[np.float64]] = []
    triangles: list[tuple[int, int, int]] = []
    for axis in range(3):
        for sign in (1.0, -1.0):
            normal = np.zeros(3)
            normal[axis] = sign
            first, second = np.roll(np.eye(3), -1, axis=0)[axis], np.roll(np.eye(3), -2, axis=0)[axis]
            corners = [normal + a * first + sign * b * second for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            start = len(positions)
            positions += corners
            normals += [normal] * 4
            triangles += [(start, start + 1, start + 2), (start, start + 2, start + 3)]
    return ShapeMesh(np.array(positions) * np.array(size) / 2, np.array(normals), np.array(triangles))


def _make_cylinder(radius: float, height: float) -> ShapeMesh:
    """Upright, closed at both ends."""
    around = [(math.cos(t), -math.sin(t)) for t in _divide_turn(_SEGMENTS)]
    half = height / 2
    side = [(radius * c, y, radius * s) for c, s in around for y in (-half, half)]
    side_normals = [(c, 0.0, s) for c, s in around for _ in range(2)]
    wall: list[tuple[int, int, int]] = []
    for low in range(0, 2 * _SEGMENTS, 2):
        following = (low + 2) % (2 * _SEGMENTS)
        wall += [(low, following, following + 1), (low, following + 1, low + 1)]
    mesh = ShapeMesh(np.array(side), np.array(side_normals), np.array(wall))
    for y, up in ((half, 1.0), (-half, -1.0)):
        mesh = _add_lid(mesh, [(radius * c, y, radius * s) for c, s in around], up)
    return mesh


def _add_lid(mesh: ShapeMesh, rim: list[Vec3], up: float) -> ShapeMesh:
    start, count = len(mesh.positions), len(rim)
    fan = [
        (start, start + i, start + i + 1) if up > 0 else (start, start + i + 1, start + i) for i in range(1, count - 1)
    ]
    return ShapeMesh(
        np.concatenate([mesh.positions, rim]),
        np.concatenate([mesh.normals, [(0.0, up, 0.0)] * count]),
        np.concatenate([mesh.triangles, fan]),
    )


def _make_ball(radius: float) -> ShapeMesh:
    normals = [
        (math.sin(down) * math.cos(around), math.cos(down), -math.sin(down) * math.sin(around))
        for down in (math.pi * ring / _RINGS for ring in range(_RINGS + 1))
        for around in [*_divide_turn(_SEGMENTS), 2 * math.pi]
    ]
    row = _SEGMENTS + 1
    triangles = [
        triangle
        for ring in range(_RINGS)
        for i in range(ring * row, ring * row + _SEGMENTS)
        for triangle in _make_quad(i, row, first=ring == 0, last=ring == _RINGS - 1)
    ]
    unit = np.array(normals)
    return ShapeMesh(unit * radius, unit, np.array(triangles))


def _make_quad(i: int, row: int, *, first: bool, last: bool) -> Iterable[tuple[int, int, int]]:
    """The patch below and right of vertex i; at the poles it is a triangle."""
    if not last:
        yield (i, i + row, i + row + 1)
    if not first:
        yield (i, i + row + 1, i + 1)


def _divide_turn(parts: int) -> list[float]:
    return [2 * math.pi * part / parts for part in range(parts)]
