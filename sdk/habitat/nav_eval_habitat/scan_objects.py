"""The semantic scenes of HM3D and Matterport3D, with the data sets' own numbers.

Users index the list of objects by the value of a pixel. So every object that the annotation names is in it, with an
empty box where the mesh has nothing of it, and categories and storeys have the numbers that the files give them.
"""

import magnum as mn
from habitat_sim.semantic_scene import (
    Mp3dObjectCategory,
    Mp3dRegionCategory,
    SemanticLevel,
    SemanticObject,
    SemanticRegion,
    SemanticScene,
)
from nav_eval.scene.formats.scan_datasets import Mp3dCategory, Mp3dHouse, parse_hm3d_text, parse_mp3d_house
from nav_eval_habitat.semantic_parts import make_box, number_categories, put_into
from nav_eval_habitat.world import World

#: Habitat's names of Matterport3D's rooms, by their letters.
ROOM_NAMES = {
    "B": "bar", "C": "classroom", "D": "dining booth", "S": "spa/sauna", "Z": "junk", "a": "bathroom", "b": "bedroom",
    "c": "closet", "d": "dining room", "e": "entryway/foyer/lobby", "f": "familyroom/lounge", "g": "garage",
    "h": "hallway", "i": "library", "j": "laundryroom/mudroom", "k": "kitchen", "l": "living room",
    "m": "meetingroom/conferenceroom", "n": "lounge", "o": "office", "p": "porch/terrace/deck", "r": "rec/game",
    "s": "stairs", "t": "toilet", "u": "utilityroom/toolroom", "v": "tv", "w": "workout/gym/exercise", "x": "outdoor",
    "y": "balcony", "z": "other room",
}  # fmt: skip
NOWHERE = -1


def make_hm3d_scene(world: World) -> SemanticScene:
    """Objects are `category_number`, rooms `_number`; number 0 in room −1 is what has no name."""
    text = parse_hm3d_text(world.annotation_path.read_bytes(), source=str(world.annotation_path))
    labels = {number: (label.category, _number_region(label.region)) for number, label in sorted(text.labels.items())}
    named = {0: ("Unknown", NOWHERE), **labels}
    categories = number_categories(category for category, _ in named.values())
    boxes = _measure_rooms(world)
    regions = {
        room: SemanticRegion(id=f"_{room}", category=None, aabb=boxes.get(str(room), mn.Range3D()), index=room)
        for room in sorted({room for _, room in named.values()})
    }
    things = _measure_things(world)
    objects = []
    for number, (category, room) in named.items():
        thing = SemanticObject(
            id=f"{category}_{number}",
            semantic_id=number,
            category=categories[category],
            aabb=things.get(number, mn.Range3D()),
        )
        put_into(thing, regions[room])
        objects.append(thing)
    return SemanticScene(objects, tuple(regions.values()), (), tuple(categories.values()))


def make_matterport_scene(world: World) -> SemanticScene:
    """Objects are `level_region_number`, all counted from 0."""
    house = parse_mp3d_house(world.annotation_path.read_bytes(), source=str(world.annotation_path))
    regions = _make_rooms(house, world)
    categories = {category: _make_category(category) for category in dict.fromkeys(house.categories.values())}
    things = _measure_things(world)
    objects = []
    for number, label in sorted(house.labels.items()):
        room = regions.get(label.region or "")
        thing = SemanticObject(
            id=f"{'' if room is None else room.id}_{number}",
            semantic_id=number,
            category=categories[house.categories[number]],
            aabb=things.get(number + 1, mn.Range3D()),
        )
        if room is not None:
            put_into(thing, room)
        objects.append(thing)
    levels = [level for level in dict.fromkeys(room.level for room in regions.values()) if level is not None]
    levels.sort(key=lambda level: int(level.id))
    return SemanticScene(objects, tuple(regions.values()), levels, tuple(categories.values()))


def _make_rooms(house: Mp3dHouse, world: World) -> dict[str, SemanticRegion]:
    """Rooms by their numbers, each on its storey."""
    boxes = _measure_rooms(world)
    levels: dict[int, SemanticLevel] = {}
    rooms: dict[str, SemanticRegion] = {}
    for number, storey in house.region_levels.items():
        code = house.region_codes[number]
        kind = Mp3dRegionCategory({"": ROOM_NAMES.get(code, "")}, _number_room(code))
        prefix = "" if storey < 0 else str(storey)
        room = SemanticRegion(id=f"{prefix}_{number}", category=kind, aabb=boxes[number], index=int(number))
        if storey >= 0:
            level = levels.setdefault(storey, SemanticLevel(id=str(storey), regions=()))
            room.level = level
            level.regions.append(room)
        rooms[number] = room
    return rooms


def _number_region(name: str | None) -> int:
    return int(name) if name is not None and name.isdecimal() else NOWHERE


def _number_room(code: str) -> int:
    return list(ROOM_NAMES).index(code) if code in ROOM_NAMES else len(ROOM_NAMES)


def _make_category(category: Mp3dCategory) -> Mp3dObjectCategory:
    names = {"": category.name, "mpcat40": category.name, "raw": category.raw}
    numbers = {"": category.number, "mpcat40": category.number, "raw": category.raw_number}
    return Mp3dObjectCategory(names, category.number, numbers)


def _measure_things(world: World) -> dict[int, mn.Range3D]:
    """Boxes by the value of nav-eval's pixels."""
    return {thing.object_id: make_box(thing) for thing in world.semantics.objects}


def _measure_rooms(world: World) -> dict[str, mn.Range3D]:
    return {region.region_id: mn.Range3D(region.lower, region.upper) for region in world.semantics.regions}
