"""Referring expressions: words that lead to one thing and no other.

A description is a noun with modifiers. A thing matches it *surely* when every word is plainly true of it, and
*maybe* when a reasonable person could take it to be meant: "green" may be dark green, "the cabinet" may be the
shoe cabinet, 1.2 m away may be "next to". A description is good when it is surely true of its thing and no other
thing may be meant. The checker tries cheap modifiers first; where nothing singles the thing out, all things that
may be meant become goals, and the words say "one of".
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from nav_eval.scene.model import Region, SceneObject, Semantics
from nav_eval_worlds.instructions.words import (
    COLOURLESS,
    SHELVES,
    can_be_called,
    can_be_coloured,
    get_noun,
    is_landmark,
    is_plural,
    is_target,
    to_plural,
)

#: metres between the footprints of two things that are next to each other, surely and maybe
BESIDE, MAYBE_BESIDE = 0.6, 1.4
#: the same for something that hangs above something else
ABOVE, MAYBE_ABOVE = 0.1, 0.8
#: "one of the plates" is said of at most so many
MOST_ALIKE = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomWords:
    """A room in words."""

    kind: str
    wall_colour: str | None = None
    holds: str | None = None  #: noun of a thing that no other room of the kind has


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """What is said about a thing."""

    noun: str
    room: RoomWords | None = None
    colour: str | None = None
    shows: str | None = None  #: of a painting
    on: str | None = None  #: category of what carries it
    beside: str | None = None  #: noun of what stands next to it
    above: str | None = None  #: noun of what it hangs above

    @property
    def modifiers(self) -> int:
        return sum(getattr(self, name) is not None for name in ("colour", "shows", "on", "beside", "above"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A description and everything that it may mean."""

    description: Description
    things: tuple[SceneObject, ...]
    text: str  #: "the red vase on the dresser in the bedroom"
    short: str  #: without its room

    @property
    def is_unique(self) -> bool:
        return len(self.things) == 1


