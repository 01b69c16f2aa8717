"""Stairs with a half landing: up along one side of the well, back along the other.

Steps are solid down to the floor. The two flights have equal numbers of equal risers, so the last step
ends exactly at the edge of the upper hallway.
"""

from nav_eval.scene.houses.finishes import finish
from nav_eval.scene.houses.fixtures import Fixture
from nav_eval.scene.houses.furniture.piece import BODY, parts
from nav_eval.scene.houses.plan.geometry import Rect
from nav_eval.scene.houses.plan.model import HALF_WALL, STAIR_EDGE, Plan, Stairs
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import Mesh, rod
from nav_eval.scene.houses.shell import block

TREAD = 260
MIDDLE = 100  #: width of the wall between the flights
RAIL = 900  #: height of hand rails


def staircase(plan: Plan, draw: Draw) -> list[Fixture]:
    """The stairs of a house with two storeys."""
    stairs = plan.stairs
    if stairs is None:
        return []
    flights = _flights(stairs, plan.storey_height)
    rails = _rails(stairs, plan.storey_height)
    # under the rim of the upper floor, so that no seam is left
    edge = block(_place(stairs, (0, _width(stairs)), (-20, STAIR_EDGE)), plan.ceiling, plan.storey_height - 2)
    tread = finish("planks", draw.fork("steps"), ("light brown", "brown", "dark brown"), ("planks",))
    finishes = {
        BODY: tread,
        "rails": finish("wood", draw.fork("rails")),
        "edge": finish("trim", draw.fork("edge"), ("white",)),
    }
    made = (*parts(BODY, *flights), *parts("rails", *rails), *parts("edge", edge))
    return [Fixture(category="stairs", room=stairs.lower_room, parts=made, finishes=finishes)]


def _flights(stairs: Stairs, storey: int) -> list[Mesh]:
    half, width = stairs.risers // 2, _width(stairs)
    flight = (width - MIDDLE) // 2
    landing = STAIR_EDGE + (half - 1) * TREAD
    steps = []
    for n in range(1, half):
        near, far = STAIR_EDGE + (n - 1) * TREAD, STAIR_EDGE + n * TREAD
        steps.append(block(_place(stairs, (0, flight), (near, far)), 0, storey * n // stairs.risers))
        back = (landing - n * TREAD, landing - (n - 1) * TREAD)
        rise = storey * (half + n) // stairs.risers
        steps.append(block(_place(stairs, (flight, width), back), 0, rise))
    steps.append(block(_place(stairs, (0, width), (landing, _depth(stairs))), 0, storey // 2))
    return steps


def _rails(stairs: Stairs, storey: int) -> list[Mesh]:
    """A sloped rail on the middle wall, a level one at the upper edge."""
    half, width = stairs.risers // 2, _width(stairs)
    flight = (width - MIDDLE) // 2
    middle, landing = flight + MIDDLE // 2, STAIR_EDGE + (half - 1) * TREAD
    bars = [(middle, landing, storey // 2 + RAIL, middle, STAIR_EDGE, storey + RAIL)]
    bars += [(20, 25, storey + RAIL, middle, 25, storey + RAIL)]
    for n in range(0, half, 2):
        depth = landing - n * TREAD
        bars.append(
            (
                middle,
                depth,
                storey * (half + n) // stairs.risers,
                middle,
                depth,
                storey * (half + n) // stairs.risers + RAIL,
            )
        )
    bars += [(x, 25, storey, x, 25, storey + RAIL) for x in range(60, middle, 130)]
    return [_bar(stairs, bar) for bar in bars]


def _bar(stairs: Stairs, bar: tuple[int, int, int, int, int, int]) -> Mesh:
    ends = []
    for side, depth, y in (bar[:3], bar[3:]):
        rect = _place(stairs, (side, side), (depth, depth))
        ends.append((rect.x0 / 1000, y / 1000, rect.z0 / 1000))
    level = bar[2] == bar[5] or bar[:2] != bar[3:5]
    return rod(ends[0], ends[1], 0.028 if level else 0.014)


def _width(stairs: Stairs) -> int:
    well = stairs.flight
    return (well.width if stairs.climbs[1] else well.depth) - 2 * HALF_WALL


def _depth(stairs: Stairs) -> int:
    well = stairs.flight
    return (well.depth if stairs.climbs[1] else well.width) - HALF_WALL


def _place(stairs: Stairs, side: tuple[int, int], depth: tuple[int, int]) -> Rect:
    """From (across the well, away from the hallway) to the plan."""
    well, (dx, dz) = stairs.flight, stairs.climbs
    if dz:
        z = [well.z0 + d if dz > 0 else well.z1 - d for d in depth]
        return Rect(well.x0 + HALF_WALL + side[0], min(z), well.x0 + HALF_WALL + side[1], max(z))
    x = [well.x0 + d if dx > 0 else well.x1 - d for d in depth]
    return Rect(min(x), well.z0 + HALF_WALL + side[0], max(x), well.z0 + HALF_WALL + side[1])
