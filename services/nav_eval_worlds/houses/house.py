"""What a generated house is: fixtures and furniture as one scene with semantics, and the same house in another look.

The categories are one fixed list, so that a category id means the same in every house.

In another look nothing that blocks, counts or is looked for moves: only materials, textures, lights and vertex colours
change, and the words that describe them. It works on any scene whose materials carry our names, also after it was
written to a file and read again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nav_eval.generator_version import FIRST_GENERATOR, GeneratorVersion, check_generator
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Light, Material, Region, Scene, SceneObject, SceneReport, Semantics
from nav_eval_worlds.furniture.piece import BODY, SolidPart
from nav_eval_worlds.houses.baked_light import TIMES_OF_DAY, bake_house_light, draw_daylight
from nav_eval_worlds.houses.lighting import draw_lights
from nav_eval_worlds.houses.placement import PlacedPiece
from nav_eval_worlds.houses.plan.model import FloorPlan, Room
from nav_eval_worlds.houses.shell import Fixture
from nav_eval_worlds.materials import Finish, Palette, get_finish_kind, get_slot, make_finish
from nav_eval_worlds.randomness import RandomStream, check_split
from nav_eval_worlds.shapes import SolidMesh


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GeneratedHouse:
    """What is seen, and what it was made from."""

    seed: int
    split: str
    plan: FloorPlan
    furniture: tuple[PlacedPiece, ...]
    scene: Scene


BUILDING = ("ceiling", "door", "doorway", "floor", "stairs", "wall", "window")

FURNITURE = (
    "armchair", "bag", "basket", "bathtub", "bed", "bench", "bicycle", "book", "books", "bookshelf", "bottle",
    "bowl", "box", "cabinet", "candle", "car", "ceiling lamp", "chair", "chest", "clock", "clothes",
    "coat rack", "coffee table", "computer monitor", "console table", "cup", "curtain", "cushion", "desk",
    "dining table", "dishwasher", "drawer", "dresser", "dryer", "fireplace", "floor lamp", "jar", "kettle",
    "keyboard", "kitchen cabinet", "kitchen island", "ladder", "laptop", "microwave", "mirror", "nightstand",
    "office chair", "painting", "piano", "picture", "plant", "plate", "pot", "pouf", "radiator", "radio",
    "range hood", "refrigerator", "rug", "shelf", "shoes", "shower", "side table", "sink", "soap", "sofa",
    "speaker", "stool", "stove", "table lamp", "toaster", "toilet", "toilet paper", "toolbox", "towel", "toy",
    "trash can", "tv", "tv stand", "tyres", "umbrella stand", "vase", "wall lamp", "wardrobe",
    "washing machine", "workbench",
)  # fmt: skip

#: what only buildings other than homes have, since the second generator
PUBLIC_FURNITURE = (
    "clothes rack", "counter", "display case", "examination table", "fire extinguisher", "meeting table", "printer",
    "reception desk", "trolley", "vending machine", "water cooler", "whiteboard",
)  # fmt: skip

#: what lies about in all kinds of buildings, since the second generator
SMALL_THINGS = (
    "computer mouse", "cutting board", "document", "folder", "fruit", "knife block", "paint can", "pen holder", "phone",
    "remote control", "teapot", "tool",
)  # fmt: skip

CATEGORIES: tuple[str, ...] = ("", *sorted((*BUILDING, *FURNITURE)))
LATER_CATEGORIES: tuple[str, ...] = (
    *CATEGORIES,
    *PUBLIC_FURNITURE,
    *SMALL_THINGS,
)  #: an id still means the same in every house
CATEGORY_IDS = {name: number for number, name in enumerate(LATER_CATEGORIES)}


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
class HouseObject:
    """Anything that becomes an object of the scene, in world coordinates."""

    category: str
    room: str
    parts: Sequence[SolidPart]
    finishes: Mapping[str, Finish]
    name: str | None
    on: str | None
    licence: str = ""
    source: str = ""


def assemble_scene(
    plan: FloorPlan, fixtures: Sequence[Fixture], furniture: Sequence[PlacedPiece], draw: RandomStream
) -> Scene:
    """One flat triangle list, not lit yet; object ids count from 1, fixtures first."""
    things = [HouseObject(f.category, f.room, f.parts, f.finishes, f.name, None) for f in fixtures]
    things += [_make_object(placed, furniture) for placed in furniture]
    palette = Palette()
    meshes: list[SolidMesh] = []
    owners: list[tuple[int, int, int]] = []
    for number, thing in enumerate(things, start=1):
        shift = draw.fork("uv", number).units(2).round(3)
        for part in thing.parts:
            meshes.append(part.mesh if part.mesh.fit else replace(part.mesh, uvs=part.mesh.uvs + shift))
            material = palette.material(thing.category, part.slot, thing.finishes[part.slot])
            owners.append((material, number, CATEGORY_IDS[thing.category]))
    lights = _draw_house_lights(things, furniture, draw.fork("lights"))
    return _make_scene(meshes, owners, palette, make_semantics(plan, things, draw.generator), lights)


def _draw_house_lights(
    things: Sequence[HouseObject], furniture: Sequence[PlacedPiece], draw: RandomStream
) -> tuple[Light, ...]:
    if draw.generator == FIRST_GENERATOR:
        return draw_lights(_find_lamps(furniture), draw)
    return draw_daylight(_find_room_lamps(things, furniture), TIMES_OF_DAY[draw.style.time], draw)


def _find_room_lamps(things: Sequence[HouseObject], furniture: Sequence[PlacedPiece]) -> list[tuple[Vec3, bool, float]]:
    """Lamps under the ceiling, whether daylight comes into their rooms, and how strong each of several is."""
    light = {thing.room for thing in things if thing.category == "window"}
    hung = [placed for placed in furniture if placed.piece.category == "ceiling lamp"]
    counts = Counter(placed.room for placed in hung)
    return [
        (place, placed.room in light, 1.0 if counts[placed.room] < 2 else 0.75)
        for placed, place in zip(hung, _find_lamps(hung), strict=True)
    ]


def get_world_parts(placed: PlacedPiece) -> list[SolidPart]:
    """The parts of a placed piece where they are in the house."""
    return [
        SolidPart(part.slot, part.mesh.rotate(placed.degrees).translate(placed.position)) for part in placed.piece.parts
    ]


def make_semantics(plan: FloorPlan, things: Sequence[HouseObject], generator: GeneratorVersion) -> Semantics:
    return Semantics(
        objects=tuple(_make_scene_object(number, thing) for number, thing in enumerate(things, start=1)),
        regions=tuple(_make_region(plan, room) for room in plan.rooms),
        categories=CATEGORIES if generator == FIRST_GENERATOR else LATER_CATEGORIES,
        generator=generator,
    )


def _make_object(placed: PlacedPiece, furniture: Sequence[PlacedPiece]) -> HouseObject:
    piece = placed.piece
    on = None if placed.on is None else furniture[placed.on].piece.category
    parts = get_world_parts(placed)
    return HouseObject(
        piece.category, placed.room, parts, piece.finishes, piece.name, on, licence=piece.licence, source=piece.source
    )


def _make_scene(
    meshes: Sequence[SolidMesh],
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
        positions=_round_values(positions, 5),
        normals=_round_values(np.concatenate([mesh.normals for mesh in meshes]), 6),
        uvs=_round_values(np.concatenate([mesh.uvs for mesh in meshes]), 6),
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


def _make_scene_object(number: int, thing: HouseObject) -> SceneObject:
    low = np.min([part.mesh.bounds[0] for part in thing.parts], axis=0)
    high = np.max([part.mesh.bounds[1] for part in thing.parts], axis=0)
    return SceneObject(
        object_id=number,
        category=thing.category,
        center=_to_vec3((low + high) / 2),
        size=_to_vec3(high - low),
        region=thing.room,
        name=thing.name,
        attributes=_describe_attributes(thing, float((high - low).max())),
    )


def _describe_attributes(thing: HouseObject, longest: float) -> dict[str, str]:
    """What a sentence may say about the thing."""
    body = thing.finishes[BODY]
    size = "small" if longest < 0.4 else "medium" if longest < 1.2 else "large"
    found = {"colour": body.colour, "material": body.material, "size": size}
    if thing.on:
        found["on"] = thing.on
    if thing.licence:
        found["licence"] = thing.licence
    if thing.source:
        found["source"] = thing.source
    art = thing.finishes.get("art")
    if art:
        found["shows"] = SUBJECTS[art.pattern]
    return found


def _make_region(plan: FloorPlan, room: Room) -> Region:
    floor, bounds = plan.floor_of(room) / 1000, room.bounds
    return Region(
        region_id=room.room_id,
        category=room.kind,
        lower=(bounds.x0 / 1000, floor, bounds.z0 / 1000),
        upper=(bounds.x1 / 1000, floor + plan.ceiling / 1000, bounds.z1 / 1000),
        floor_polygon=tuple((x / 1000, z / 1000) for x, z in room.outline),
    )


def _find_lamps(furniture: Sequence[PlacedPiece]) -> list[Vec3]:
    """Where light comes from; the shades' turn does not matter."""
    found = []
    for placed in furniture:
        if placed.piece.glows is not None and placed.piece.category == "ceiling lamp":
            x, y, z = placed.position
            found.append((x, y + placed.piece.glows[1], z))
    return found