class Describer:
    """Finds words for the things of one scene."""

    def __init__(self, semantics: Semantics) -> None:
        self._things = [thing for thing in semantics.objects if is_target(thing)]
        self._regions = {region.region_id: region for region in semantics.regions}
        self._walls = {
            thing.region: thing.attributes["colour"]
            for thing in semantics.objects
            if thing.category == "wall" and thing.region and "colour" in thing.attributes
        }
        self._known: dict[int, Reference | None] = {}

    def describe(self, thing: SceneObject) -> Reference | None:
        """The cheapest good description; None where even "one of" would mean too many things."""
        if thing.object_id not in self._known:
            self._known[thing.object_id] = self._cheapest(thing)
        return self._known[thing.object_id]

    def resolve(self, description: Description) -> tuple[SceneObject, ...]:
        """Everything that may be meant."""
        return tuple(thing for thing in self._things if self.may_match(description, thing))

    def room_kind(self, region_id: str | None) -> str | None:
        region = self._regions.get(region_id or "")
        return None if region is None else region.category

    def room_words(self, region: Region) -> RoomWords | None:
        """Words that mean this room and no other; None where there are none."""
        if self.rooms_of[region.category] == 1:
            return RoomWords(kind=region.category)
        return next(self._features(region), None)

    def _cheapest(self, thing: SceneObject) -> Reference | None:
        shared: list[tuple[SceneObject, ...]] = []
        options = list(self._options(thing))
        for description in options:
            meant = self.resolve(description)
            if meant == (thing,):
                return self._reference(description, meant)
            shared.append(meant)
        alike = min(zip(shared, options, strict=True), key=lambda pair: (len(pair[0]), pair[1].modifiers))
        return self._one_of(thing, *alike)

    def _one_of(self, thing: SceneObject, meant: tuple[SceneObject, ...], description: Description) -> Reference | None:
        """Several things in one room of which any will do."""
        in_one_room = len({other.region for other in meant}) == 1 and self._names_one_room(description.room)
        alike = all(get_noun(other) == description.noun for other in meant)
        if not (thing in meant and in_one_room and alike and 1 < len(meant) <= MOST_ALIKE):
            return None
        return None if is_plural(description.noun) else self._reference(description, meant)

    def _options(self, thing: SceneObject) -> Iterator[Description]:
        """Descriptions that are surely true of the thing, the cheapest first."""
        for room in self._rooms(thing):
            plain = Description(noun=get_noun(thing), room=room)
            looks = [replace(plain, **look) for look in _list_looks(thing)]
            places = list(self._places(thing))
            yield plain
            yield from looks
            yield from (replace(plain, **place) for place in places)
            yield from (replace(look, **place) for look in looks for place in places)

    def _rooms(self, thing: SceneObject) -> Iterator[RoomWords | None]:
        region = self._regions.get(thing.region or "")
        if region is None:
            yield None
            return
        yield RoomWords(kind=region.category)
        yield from self._features(region)

    def _features(self, region: Region) -> Iterator[RoomWords]:
        """What sets a room apart from the others of its kind."""
        others = [r.region_id for r in self._regions.values() if r.category == region.category and r != region]
        if not others:
            return
        for landmark in self._large(region.region_id):
            noun = get_noun(landmark)
            if not any(can_be_called(noun, thing) for thing in self._things if thing.region in others):
                yield RoomWords(kind=region.category, holds=noun)
        colour = self._walls.get(region.region_id)
        if colour and not any(_is_similar_colour(colour, self._walls.get(other)) for other in others):
            yield RoomWords(kind=region.category, wall_colour=colour)

    def _large(self, region_id: str) -> list[SceneObject]:
        """Things that one notices on entering, the largest first."""
        found = [thing for thing in self._things if thing.region == region_id and is_landmark(thing)]
        return sorted(found, key=lambda thing: -thing.size[0] * thing.size[1] * thing.size[2])

    def _places(self, thing: SceneObject) -> Iterator[dict[str, Any]]:
        if "on" in thing.attributes and self._lies_on(thing):
            yield {"on": thing.attributes["on"]}
        nouns = [get_noun(other) for other in self._large(thing.region or "") if other is not thing]
        for noun in dict.fromkeys(nouns):
            if noun == get_noun(thing):
                continue
            if self._is_beside(thing, noun, BESIDE, sure=True):
                yield {"beside": noun}
            if self._is_above(thing, noun, ABOVE, sure=True):
                yield {"above": noun}

    def may_match(self, description: Description, thing: SceneObject) -> bool:
        """Whether a reasonable person could take this thing to be meant."""
        return (
            can_be_called(description.noun, thing)
            and (description.colour is None or can_be_coloured(description.colour, thing))
            and (description.shows is None or thing.attributes.get("shows", description.shows) == description.shows)
            and (description.on is None or thing.attributes.get("on") == description.on)
            and (description.beside is None or self._is_beside(thing, description.beside, MAYBE_BESIDE, sure=False))
            and (description.above is None or self._is_above(thing, description.above, MAYBE_ABOVE, sure=False))
            and (description.room is None or self._may_be_in(description.room, thing))
        )

    def _may_be_in(self, words: RoomWords, thing: SceneObject) -> bool:
        region = self._regions.get(thing.region or "")
        if region is None or region.category != words.kind:
            return region is None
        if words.holds is not None and not any(
            can_be_called(words.holds, other) for other in self._things if other.region == thing.region
        ):
            return False
        return words.wall_colour is None or _is_similar_colour(words.wall_colour, self._walls.get(region.region_id))

    def _is_beside(self, thing: SceneObject, noun: str, metres: float, *, sure: bool) -> bool:
        """Both stand on the floor; what lies on something is described by that."""
        if sure and (not self._stands(thing)):
            return False
        return any(
            other is not thing
            and other.region == thing.region
            and (get_noun(other) == noun if sure else can_be_called(noun, other))
            and (not sure or self._stands(other))
            and measure_gap(thing, other) <= metres
            for other in self._things
        )

    def _is_above(self, thing: SceneObject, noun: str, metres: float, *, sure: bool) -> bool:
        slack = 0.0 if sure else 0.3
        return any(
            other.region == thing.region
            and (get_noun(other) == noun if sure else can_be_called(noun, other))
            and (not sure or self._stands(other))
            and get_bottom(thing) >= get_top(other) - slack
            and measure_gap(thing, other) <= metres
            for other in self._things
            if other is not thing and "on" not in thing.attributes
        )

    def _stands(self, thing: SceneObject) -> bool:
        region = self._regions.get(thing.region or "")
        return region is not None and get_bottom(thing) < region.lower[1] + 0.15 and "on" not in thing.attributes

    def _lies_on(self, thing: SceneObject) -> bool:
        """Not below it, as shoes are below a bench."""
        category = thing.attributes["on"]
        carriers = [other for other in self._things if other.region == thing.region and other.category == category]
        if not carriers or category in SHELVES:
            return bool(carriers)
        carrier = min(carriers, key=lambda other: (measure_gap(thing, other), other.object_id))
        return get_bottom(thing) - get_bottom(carrier) > 0.5 * carrier.size[1]

    def _reference(self, description: Description, things: tuple[SceneObject, ...]) -> Reference:
        one = len(things) == 1
        short = _format_words(description, unique=one)
        room = "" if description.room is None else f" in {self.room_name(description.room)}"
        return Reference(description=description, things=things, text=short + room, short=short)

    def room_name(self, words: RoomWords) -> str:
        """`the kitchen`, `one of the bedrooms`, `the bedroom with the piano`."""
        if words.holds is not None:
            return f"the {words.kind} with the {words.holds}"
        if words.wall_colour is not None:
            return f"the {words.kind} with the {words.wall_colour} walls"
        if self.rooms_of[words.kind] > 1:
            return f"one of the {to_plural(words.kind)}"
        return f"the {words.kind}"

    def _names_one_room(self, words: RoomWords | None) -> bool:
        return words is None or bool(words.holds or words.wall_colour) or self.rooms_of[words.kind] == 1

    @cached_property
    def rooms_of(self) -> dict[str, int]:
        """How many rooms there are of each kind."""
        kinds = [region.category for region in self._regions.values()]
        return {kind: kinds.count(kind) for kind in kinds}


