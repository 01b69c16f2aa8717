"""Whether the map and the pictures support what an instruction states (generator 2).

Each statement was stored with the words that make it. Here it is looked at again, from the scene and the way alone:
what is named is seen from where it is named and nothing else may be meant, it is on the side that is said, turns turn
that way, and of all openings of a room the words leave the one that the way takes.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from nav_eval.dataset.episode import Episode
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Region, SceneObject
from nav_eval_worlds.episodes.footprint import measure_footprint_distance
from nav_eval_worlds.episodes.openings import count_stairs
from nav_eval_worlds.episodes.room_graph import Crossing
from nav_eval_worlds.episodes.site import Site, compute_heading, sample_path, wrap_degrees
from nav_eval_worlds.episodes.way import SPACING, Way
from nav_eval_worlds.instructions.descriptions import Description, RoomWords
from nav_eval_worlds.instructions.paraphrases import ORIGINAL, find_changes

ON_THE_WAY = 0.3  #: metres from a statement to the way
ASIDE = (20.0, 160.0)  #: degrees at which somebody may say "on your left"
TURNS = 30.0  #: degrees that may be called a turn
LASTING = 15  #: samples over which a turn must hold
BY = 1.6  #: metres from an opening at which something may be called "by" it
NEAR = 2.5  #: metres to an opening that one passes

STAIRS_LENGTH, STEPS = 100, 1.0  #: samples of the way within which stairs are climbed, metres that are a flight

Record = Mapping[str, Any]


def find_false_statements(site: Site, episode: Episode) -> list[str]:
    """What is wrong with the statements of a generated episode, a sentence each; empty when all hold."""
    if episode.subtasks:
        return [f"{episode.episode_id}: {problem}" for problem in _find_wrong_floors(site, episode)]
    checker = _Checker(site, episode)
    said_again = [f"{episode.episode_id}: its paraphrase is wrong: {problem}" for problem in checker.find_changes()]
    return said_again + [
        f'{episode.episode_id}: "{record["words"]}": {problem}'
        for number, record in enumerate(episode.private.info.get("statements", ()))
        for problem in checker.check(number, record)
    ]


def _find_wrong_floors(site: Site, episode: Episode) -> Iterator[str]:
    """Whether an errand says of each target how its floor is reached, and in that order."""
    shown = "" if episode.instruction is None else episode.instruction.text
    text, place = str(episode.private.info.get(ORIGINAL, shown)), episode.private.start.position
    if episode.instruction is not None:
        yield from find_changes(text, shown, language=episode.instruction.language or "en")
    if "statements" not in episode.private.info:  # of the first generator, which does not speak of floors
        return
    records = {record["leg"]: record for record in episode.private.info["statements"]}
    read = 0
    for leg, subtask in enumerate(episode.subtasks):
        goals = [goal.position for goal in subtask.goals]
        field = site.ground.distance_field([place])
        goal = min(goals, key=field.distance)
        flights = Way(site, sample_path(site.ground.shortest_path(place, goal), spacing=SPACING)).list_flights()
        rise = sum(1 if after.region.lower[1] > before.region.lower[1] else -1 for before, after in flights)
        record, place = records.get(leg), goal
        said = 0 if record is None else record["flights"] * (1 if record["kind"] == "up" else -1)
        if said != rise:
            yield f"the way to target {leg + 1} leads {rise} floors up, the text says {said}"
        if record is None:
            continue
        at = text.lower().find(str(record["words"]).lower(), read)
        if at < 0:
            yield f"the text does not say {record['words']!r} where it should"
        read = max(at, read)
        stairs = (count_stairs(site.around.semantics, before.region, after.region) for before, after in flights)
        if "the stairs" in record["words"] and max(stairs, default=0) > 1:
            yield f"{record['words']!r}: there are several stairs"


class _Checker:
    def __init__(self, site: Site, episode: Episode) -> None:
        self._site = site
        self._told = episode.instruction
        shown = "" if self._told is None else self._told.text
        self._original = str(episode.private.info.get(ORIGINAL, shown))
        self._text = self._original.lower()
        start, goal = episode.private.start.position, episode.private.goals[0].position
        self._way = Way(site, sample_path(site.ground.shortest_path(start, goal), spacing=SPACING))
        self._things = {thing.object_id: thing for thing in site.around.semantics.objects}

    def find_changes(self) -> list[str]:
        """What a paraphrase states otherwise than the text that the statements are of."""
        if self._told is None:
            return []
        return find_changes(self._original, self._told.text, language=self._told.language or "en")

    def check(self, number: int, record: Record) -> Iterator[str]:
        at = (float(record["at"][0]), float(record["at"][1]), float(record["at"][2]))
        heading = float(record["heading"])
        if str(record["words"]).lower() not in self._text:
            yield "the text does not say it"
        if min(math.dist(at, point) for point in self._way.points) > ON_THE_WAY:
            yield "it is not said on the way"
        for part in ("thing", "other", "by", "ahead"):
            if part in record:
                yield from self._check_thing(record[part], at, sees=record["kind"] != "stop")
        side = record.get("side")
        if record["kind"] in ("turn", "around", "bend", "turn_after"):
            yield from self._check_turn(record, at, heading)
        elif record["kind"] == "cross":
            yield from self._check_crossing(record, at, heading)
        elif record["kind"] in ("up", "down"):
            yield from self._check_stairs(record, at)
        elif record["kind"] == "pass_room":
            yield from self._check_passed_room(record, at, heading)
        elif side is not None and not is_on_side(at, heading, self._things[record["thing"]["object_id"]].center, side):
            yield f"it is not on the {side}"

    def _check_thing(self, named: Record, at: Vec3, *, sees: bool) -> Iterator[str]:
        thing = self._things.get(named["object_id"])
        if thing is None:
            yield f"there is no object {named['object_id']}"
            return
        words = {key: value for key, value in named.items() if key != "object_id"}
        region = self._site.around.regions.get(thing.region or "")
        room = None if region is None else RoomWords(kind=region.category)
        meant = self._site.around.describer.resolve(Description(room=room, **words))
        alike = [other for other in meant if other.region == thing.region]
        if alike != [thing]:
            yield f"{len(alike)} things of the room may be meant"
        if sees and not self._site.sees(at, thing):
            yield f"the {named['noun']} is not seen from there"

    def _check_turn(self, record: Record, at: Vec3, heading: float) -> Iterator[str]:
        place = min(range(len(self._way.points)), key=lambda n: math.dist(self._way.points[n], at))
        offset = 0 if record["kind"] in ("turn", "around") else 6
        turn = wrap_degrees(self._way.compute_heading(place + offset, place + offset + 10) - heading)
        if record["kind"] == "around":
            if abs(turn) < 180 - TURNS - ASIDE[0]:
                yield f"the way turns by {turn:.0f}° only"
        elif (turn > 0) != (record["side"] == "left") or abs(turn) < TURNS:
            yield f"the way turns by {turn:.0f}° to the left"
        elif offset:
            sign = 1 if record["side"] == "left" else -1
            later = [wrap_degrees(own - heading) for own in self._way.list_headings(place + offset, place + LASTING)]
            if min(sign * own for own in later) < TURNS:
                yield "the way takes the turn back at once"

    def _check_crossing(self, record: Record, at: Vec3, heading: float) -> Iterator[str]:
        rooms = [stretch.region for stretch in self._way.stretches]
        taken = self._find_taken(at)
        if taken is None:
            yield "the way leads into no other room there"
            return
        number, crossing = taken
        before = self._find_used(number - 1) if number else None
        left = [
            other
            for other in self._site.around.rooms.openings_of(rooms[number])
            if other != before and self._may_be_meant(other, record, rooms[number], at, heading)
        ]
        if left != [crossing]:
            yield f"{len(left)} openings of the {rooms[number].category} may be meant"

    def _check_stairs(self, record: Record, at: Vec3) -> Iterator[str]:
        """From where it is said, the way must lead there before it leads through another opening."""
        place = min(range(len(self._way.points)), key=lambda n: math.dist(self._way.points[n], at))
        pairs = zip(self._way.stretches, self._way.stretches[1:], strict=False)
        taken = next(((before, after) for before, after in pairs if place <= before.last), None)
        ahead = self._way.points[place : place + STAIRS_LENGTH]
        rise = max((point[1] - at[1] for point in ahead), key=abs)
        if abs(rise) < STEPS or (rise > 0) != (record["kind"] == "up"):
            yield f"the way leads {rise:.1f} m up from there"
        if taken is not None and count_stairs(self._site.around.semantics, *(one.region for one in taken)) > 1:
            yield "there are several stairs"

    def _find_taken(self, at: Vec3) -> tuple[int, Crossing] | None:
        """The next opening that the way goes through, and which of them it is."""
        place = min(range(len(self._way.points)), key=lambda n: math.dist(self._way.points[n], at))
        for number, stretch in enumerate(self._way.stretches[:-1]):
            if place <= stretch.last or number == len(self._way.stretches) - 2:
                crossing = self._find_used(number)
                return None if crossing is None else (number, crossing)
        return None

    def _find_used(self, number: int) -> Crossing | None:
        before, after = self._way.stretches[number], self._way.stretches[number + 1]
        return self._site.around.rooms.find(self._way.points[after.first], before.region, after.region)

    def _may_be_meant(self, crossing: Crossing, record: Record, room: Region, at: Vec3, heading: float) -> bool:
        to, behind = record.get("to"), crossing.leads_to(room)
        if to is not None:
            if self._site.around.rooms.kind_behind(crossing, room) != to["room"]:
                return False
            if "holds" in to and not any(
                thing.region == behind for thing in self._list_called(str(to["holds"]["noun"]))
            ):
                return False
        if "side" in record and not is_on_side(at, heading, crossing.position, record["side"]):
            return False
        if "by" in record:
            thing = self._things[record["by"]["object_id"]]
            return measure_footprint_distance(thing, crossing.position[0], crossing.position[2]) <= BY
        return True

    def _list_called(self, noun: str) -> list[SceneObject]:
        return list(self._site.around.describer.resolve(Description(noun=noun)))

    def _check_passed_room(self, record: Record, at: Vec3, heading: float) -> Iterator[str]:
        room = self._site.around.region_at(at)
        near = [
            crossing
            for crossing in ([] if room is None else self._site.around.rooms.openings_of(room))
            if room is not None
            and self._site.around.rooms.kind_behind(crossing, room) == record["room"]["room"]
            and math.dist(crossing.position, at) <= NEAR
            and is_on_side(at, heading, crossing.position, record["side"])
        ]
        if not near:
            yield f"no {record['room']['room']} is on the {record['side']}"


def is_on_side(at: Vec3, heading: float, place: Vec3, side: str) -> bool:
    """Whether somebody may say that a place is on this side."""
    bearing = wrap_degrees(compute_heading(at, place) - heading)
    return (bearing > 0) == (side == "left") and ASIDE[0] <= abs(bearing) <= ASIDE[1]