def _round_values(values: NDArray[np.float64], digits: int) -> NDArray[np.float32]:
    """Rounded, so that last bits of a platform's sine do not show; plus zero, so that −0 does not."""
    return (np.round(values, digits) + 0.0).astype(np.float32)


def _to_vec3(values: NDArray[np.float64]) -> Vec3:
    x, y, z = (round(float(value), 4) + 0.0 for value in values)
    return x, y, z


def restyle(
    scene: Scene,
    seed: int,
    *,
    keep: Iterable[int] = (),
    surfaces: bool = True,
    lights: bool = True,
    split: str = "seen",
) -> Scene:
    """Another look for everything but the objects to `keep`; the same arguments give the same scene."""
    generator = check_generator(scene.semantics.generator)
    draw = RandomStream(seed, "restyle", split=check_split(split), generator=generator)
    if surfaces:
        scene = _restyle_surfaces(scene, draw.fork("surfaces"), sorted(set(keep)))
    if lights:
        scene = replace(scene, lights=_draw_other_lights(scene.lights, draw.fork("lights")))
        scene = replace(scene, colors=bake_house_light(scene))
    return scene


def _draw_other_lights(lights: Sequence[Light], draw: RandomStream) -> tuple[Light, ...]:
    """Other lights in the same places. Later generators keep the time of day, which the windows show."""
    if draw.generator == FIRST_GENERATOR:
        return draw_lights([light.position for light in lights if light.kind == "point"], draw)
    strength, warm = draw.between(0.8, 1.2), draw.between(0.2, 1.0)
    tint = (1.0, round(0.93 - 0.1 * warm, 3), round(0.84 - 0.24 * warm, 3))
    return tuple(
        replace(
            light,
            intensity=round(light.intensity * strength, 4),
            color=tint if light.kind == "point" else light.color,
        )
        for light in lights
    )


