"""Openings and stairs as somebody sees them on the way: on which side they are, and which words leave one of them."""

import math
from collections.abc import Iterator, Mapping, Sequence

from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Region, Semantics
from nav_eval_worlds.episodes.room_graph import Crossing
from nav_eval_worlds.episodes.site import compute_heading, name_side, wrap_degrees
from nav_eval_worlds.instructions.statements import Part, RoomPart

TO_THE_SIDE = (35.0, 135.0)  #: degrees to the side of an opening
STAIRS = 1.0  #: metres of height
STAIRS_NAMES = ("stairs", "staircase")

Viewpoint = tuple[Vec3, float]  #: where one is, and the direction that one looks in


def count_stairs(semantics: Semantics, *regions: Region) -> int:
    """How many stairs there are between two floors, as far as the annotation says."""
    rooms = {region.region_id for region in regions}
    low, high = sorted(region.lower[1] for region in regions)
    return sum(
        thing.category in STAIRS_NAMES
        and thing.region in rooms
        and thing.center[1] - thing.size[1] / 2 < low + STAIRS
        and thing.center[1] + thing.size[1] / 2 > high - STAIRS
        for thing in semantics.objects
    )


def find_side(viewpoint: Viewpoint, place: Vec3) -> str | None:
    """On which side an opening is; None where it is ahead, behind, or too near to say."""
    position, heading = viewpoint
    bearing = wrap_degrees(compute_heading(position, place) - heading)
    is_aside = TO_THE_SIDE[0] <= abs(bearing) <= TO_THE_SIDE[1] and math.dist(position, place) > 0.5
    return name_side(bearing) if is_aside else None


def list_needs(
    parts: Mapping[str, Part], *, others: Sequence[Crossing], rivals: Sequence[Crossing], viewpoint: Viewpoint
) -> Iterator[frozenset[str]]:
    """Sets of parts each of which leaves one opening."""
    if not others:
        yield frozenset()
    room = parts["to"]
    if not rivals or (isinstance(room, RoomPart) and room.holds is not None):
        yield frozenset({"to"})
    elif "side" in parts and all(is_elsewhere(viewpoint, rival.position, str(parts["side"])) for rival in rivals):
        yield frozenset({"to", "side"})
    if "by" in parts:
        yield frozenset({"opening", "by"})


def is_elsewhere(viewpoint: Viewpoint, place: Vec3, side: str) -> bool:
    """Whether nobody would say that a place is on this side."""
    bearing = wrap_degrees(compute_heading(viewpoint[0], place) - viewpoint[1])
    return abs(bearing) < TO_THE_SIDE[0] / 2 or abs(bearing) > 160 or name_side(bearing) != side
