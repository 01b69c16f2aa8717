"""From fixtures and furniture to one scene with semantics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import Vec3
from nav_eval.scene.houses.finishes import Finish
from nav_eval.scene.houses.fixtures import Fixture
from nav_eval.scene.houses.furniture.piece import BODY, Part
from nav_eval.scene.houses.light import drawn_lights, lit_colors
from nav_eval.scene.houses.materials import Palette
from nav_eval.scene.houses.placement import Placed
from nav_eval.scene.houses.plan.model import Plan, Room
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import Mesh
from nav_eval.scene.houses.vocabulary import CATEGORIES, CATEGORY_IDS
from nav_eval.scene.model import Light, Region, Scene, SceneObject, SceneReport, Semantics

#: what a painting shows, in words
SUBJECTS = {
    "landscape": "mountains",
    "seascape": "a sailing boat",
    "flowers": "flowers",
    "portrait": "a person",
    "animal": "a cat",
    "abstract": "coloured squares",
    "shapes": "circles",
    "stripes art": "stripes",
}


@dataclass(frozen=True, slots=True, eq=False)
class Thing:
    """Anything that becomes an object of the scene, in world coordinates."""

    category: str
    room: str
    parts: Sequence[Part]
    finishes: Mapping[str, Finish]
    name: str | None
    on: str | None


def assemble(plan: Plan, fixtures: Sequence[Fixture], furniture: Sequence[Placed], draw: Draw) -> Scene:
    """One flat triangle list; object ids count from 1, fixtures first."""
    things = [Thing(f.category, f.room, f.parts, f.finishes, f.name, None) for f in fixtures]
    things += [_thing(placed, furniture) for placed in furniture]
    palette = Palette()
    meshes: list[Mesh] = []
    owners: list[tuple[int, int, int]] = []
    for number, thing in enumerate(things, start=1):
        shift = draw.fork("uv", number).units(2).round(3)
        for part in thing.parts:
            meshes.append(part.mesh if part.mesh.fit else replace(part.mesh, uvs=part.mesh.uvs + shift))
            material = palette.material(thing.category, part.slot, thing.finishes[part.slot])
            owners.append((material, number, CATEGORY_IDS[thing.category]))
    lights = drawn_lights(_lamps(furniture), draw.fork("lights"))
    scene = _scene(meshes, owners, palette, semantics(plan, things), lights)
    return replace(scene, colors=lit_colors(scene))


def world_parts(placed: Placed) -> list[Part]:
    """The parts of a placed piece where they are in the house."""
    return [Part(part.slot, part.mesh.turned(placed.degrees).moved(placed.position)) for part in placed.piece.parts]


def semantics(plan: Plan, things: Sequence[Thing]) -> Semantics:
    return Semantics(
        objects=tuple(_object(number, thing) for number, thing in enumerate(things, start=1)),
        regions=tuple(_region(plan, room) for room in plan.rooms),
        categories=CATEGORIES,
    )


def _thing(placed: Placed, furniture: Sequence[Placed]) -> Thing:
    piece = placed.piece
    on = None if placed.on is None else furniture[placed.on].piece.category
    return Thing(piece.category, placed.room, world_parts(placed), piece.finishes, piece.name, on)


def _scene(
    meshes: Sequence[Mesh],
    owners: Sequence[tuple[int, int, int]],
    palette: Palette,
    meaning: Semantics,
    lights: tuple[Light, ...],
) -> Scene:
    offsets = np.cumsum([0] + [len(mesh.positions) for mesh in meshes[:-1]])
    counts = [len(mesh.triangles) for mesh in meshes]
    per_triangle = np.repeat(np.array(owners), counts, axis=0)
    positions = np.concatenate([mesh.positions for mesh in meshes])
    return Scene(
        positions=_grid(positions, 5),
        normals=_grid(np.concatenate([mesh.normals for mesh in meshes]), 6),
        uvs=_grid(np.concatenate([mesh.uvs for mesh in meshes]), 6),
        colors=np.full((len(positions), 4), 255, np.uint8),
        triangles=np.concatenate([m.triangles + o for m, o in zip(meshes, offsets, strict=True)]).astype(np.uint32),
        triangle_material=per_triangle[:, 0].astype(np.uint16),
        triangle_object=per_triangle[:, 1].astype(np.uint32),
        triangle_category=per_triangle[:, 2].astype(np.uint16),
        materials=tuple(palette.materials),
        textures=tuple(palette.textures),
        semantics=meaning,
        lights=lights,
        report=SceneReport(notes=("generated house; light is in the vertex colours",)),
    )


def _object(number: int, thing: Thing) -> SceneObject:
    low = np.min([part.mesh.bounds[0] for part in thing.parts], axis=0)
    high = np.max([part.mesh.bounds[1] for part in thing.parts], axis=0)
    return SceneObject(
        object_id=number,
        category=thing.category,
        center=_vec((low + high) / 2),
        size=_vec(high - low),
        region=thing.room,
        name=thing.name,
        attributes=_attributes(thing, float((high - low).max())),
    )


def _attributes(thing: Thing, longest: float) -> dict[str, str]:
    """What a sentence may say about the thing."""
    body = thing.finishes[BODY]
    size = "small" if longest < 0.4 else "medium" if longest < 1.2 else "large"
    found = {"colour": body.colour, "material": body.material, "size": size}
    if thing.on:
        found["on"] = thing.on
    art = thing.finishes.get("art")
    if art:
        found["shows"] = SUBJECTS[art.pattern]
    return found


def _region(plan: Plan, room: Room) -> Region:
    floor, bounds = plan.floor_of(room) / 1000, room.bounds
    return Region(
        region_id=room.room_id,
        category=room.kind,
        lower=(bounds.x0 / 1000, floor, bounds.z0 / 1000),
        upper=(bounds.x1 / 1000, floor + plan.ceiling / 1000, bounds.z1 / 1000),
        floor_polygon=tuple((x / 1000, z / 1000) for x, z in room.outline),
    )


def _lamps(furniture: Sequence[Placed]) -> list[Vec3]:
    """Where light comes from; the shades' turn does not matter."""
    found = []
    for placed in furniture:
        if placed.piece.glows is not None and placed.piece.category == "ceiling lamp":
            x, y, z = placed.position
            found.append((x, y + placed.piece.glows[1], z))
    return found


def _grid(values: NDArray[np.float64], digits: int) -> NDArray[np.float32]:
    """Rounded, so that last bits of a platform's sine do not show; plus zero, so that −0 does not."""
    return (np.round(values, digits) + 0.0).astype(np.float32)


def _vec(values: NDArray[np.float64]) -> Vec3:
    x, y, z = (round(float(value), 4) + 0.0 for value in values)
    return x, y, z