def measure_gap(one: SceneObject, other: SceneObject) -> float:
    """Metres between two footprints; 0 where they meet."""
    x = max(0.0, abs(one.center[0] - other.center[0]) - (one.size[0] + other.size[0]) / 2)
    z = max(0.0, abs(one.center[2] - other.center[2]) - (one.size[2] + other.size[2]) / 2)
    return float((x * x + z * z) ** 0.5)


def get_bottom(thing: SceneObject) -> float:
    return thing.center[1] - thing.size[1] / 2


def get_top(thing: SceneObject) -> float:
    return thing.center[1] + thing.size[1] / 2


def _list_looks(thing: SceneObject) -> list[dict[str, Any]]:
    if "shows" in thing.attributes:
        return [{"shows": thing.attributes["shows"]}]
    if "colour" not in thing.attributes or {thing.category, get_noun(thing)} & COLOURLESS:
        return []
    return [{"colour": thing.attributes["colour"]}]


def _is_similar_colour(colour: str, other: str | None) -> bool:
    """Shades of one colour are no help to tell walls apart."""
    return other is not None and colour.rsplit(maxsplit=1)[-1] == other.rsplit(maxsplit=1)[-1]


def _format_words(description: Description, *, unique: bool) -> str:
    noun = f"{description.colour} {description.noun}" if description.colour else description.noun
    plural = noun.removesuffix(description.noun) + to_plural(description.noun)
    words = f"the {noun}" if unique else f"one of the {plural}"
    if description.shows:
        words += f" of {description.shows}"
    for relation, other in (("on", description.on), ("next to", description.beside), ("above", description.above)):
        if other:
            words += f" {relation} the {other}"
    return words
