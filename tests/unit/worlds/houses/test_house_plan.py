"""Floor plans: every room reachable, nothing overlaps, loops exist, the same seed gives the same plan."""

from functools import cache

import pytest

from nav_eval.errors import UnknownName
from nav_eval_worlds.houses.plan.floor_plan import draw_plan
from nav_eval_worlds.houses.plan.geometry import (
    Rect,
    cut_cells,
    find_outline,
    find_remaining,
    get_edges,
    shrink_outline,
)
from nav_eval_worlds.houses.plan.model import PASSABLE, ROOM_KINDS, TEMPLATES, FloorPlan, OpeningKind, choose_template
from nav_eval_worlds.houses.plan.openings import find_wall, get_door_zone, get_leaf_rect
from nav_eval_worlds.randomness import RandomStream

CASES = [(name, seed) for name in TEMPLATES for seed in range(3)]


@cache
def _plan(name: str, seed: int, split: str = "seen") -> FloorPlan:
    draw = RandomStream(seed, "test", split=split)
    return draw_plan(draw, choose_template(name, draw))


def _reached(plan: FloorPlan) -> set[str]:
    links = [opening.rooms for opening in plan.openings if opening.kind in PASSABLE]
    if plan.stairs:
        links.append((plan.stairs.lower_room, plan.stairs.upper_room))
    reached = {plan.rooms[0].room_id}
    for _ in plan.rooms:
        reached |= {room for link in links if reached & set(link) for room in link}
    return reached


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_every_room_is_reached_and_rooms_do_not_overlap(name: str, seed: int) -> None:
    plan = _plan(name, seed)
    assert _reached(plan) == {room.room_id for room in plan.rooms}
    pieces = [(room.storey, rect) for room in plan.rooms for rect in room.rects]
    for number, (storey, rect) in enumerate(pieces):
        assert not any(storey == other_storey and rect.overlaps(other) for other_storey, other in pieces[:number])


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_rooms_are_those_of_the_template_and_wide_enough(name: str, seed: int) -> None:
    plan = _plan(name, seed)
    wanted = sorted(kind for storey in TEMPLATES[name].storeys for kind in storey)
    assert sorted(room.kind for room in plan.rooms if room.kind != "hallway") == wanted
    for room in plan.rooms:
        least = 1700 if ROOM_KINDS[room.kind].small else ROOM_KINDS[room.kind].width
        assert min(room.rects[0].width, room.rects[0].depth) >= least, room


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_bathrooms_have_one_door_and_every_house_one_entrance(name: str, seed: int) -> None:
    plan = _plan(name, seed)
    for room in plan.rooms:
        ways = [opening for opening in plan.openings_of(room) if opening.kind in PASSABLE]
        assert ways
        if room.kind == "bathroom":
            assert len(ways) == 1
    assert sum(opening.kind is OpeningKind.ENTRANCE for opening in plan.openings) == 1


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_openings_are_inside_their_walls_and_leaves_in_nobodys_way(name: str, seed: int) -> None:
    plan = _plan(name, seed)
    for room in plan.rooms:
        openings = plan.openings_of(room)
        for opening in openings:
            wall = find_wall(opening, room)
            middle = wall.along(opening.center)
            assert middle - opening.width // 2 >= 40
            assert middle + opening.width // 2 <= wall.length - 40
            assert opening.head < plan.ceiling
        zones = {o.opening_id: get_door_zone(o, room) for o in openings if o.kind in PASSABLE}
        for opening in openings:
            if opening.leaf and opening.leaf.room == room.room_id:
                leaf = get_leaf_rect(opening, room, opening.leaf)
                assert not any(leaf.overlaps(zone) for zone in zones.values())


def test_most_houses_have_loops() -> None:
    loops = 0
    for seed in range(12):
        plan = _plan("house_3", seed)
        doors = sum(opening.kind in PASSABLE for opening in plan.openings)
        loops += doors > len(plan.rooms) - 1
    assert loops >= 10


def test_same_seed_same_plan_other_split_other_plan() -> None:
    assert _plan("flat_3", 5) == _plan.__wrapped__("flat_3", 5)
    assert _plan("flat_3", 5) != _plan("flat_3", 5, "unseen")
    assert _plan("flat_3", 5) != _plan("flat_3", 6)


def test_an_unknown_template_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="flat_1"):
        _plan("castle", 0)


def test_outline_of_an_l_shape_and_its_inset() -> None:
    corners = find_outline((Rect(0, 0, 4000, 1000), Rect(0, 1000, 1000, 3000)))
    assert set(corners) == {(0, 0), (4000, 0), (4000, 1000), (1000, 1000), (1000, 3000), (0, 3000)}
    assert len(corners) == 6
    assert set(shrink_outline(corners, 100)) == {
        (100, 100),
        (3900, 100),
        (3900, 900),
        (900, 900),
        (900, 2900),
        (100, 2900),
    }
    for edge in get_edges(corners):
        x, z = edge.at(edge.length // 2, 50)
        assert any(rect.contains((x, z)) for rect in (Rect(0, 0, 4000, 1000), Rect(0, 0, 1000, 3000)))


def test_cells_cover_the_union_without_the_hole() -> None:
    parts = cut_cells([Rect(0, 0, 10, 10), Rect(10, 0, 20, 5)], holes=[Rect(2, 2, 4, 4)])
    assert sum(part.width * part.depth for part in parts) == 100 + 50 - 4
    assert not any(part.overlaps(Rect(2, 2, 4, 4)) for part in parts)


@pytest.mark.parametrize(
    ("taken", "free"),
    [
        ([], [(0, 10)]),
        ([(2, 4)], [(0, 2), (4, 10)]),
        ([(0, 4), (3, 10)], []),  # overlapping
        ([(8, 12)], [(0, 8)]),  # beyond the end
    ],
)
def test_remaining(taken: list[tuple[int, int]], free: list[tuple[int, int]]) -> None:
    assert find_remaining(10, taken) == free
