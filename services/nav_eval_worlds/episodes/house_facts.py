"""What can be asked about one house: facts that are plain to see, each with what shows it.

A fact is kept only if a person who stands there could not answer otherwise: nothing else might be called by the same
word, colours are named where they are plain, "next to" leaves a gap between near and far. Everything that shows it
is seen from walkable ground; where nothing shows it (there is no piano), one can stand in the room and look.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Region, SceneObject
from nav_eval_worlds.episodes.site import NearbyPlace, Site, spread_out
from nav_eval_worlds.instructions.descriptions import BESIDE, MAYBE_BESIDE, measure_gap
from nav_eval_worlds.instructions.words import COLOURLESS, can_be_called, get_noun, is_plural, is_target

LEAST_SIZE = 0.15  #: metres; nobody is asked about smaller things
LARGEST_COUNT = 5
MOST_GOALS = 24  #: places of one question
ROOM_SPACING = 0.75  #: metres between places from which one looks around a room


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """Something true of a house that can be asked."""

    kind: str  #: existence, count, colour, place, room or relation
    words: tuple[str, ...]  #: what the question speaks of; the same in every house
    answer: str
    scene: str
    region: str  #: where one has to look
    evidence: tuple[int, ...]  #: ids of the things that show it; none where the absence of things does


class HouseSurvey:
    """Finds the facts of one house."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._scene = site.around.scene_id
        self._things = [thing for thing in site.around.semantics.objects if is_target(thing)]
        rooms = site.around.semantics.regions
        kinds = [region.category for region in rooms]
        #: rooms that their kind alone names
        self._rooms = [region for region in rooms if kinds.count(region.category) == 1]
        self._kinds = {region.region_id: region.category for region in rooms}

    def find_facts(self, nouns: Iterable[tuple[str, str]]) -> list[Fact]:
        """Everything that can be asked; `nouns` with kinds of rooms, to be asked for where there is none, too."""
        found = [*self._describe_single_things()]
        for region in self._rooms:
            if self.list_room_places(region):
                found += self._describe_room(region, sorted(noun for noun, kind in nouns if kind == region.category))
        return found

    def list_nouns(self) -> set[tuple[str, str]]:
        """What there is, by kind of room."""
        return {
            (get_noun(thing), self._kinds[thing.region])
            for thing in self._things
            if thing.region in self._kinds and _is_askable(thing)
        }

    def list_goals(self, fact: Fact) -> tuple[Vec3, ...]:
        """Places from which the answer is seen."""
        shown = [thing for thing in self._things if thing.object_id in fact.evidence]
        if shown:
            return tuple(place for thing in shown for place in self._site.places_beside(thing))[:MOST_GOALS]
        return self.list_room_places(self._site.around.regions[fact.region])

    def list_room_places(self, region: Region) -> tuple[Vec3, ...]:
        """Where one can stand in a room."""
        places, ground = [], self._site.ground
        for i in range(1, math.ceil((region.upper[0] - region.lower[0]) / ROOM_SPACING)):
            for j in range(1, math.ceil((region.upper[2] - region.lower[2]) / ROOM_SPACING)):
                point = (region.lower[0] + i * ROOM_SPACING, region.lower[1], region.lower[2] + j * ROOM_SPACING)
                if region.contains(point) and ground.is_navigable(point) and ground.island(point) == 0:
                    places.append(NearbyPlace(0.0, point))
        return spread_out(places)[:MOST_GOALS]

    def _describe_room(self, region: Region, nouns: Iterable[str]) -> Iterator[Fact]:
        inside = [thing for thing in self._things if thing.region == region.region_id]
        single = []
        for noun in nouns:
            meant = [thing for thing in inside if can_be_called(noun, thing)]
            sure = all(get_noun(thing) == noun and _is_askable(thing) for thing in meant)
            if not sure or not all(map(self._is_seen, meant)):
                continue
            yield self._make("existence", (noun, region.category), "yes" if meant else "no", region, meant)
            if 1 <= len(meant) <= LARGEST_COUNT and not is_plural(noun):
                yield self._make("count", (noun, region.category), str(len(meant)), region, meant)
            if len(meant) == 1 and not is_plural(noun):
                single.append(meant[0])
        yield from self._relate(single, region)

    def _relate(self, single: Iterable[SceneObject], region: Region) -> Iterator[Fact]:
        """Next to each other, or plainly not."""
        standing = [thing for thing in single if _is_standing(thing, region)]
        for one, other in combinations(standing, 2):  # in the order of their names, so that nothing is asked twice
            gap = measure_gap(one, other)
            if not BESIDE < gap <= MAYBE_BESIDE:
                words = (get_noun(one), get_noun(other), region.category)
                yield self._make("relation", words, "yes" if gap <= BESIDE else "no", region, [one, other])

    def _describe_single_things(self) -> Iterator[Fact]:
        """Colour, place and room of things that there is one of in the house."""
        for thing in self._things:
            noun, region = get_noun(thing), self._site.around.regions.get(thing.region or "")
            alone = [other for other in self._things if can_be_called(noun, other)] == [thing]
            if region is None or not alone or not _is_askable(thing) or is_plural(noun) or not self._is_seen(thing):
                continue
            yield self._make("room", (noun,), region.category, region, [thing])
            if "colour" in thing.attributes and not {thing.category, noun} & COLOURLESS:
                yield self._make("colour", (noun,), thing.attributes["colour"], region, [thing])
            if "on" in thing.attributes:
                yield self._make("place", (noun,), thing.attributes["on"], region, [thing])

    def _is_seen(self, thing: SceneObject) -> bool:
        return bool(self._site.places_beside(thing))

    def _make(
        self, kind: str, words: tuple[str, ...], answer: str, region: Region, shown: Iterable[SceneObject]
    ) -> Fact:
        return Fact(
            kind=kind,
            words=words,
            answer=answer,
            scene=self._scene,
            region=region.region_id,
            evidence=tuple(thing.object_id for thing in shown),
        )


def _is_askable(thing: SceneObject) -> bool:
    return max(thing.size) >= LEAST_SIZE


def _is_standing(thing: SceneObject, region: Region) -> bool:
    return thing.center[1] - thing.size[1] / 2 < region.lower[1] + 0.15 and "on" not in thing.attributes
