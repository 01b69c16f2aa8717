"""What can be said about a way (generator 2): turns, openings, rooms and things, each true where it is said.

Each opening is one statement. It needs words that leave no other opening of the room: the kind of room behind it, a
side that no rival is on, a thing that stands by it alone, or what one sees behind it. Where nothing does, there is no
plan.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import SceneObject
from nav_eval_worlds.episodes.base import EpisodeTarget
from nav_eval_worlds.episodes.footprint import measure_footprint_distance
from nav_eval_worlds.episodes.openings import STAIRS, TO_THE_SIDE, Viewpoint, count_stairs, find_side, list_needs
from nav_eval_worlds.episodes.room_graph import Crossing, RoomGraph
from nav_eval_worlds.episodes.site import (
    AHEAD,
    ROUND,
    Site,
    compute_heading,
    name_side,
    wrap_degrees,
)
from nav_eval_worlds.episodes.way import WINDOW, Stretch, Way
from nav_eval_worlds.instructions.descriptions import Reference
from nav_eval_worlds.instructions.statements import Kind, Part, RoomPart, Statement
from nav_eval_worlds.instructions.words import can_be_called, get_noun, is_landmark

PASSED, BETWEEN, BY_THE_DOOR = 1.5, 1.1, 0.8  #: metres to a thing that one passes, goes between, that an opening is by
OTHER_DOOR = 1.6  #: metres: an opening that is farther from a thing than this is not by it
SHARP = 55.0  #: degrees of a bend that is worth a word
BESIDE = (50.0, 130.0)  #: degrees to the side of something that one passes
LONG = 2.5  #: metres in one room after which something should be said
FAR = 6.0  #: metres to a thing that one walks towards
TURNED = 45.0  #: degrees after an opening that are a turn
NEAR_IT, AROUND = 6, 16  #: samples before and behind a bend, over which the way must have turned, too,
LASTING = 18  #: and behind it for so long
FAR_ASIDE = 110.0  #: degrees to the side of a goal that one sees on entering
NARROW = 12.0  #: degrees of what is straight ahead


def find_turn(way: Way, stretch: Stretch) -> int | None:
    """The sample of the sharpest turn well inside a stretch; None where nobody would speak of a turn."""
    inner = range(stretch.first + 2 * WINDOW, stretch.last - 2 * WINDOW)
    at = max(inner, key=lambda number: abs(way.measure_turn(number)), default=None)
    if at is None or abs(way.measure_turn(at)) < SHARP:
        return None
    side = math.copysign(1.0, way.measure_turn(at))
    before = way.compute_heading(at - AROUND, at - NEAR_IT), way.compute_heading(at - WINDOW, at)
    behind = way.compute_heading(at + NEAR_IT, at + AROUND)
    comes_from = all(
        side * wrap_degrees(behind - heading) >= TURNED for heading in way.list_headings(at - LASTING, at - NEAR_IT)
    )
    return at if comes_from and all(is_turned(way, at, heading, side) for heading in before) else None


def is_turned(way: Way, at: int, heading: float, side: float) -> bool:
    """Whether the way has turned to this side (1 is left) and no jog: so it has in every half metre."""
    return all(side * wrap_degrees(own - heading) >= TURNED for own in way.list_headings(at + NEAR_IT, at + LASTING))


class RoutePlanner:
    """Finds what can be said about one way."""

    def __init__(self, site: Site, way: Way, target: EpisodeTarget, graph: RoomGraph) -> None:
        self._site, self._way, self._target, self._graph = site, way, target, graph

    def plan(self, facing: float, *, says_beginning: bool) -> list[Statement] | None:
        """Statements in their order, for somebody who faces this direction; None where the way cannot be made clear.

        Without a beginning the first opening is named as it is seen from the start, and nothing is said before it.
        """
        first, *rest = self._way.stretches
        found = [self._describe_start(facing)]
        if says_beginning:
            found += [self._describe_beginning(facing), *self._describe_stretch(first)]
        entrance: Crossing | None = None
        for before, after in zip((first, *rest), rest, strict=False):
            if self._way.changes_floor(before, after):
                stairs = self._describe_stairs(before, after)
                if stairs is None:
                    return None
                found += [stairs, *self._describe_stretch(after)]
                entrance = None
                continue
            crossing = self._graph.find(self._way.points[after.first], before.region, after.region)
            is_seen_from_start = before is first and not says_beginning
            viewpoint = (self._way.points[0], facing) if is_seen_from_start else self._approach(before, after)
            if crossing is None:
                return None
            statement = self._describe_crossing(crossing, before, after, viewpoint, entrance)
            if statement is None:
                return None
            found += [statement, *self._describe_turn_after(after), *self._describe_stretch(after)]
            entrance = crossing
        return [*found, self._describe_stop()]

    def _approach(self, before: Stretch, after: Stretch) -> Viewpoint:
        """A step before an opening, walking towards it."""
        at = max(before.first, after.first - 13)
        return self._way.points[at], self._way.compute_heading(at - 3, at + 3)

    def _describe_start(self, facing: float) -> Statement:
        """Where one is in the beginning, and what one looks at."""
        parts: dict[str, Part] = {"room": RoomPart(kind=self._way.stretches[0].region.category)}
        ahead = self._find_ahead(facing)
        if ahead is not None:
            parts["ahead"] = ahead
        return Statement(kind="start", at=self._way.points[0], heading=facing, parts=parts)

    def _describe_beginning(self, facing: float) -> Statement:
        """How one sets off."""
        turn = wrap_degrees(self._way.compute_heading(0, WINDOW) - facing)
        kind: Kind = "ahead" if abs(turn) <= AHEAD else "around" if abs(turn) >= ROUND else "turn"
        parts: dict[str, Part] = {}
        ahead = self._find_ahead(facing)
        if ahead is not None:
            parts["ahead"] = ahead
        if kind == "turn":
            parts["side"] = name_side(turn)
        return Statement(
            kind=kind,
            at=self._way.points[0],
            heading=facing,
            parts=parts,
            needs=(frozenset({"side"} if kind == "turn" else ()),),
            is_needed=True,
        )

    def _find_ahead(self, facing: float) -> Reference | None:
        """The nearest thing that one looks at when the episode starts."""
        here, region = self._way.points[0], self._way.stretches[0].region
        found = [
            (math.dist(here, thing.center), reference)
            for thing, reference in self._list_landmarks(region.region_id)
            if abs(wrap_degrees(compute_heading(here, thing.center) - facing)) <= NARROW
            and math.dist(here, thing.center) <= FAR
            and self._site.sees(here, thing)
        ]
        return min(found, key=lambda pair: pair[0], default=(0.0, None))[1]

    def _describe_crossing(
        self, crossing: Crossing, before: Stretch, after: Stretch, viewpoint: Viewpoint, entrance: Crossing | None
    ) -> Statement | None:
        """From one room into the next; None where nothing tells the opening from its rivals."""
        others = [o for o in self._graph.openings_of(before.region) if o not in (crossing, entrance)]
        rivals = [o for o in others if self._graph.kind_behind(o, before.region) == after.region.category]
        parts: dict[str, Part] = {
            "from": RoomPart(kind=before.region.category),
            "to": RoomPart(
                kind=after.region.category,
                holds=self._find_feature(after) if rivals else None,
                which=self._tell_apart(before, after),
            ),
        }
        side = find_side(viewpoint, crossing.position)
        if side is not None:
            parts["side"] = side
        if crossing.noun:
            parts["opening"] = crossing.noun
            by = self._find_by_the_door(crossing, others, before, viewpoint)
            if by is not None:
                parts["by"] = by
        needs = tuple(list_needs(parts, others=others, rivals=rivals, viewpoint=viewpoint))
        if not needs:
            return None
        at, heading = viewpoint
        return Statement(kind="cross", at=at, heading=heading, parts=parts, needs=needs, is_needed=True)

    def _tell_apart(self, before: Stretch, after: Stretch) -> Literal["", "next", "other"]:
        """Where the way has been in another room of the kind."""
        if before.region.category == after.region.category:
            return "next"
        earlier = self._way.stretches[: self._way.stretches.index(after)]
        kinds = {other.region.category for other in earlier if other.region != after.region}
        return "other" if after.region.category in kinds else ""

    def _find_feature(self, after: Stretch) -> Reference | None:
        """What tells a room from others of its kind, seen as one enters it."""
        words = self._site.around.describer.room_words(after.region)
        if words is None or words.holds is None:
            return None
        inside = self._way.points[min(after.first + 3, after.last)]
        return next(
            (
                reference
                for thing, reference in self._list_landmarks(after.region.region_id)
                if get_noun(thing) == words.holds
                and reference.description.modifiers == 0
                and self._site.sees(inside, thing)
            ),
            None,
        )

    def _find_by_the_door(
        self, crossing: Crossing, others: Sequence[Crossing], before: Stretch, viewpoint: Viewpoint
    ) -> Reference | None:
        """A thing that stands by this opening and by no other of the room."""
        x, _, z = crossing.position
        found = [
            (measure_footprint_distance(thing, x, z), reference)
            for thing, reference in self._list_landmarks(before.region.region_id)
            if measure_footprint_distance(thing, x, z) <= BY_THE_DOOR
            and all(measure_footprint_distance(thing, o.position[0], o.position[2]) > OTHER_DOOR for o in others)
            and self._site.sees(viewpoint[0], thing)
        ]
        return min(found, key=lambda pair: pair[0], default=(0.0, None))[1]

    def _describe_turn_after(self, after: Stretch) -> Iterator[Statement]:
        """A turn right behind an opening."""
        at = after.first
        if after.last - at < 2 * WINDOW:
            return
        heading = self._way.compute_heading(at - 4, at + 2)
        turn = wrap_degrees(self._way.compute_heading(at + 6, at + 18) - heading)
        if TURNED <= abs(turn) <= 180 - TURNED and is_turned(self._way, at, heading, math.copysign(1.0, turn)):
            yield Statement(
                kind="turn_after",
                at=self._way.points[at],
                heading=heading,
                parts={"side": name_side(turn), "room": RoomPart(kind=after.region.category)},
                needs=(frozenset({"side"}),),
            )

    def _describe_stairs(self, before: Stretch, after: Stretch) -> Statement | None:
        """To another floor; None where there are several stairs to take."""
        level = self._way.find_level_part(before)
        if count_stairs(self._site.around.semantics, before.region, after.region) > 1:
            return None
        kind: Kind = "up" if after.region.lower[1] > before.region.lower[1] else "down"
        return self._state(kind, level.last, is_needed=True)

    def _describe_stretch(self, stretch: Stretch) -> list[Statement]:
        """What is worth a word inside a room, in the order in which one gets there."""
        if self._way.leads_to_stairs(stretch):
            stretch = self._way.find_level_part(stretch)
        rise = self._way.points[stretch.last][1] - self._way.points[stretch.first][1]
        if abs(rise) > STAIRS:
            stairs: Kind = "up" if rise > 0 else "down"
            return [self._state(stairs, stretch.first, is_needed=True)]
        if stretch.metres < LONG:
            return []
        found = [
            *self._find_bend(stretch),
            *self._find_passed(stretch),
            *self._find_between(stretch),
            *self._find_approached(stretch),
            *self._find_passed_rooms(stretch),
            *self._find_extent(stretch),
        ]
        return [statement for _, statement in sorted(found, key=lambda pair: pair[0])]

    def _find_bend(self, stretch: Stretch) -> Iterator[tuple[int, Statement]]:
        """The sharpest turn well inside the stretch."""
        at = find_turn(self._way, stretch)
        if at is None:
            return
        parts: dict[str, Part] = {"side": name_side(self._way.measure_turn(at))}
        x, _, z = self._way.points[at]
        near = [
            (measure_footprint_distance(thing, x, z), reference)
            for thing, reference in self._list_landmarks(stretch.region.region_id)
            if measure_footprint_distance(thing, x, z) <= BETWEEN and self._site.sees(self._way.points[at], thing)
        ]
        if near:
            parts["thing"] = min(near, key=lambda pair: pair[0])[1]
        yield at, self._state("bend", at, parts, needs=frozenset({"side"}), is_needed=True, window=WINDOW)

    def _find_passed(self, stretch: Stretch) -> Iterator[tuple[int, Statement]]:
        """Things that one comes close to, plainly to one side."""
        for thing, reference in self._list_landmarks(stretch.region.region_id):
            metres = [measure_footprint_distance(thing, x, z) for x, _, z in self._way.points]
            at = self._find_beside(stretch, thing.center, metres)
            if at is not None and self._site.sees(self._way.points[at], thing):
                side = name_side(self._way.measure_bearing(at, thing.center))
                yield at, self._state("past", at, {"thing": reference, "side": side}, needs=frozenset({"thing"}))

    def _find_passed_rooms(self, stretch: Stretch) -> Iterator[tuple[int, Statement]]:
        """Openings into other rooms that one walks by."""
        visited = {other.region.category for other in self._way.stretches}
        for crossing in self._graph.openings_of(stretch.region):
            kind = self._graph.kind_behind(crossing, stretch.region)
            metres = [math.dist(point, crossing.position) for point in self._way.points]
            at = self._find_beside(stretch, crossing.position, metres)
            if kind in visited or at is None or not self._sees_opening(self._way.points[at], crossing):
                continue
            side = name_side(self._way.measure_bearing(at, crossing.position))
            parts: dict[str, Part] = {"room": RoomPart(kind=kind), "side": side}
            if crossing.noun:
                parts["opening"] = crossing.noun
            yield at, self._state("pass_room", at, parts, needs=frozenset({"room", "side"}))

    def _find_beside(self, stretch: Stretch, place: Vec3, metres: Sequence[float]) -> int | None:
        """Where one is beside something: near it, and it is neither ahead nor behind."""
        beside = [
            (metres[at], at)
            for at in range(stretch.first + WINDOW, stretch.last - WINDOW, 3)
            if BESIDE[0] <= abs(self._way.measure_bearing(at, place)) <= BESIDE[1] and metres[at] <= PASSED
        ]
        return min(beside)[1] if beside else None

    def _find_between(self, stretch: Stretch) -> Iterator[tuple[int, Statement]]:
        """Two things that one goes between."""
        inner = range(stretch.first + WINDOW, stretch.last - WINDOW, 3)
        for at in inner:
            x, _, z = here = self._way.points[at]
            near = {
                name_side(self._way.measure_bearing(at, thing.center)): reference
                for thing, reference in self._list_landmarks(stretch.region.region_id)
                if measure_footprint_distance(thing, x, z) <= BETWEEN
                and 60 <= abs(self._way.measure_bearing(at, thing.center)) <= 120
                and self._site.sees(here, thing)
            }
            if len(near) == 2:
                parts: dict[str, Part] = {"thing": near["left"], "other": near["right"]}
                yield at, self._state("between", at, parts, needs=frozenset({"thing", "other"}))
                return

    def _find_approached(self, stretch: Stretch) -> Iterator[tuple[int, Statement]]:
        """A thing ahead that the way comes close to."""
        at = stretch.first + 4
        here, heading = self._way.points[at], self._way.compute_heading(at, at + 15)
        for thing, reference in self._list_landmarks(stretch.region.region_id):
            off = abs(wrap_degrees(compute_heading(here, thing.center) - heading))
            metres = measure_footprint_distance(thing, here[0], here[2])
            later = self._way.points[at + 10 : stretch.last]
            comes_near = any(measure_footprint_distance(thing, p[0], p[2]) <= PASSED for p in later)
            if off <= 2 * NARROW and 1.5 <= metres <= FAR and comes_near and self._site.sees(here, thing):
                yield (
                    at,
                    replace(
                        self._state("toward", at, {"thing": reference}, needs=frozenset({"thing"})), heading=heading
                    ),
                )
                return

    def _find_extent(self, stretch: Stretch) -> Iterator[tuple[int, Statement]]:
        """The room as a whole."""
        kind: Kind = "along" if "hall" in stretch.region.category or "corridor" in stretch.region.category else "across"
        ends = (self._way.stretches[0].region, self._way.stretches[-1].region)
        if stretch.region not in ends:
            at = stretch.first + 1
            room = RoomPart(kind=stretch.region.category)
            yield at, self._state(kind, at, {"room": room}, needs=frozenset({"room"}))

    def _describe_stop(self) -> Statement:
        last = self._way.stretches[-1]
        at = min(last.first + 4, last.last)
        here, heading = self._way.points[at], self._way.compute_heading(at - 4, at + 4)
        thing = self._target.thing
        parts: dict[str, Part] = {"thing": self._target.reference, "room": RoomPart(kind=last.region.category)}
        bearing = wrap_degrees(compute_heading(here, thing.center) - heading)
        if TO_THE_SIDE[0] <= abs(bearing) <= FAR_ASIDE and self._site.sees(here, thing):
            parts["side"] = name_side(bearing)
        return Statement(
            kind="stop", at=here, heading=heading, parts=parts, needs=(frozenset({"thing"}),), is_needed=True
        )

    def _state(
        self,
        kind: Kind,
        at: int,
        parts: Mapping[str, Part] | None = None,
        *,
        needs: frozenset[str] = frozenset(),
        is_needed: bool = False,
        window: int = 5,
    ) -> Statement:
        heading = self._way.compute_heading(at - window, at + (window if window == 5 else 0))
        return Statement(
            kind=kind, at=self._way.points[at], heading=heading, parts=parts or {}, needs=(needs,), is_needed=is_needed
        )

    def _list_landmarks(self, region_id: str) -> Iterator[tuple[SceneObject, Reference]]:
        """Things of a room that can be named in a word or two; never what may be taken for the goal."""
        goal = self._target.thing
        for thing in self._site.around.semantics.objects:
            if thing.region != region_id or not is_landmark(thing) or can_be_called(get_noun(goal), thing):
                continue
            reference = self._site.around.describer.describe(thing)
            if reference is not None and reference.is_unique and reference.description.modifiers <= 1:
                yield thing, reference

    def _sees_opening(self, position: Vec3, crossing: Crossing) -> bool:
        """Whether an opening is seen from here, at the height of the eyes."""
        return self._site.around.visibility.is_clear(self._site.eye(position), self._site.eye(crossing.position))
