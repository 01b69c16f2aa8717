"""Saying which thing is meant so that only that thing is meant.

A description is checked against everything in the house: words are added, cheapest first, until exactly one
thing fits. Where several identical things stand in one room (the chairs around a table), all of them count
and the text says "a chair".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nav_eval.scene.model import Region, SceneObject
from nav_eval.simulator.episode_generation.sites import BUILDING, Site

MOST_ALIKE = 6  #: identical things in one room that may all count
_WITHOUT_COLOUR = frozenset({"painting", "picture", "books", "mirror", "tv", "computer monitor", "clock"})


@dataclass(frozen=True, slots=True)
class Reference:
    """A phrase and what it means."""

    text: str  #: "the red sofa in the living room"
    things: tuple[SceneObject, ...]  #: all that fit the phrase

    @property
    def category(self) -> str:
        return self.things[0].category


@dataclass(frozen=True, slots=True)
class _Words:
    """What a phrase says; None says nothing."""

    noun: str
    quality: str | None = None  #: colour, or what a picture shows
    on: str | None = None
    room: "_RoomWords | None" = None

    def fit(self, item: SceneObject, site: Site) -> bool:
        return (
            self.noun in (item.category, item.name)
            and self.quality in (None, quality(item))
            and self.on in (None, item.attributes.get("on"))
            and (self.room is None or (item.region is not None and self.room.fit(item.region, site)))
        )

    def text(self, article: str) -> str:
        colour = f"{self.quality} " if self.quality and not _is_picture(self.noun) else ""
        shows = f" of {self.quality}" if self.quality and _is_picture(self.noun) else ""
        on = f" on the {self.on}" if self.on else ""
        phrase = f"{colour}{self.noun}{shows}{on}"
        article = "an" if article == "a" and phrase[0] in "aeiou" else article
        return f"{article} {phrase}" + (f" in {self.room.text}" if self.room else "")


@dataclass(frozen=True, slots=True)
class _RoomWords:
    """A room by its kind, and by something in it where there are several of that kind."""

    kind: str
    landmark: SceneObject | None = None

    @property
    def text(self) -> str:
        if self.landmark is None:
            return f"the {self.kind}"
        return f"the {self.kind} with the {quality(self.landmark)} {noun(self.landmark)}"

    def fit(self, region_id: str, site: Site) -> bool:
        region = site.region_of.get(region_id)
        if region is None or region.category != self.kind:
            return False
        return self.landmark is None or any(_alike(self.landmark, item) for item in site.by_region[region_id])


def noun(item: SceneObject) -> str:
    return item.name or item.category


def quality(item: SceneObject) -> str | None:
    """What tells a thing from others of its kind: what a picture shows, otherwise its colour."""
    if _is_picture(item.category):
        return item.attributes.get("shows")
    return None if item.category in _WITHOUT_COLOUR else item.attributes.get("colour")


def refer(site: Site, item: SceneObject, *, within: Region | None = None) -> Reference | None:
    """The shortest phrase for the thing; None when no phrase singles it out.

    `within` is a room that the reader is already in: then only things there can be mistaken for it, and the
    room is not said.
    """
    pool = site.by_region[within.region_id] if within else site.objects
    for words in _phrases(site, item, say_room=within is None):
        fitting = [other for other in pool if other.category not in BUILDING and words.fit(other, site)]
        if len(fitting) == 1:
            return Reference(words.text("the"), (item,))
        if _interchangeable(fitting):
            return Reference(words.text("a"), tuple(fitting))
    return None


def room_phrase(site: Site, region: Region) -> str | None:
    """The shortest phrase for a room; None when it cannot be told from the others."""
    for words in _room_words(site, region):
        if sum(words.fit(other.region_id, site) for other in site.regions) == 1:
            return words.text
    return None


def _phrases(site: Site, item: SceneObject, *, say_room: bool) -> Iterator[_Words]:
    region = site.region_of.get(item.region or "")
    rooms: Sequence[_RoomWords | None] = list(_room_words(site, region)) if say_room and region else [None]
    on = item.attributes.get("on")
    for room in rooms:
        for said_quality, said_on in ((None, None), (quality(item), None), (None, on), (quality(item), on)):
            yield _Words(noun(item), said_quality, said_on, room)


def _room_words(site: Site, region: Region) -> Iterator[_RoomWords]:
    yield _RoomWords(region.category)
    rivals = [r for r in site.regions if r.category == region.category and r.region_id != region.region_id]
    if not rivals:
        return
    elsewhere = [item for rival in rivals for item in site.by_region[rival.region_id]]
    for item in site.by_region[region.region_id]:
        large = max(item.size) > 0.5 and item.category not in BUILDING and quality(item) and not _is_picture(item.category)
        if large and not any(_alike(item, other) for other in elsewhere):
            yield _RoomWords(region.category, item)


def _alike(one: SceneObject, other: SceneObject) -> bool:
    return noun(one) in (other.category, other.name) and quality(one) == quality(other)


def _interchangeable(things: Sequence[SceneObject]) -> bool:
    """Several things that nobody would tell apart: same room, same words."""
    if not 2 <= len(things) <= MOST_ALIKE:
        return False
    return len({(item.region, noun(item), quality(item), item.attributes.get("on")) for item in things}) == 1


def _is_picture(word: str) -> bool:
    return word in ("painting", "picture")