def _restyle_surfaces(scene: Scene, draw: RandomStream, keep: list[int]) -> Scene:
    finishes = [_draw_finish(material, draw) for material in scene.materials]
    palette = Palette(materials=list(scene.materials), textures=list(scene.textures))
    renewed = np.arange(len(scene.materials))
    for number, (material, look) in enumerate(zip(scene.materials, finishes, strict=True)):
        if look is not None:
            category, slot, _ = material.name.split("/")
            renewed[number] = palette.material(category, slot, look)
    changed = ~np.isin(scene.triangle_object, keep)
    triangle_material = np.where(changed, renewed[scene.triangle_material], scene.triangle_material)
    objects = _describe_objects(scene, finishes, keep)
    return replace(
        scene,
        materials=tuple(palette.materials),
        textures=tuple(palette.textures),
        triangle_material=triangle_material.astype(np.uint16),
        semantics=replace(scene.semantics, objects=objects),
    )


def _draw_finish(material: Material, draw: RandomStream) -> Finish | None:
    """Surfaces that looked the same still do; None for what is not ours."""
    kind = get_finish_kind(material)
    if not kind or kind == "outlook":
        return None
    return make_finish(kind, draw.fork(kind, repr(material.base_color), str(material.texture)))


def _describe_objects(scene: Scene, finishes: list[Finish | None], keep: list[int]) -> tuple[SceneObject, ...]:
    """Objects with the words for their new look."""
    looks: dict[int, dict[str, str]] = {}
    pairs = np.unique(np.stack([scene.triangle_object, scene.triangle_material], axis=1), axis=0)
    for object_id, number in pairs.tolist():
        look, slot = finishes[number], get_slot(scene.materials[number])
        if look is None or object_id in keep:
            continue
        if slot == BODY:
            looks.setdefault(object_id, {}).update(colour=look.colour, material=look.material)
        if slot == "art":
            looks.setdefault(object_id, {})["shows"] = SUBJECTS[look.pattern]
    return tuple(
        replace(item, attributes={**item.attributes, **looks.get(item.object_id, {})})
        for item in scene.semantics.objects
    )
