"""Route instructions: what somebody would say who knows the way.

The path is cut where it goes from one room into another. At each border the turn is measured and the door named;
in between, sharp bends, stairs and things that one passes within reach are mentioned, on the side they are really on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nav_eval.dataset.episode import Vec3
from nav_eval.scene.model import Region, SceneObject
from nav_eval.simulator.episode_generation.bearings import AHEAD, ROUND, heading, side, wrapped
from nav_eval.simulator.episode_generation.phrases import Phrases
from nav_eval.simulator.episode_generation.site import Site
from nav_eval.simulator.episode_generation.standing import outside
from nav_eval.simulator.episode_generation.targets import Target
from nav_eval.simulator.episode_generation.words import is_landmark, listed, noun_of, sentence

SPACING = 0.1  #: metres between samples of the path
WINDOW = 10  #: samples over which a direction is measured
GRAZED = 0.7  #: metres; rooms that the way only grazes are not worth a word
PASSED = 1.5  #: metres to a thing that one passes
SHARP = 55.0  #: degrees of a bend that is worth a word
LONG = 3.0  #: metres in one room after which something should be said
STAIRS = 1.0  #: metres of height
DOOR = 0.9  #: metres from a door to where the way goes through it
OPENINGS = {"door": "door", "doorway": "doorway"}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the way in one room."""

    region: Region
    first: int
    last: int  #: samples, both included

    @property
    def metres(self) -> float:
        return (self.last - self.first) * SPACING


class Remark(NamedTuple):
    """Something worth saying at a sample."""

    at: int
    words: str


class Route:
    """One way through a house."""

    def __init__(self, site: Site, points: Sequence[Vec3], target: Target) -> None:
        self._site = site
        self._points = points
        self._target = target
        self.stretches = _stretches(site, points)

    def instruction(self, facing: float, phrases: Phrases) -> str:
        """The whole way in words, for somebody who faces this direction (degrees left of −Z)."""
        clauses = [self._beginning(facing, phrases)]
        for number, stretch in enumerate(self.stretches):
            if number:
                clauses += self._entering(self.stretches[number - 1], stretch, phrases, first=number == 1)
            clauses += [remark.words for remark in sorted(self._remarks(stretch, phrases))]
        stop = phrases.say("stop", thing=self._target.reference.short)
        return " ".join([*_sentences(clauses), sentence(stop)])

    def _beginning(self, facing: float, phrases: Phrases) -> str:
        turn = wrapped(self._heading(0, WINDOW) - facing)
        if abs(turn) <= AHEAD:
            return phrases.say("ahead")
        return phrases.say("around") if abs(turn) >= ROUND else phrases.say("turn", side=side(turn))

    def _entering(self, before: Stretch, after: Stretch, phrases: Phrases, *, first: bool) -> Iterator[str]:
        """From one room into the next."""
        if first:
            yield phrases.say("leave", room=before.region.category)
        turn = self._turn(after.first)
        opening = self._opening(self._points[after.first])
        key = ("through" if opening else "into") + ("" if abs(turn) <= AHEAD else "_side")
        same = after.region.category == before.region.category
        room = f"next {after.region.category}" if same else after.region.category
        yield phrases.say(key, room=room, side=side(turn), opening=opening or "")

    def _remarks(self, stretch: Stretch, phrases: Phrases) -> list[Remark]:
        rise = self._points[stretch.last][1] - self._points[stretch.first][1]
        if abs(rise) > STAIRS:
            return [Remark(stretch.first, phrases.say("up" if rise > 0 else "down"))]
        if stretch.metres < LONG:
            return []
        found = [*self._bend(stretch, phrases), *self._passing(stretch, phrases)]
        if not found and "hall" in stretch.region.category:
            key = "along" if stretch is self.stretches[0] else "along_it"
            found = [Remark(stretch.first, phrases.say(key, room=stretch.region.category))]
        return found

    def _bend(self, stretch: Stretch, phrases: Phrases) -> Iterator[Remark]:
        """The sharpest turn well inside the stretch."""
        inner = range(stretch.first + 2 * WINDOW, stretch.last - 2 * WINDOW)
        at = max(inner, key=lambda number: abs(self._turn(number)), default=None)
        if at is not None and abs(self._turn(at)) >= SHARP:
            yield Remark(at, phrases.say("bend", side=side(self._turn(at))))

    def _passing(self, stretch: Stretch, phrases: Phrases) -> Iterator[Remark]:
        """The thing that one comes closest to, plainly to one side."""
        inner = range(stretch.first + WINDOW, stretch.last - WINDOW, 3)
        passed = [found for thing in self._landmarks(stretch) if (found := self._closest(thing, inner)) is not None]
        for _, at, thing in sorted(passed, key=lambda found: found[:2])[:1]:
            bearing = wrapped(heading(self._points[at], thing.center) - self._heading(at - 5, at + 5))
            reference = self._site.around.describer.describe(thing)
            if reference is not None and self._site.sees(self._points[at], thing):
                yield Remark(at, phrases.say("past", thing=reference.short, side=side(bearing)))

    def _landmarks(self, stretch: Stretch) -> Iterator[SceneObject]:
        """Things of the room that can be named in a word or two."""
        goal = self._target.thing
        for thing in self._site.around.semantics.objects:
            if thing.region != stretch.region.region_id or not is_landmark(thing) or noun_of(thing) == noun_of(goal):
                continue
            reference = self._site.around.describer.describe(thing)
            if reference is not None and reference.is_unique and reference.description.modifiers <= 1:
                yield thing

    def _closest(self, thing: SceneObject, samples: range) -> tuple[float, int, SceneObject] | None:
        """Where one is beside the thing: near it, and it is neither ahead nor behind."""
        beside = [
            (outside(thing, self._points[at][0], self._points[at][2]), at, thing)
            for at in samples
            if 50 <= abs(wrapped(heading(self._points[at], thing.center) - self._heading(at - 5, at + 5))) <= 130
        ]
        nearest = min(beside, key=lambda found: found[:2], default=None)
        return nearest if nearest is not None and nearest[0] <= PASSED else None

    def _opening(self, crossing: Vec3) -> str | None:
        """The name of what one goes through."""
        near = [
            (outside(thing, crossing[0], crossing[2]), OPENINGS[thing.category])
            for thing in self._site.around.semantics.objects
            if thing.category in OPENINGS and abs(thing.center[1] - thing.size[1] / 2 - crossing[1]) < STAIRS
        ]
        metres, name = min(near, default=(DOOR, ""))
        return name if metres < DOOR else None

    def _turn(self, at: int) -> float:
        """Degrees to the left around a sample."""
        return wrapped(self._heading(at + 2, at + WINDOW) - self._heading(at - WINDOW, at - 2))

    def _heading(self, first: int, last: int) -> float:
        top = len(self._points) - 1
        a, b = min(max(first, 0), top - 1), min(max(last, 1), top)
        return heading(self._points[a], self._points[max(b, a + 1)])


def _stretches(site: Site, points: Sequence[Vec3]) -> list[Stretch]:
    """The rooms along the way, those that it only grazes left out."""
    found: list[Stretch] = []
    for number, point in enumerate(points):
        region = site.around.region_at(point) or (found[-1].region if found else None)
        if region is None:
            continue
        if found and found[-1].region is region:
            found[-1] = Stretch(region, found[-1].first, number)
        else:
            found.append(Stretch(region, number, number))
    kept: list[Stretch] = []
    for place, stretch in enumerate(found):
        is_end = place in (0, len(found) - 1)
        if kept and kept[-1].region is stretch.region:
            kept[-1] = Stretch(stretch.region, kept[-1].first, stretch.last)
        elif is_end or stretch.metres >= GRAZED:
            kept.append(stretch)
    return kept


def _sentences(clauses: Sequence[str]) -> list[str]:
    """Two clauses to a sentence, three in the last one where one would be left over."""
    groups = [list(clauses[n : n + 2]) for n in range(0, len(clauses), 2)]
    if len(groups) > 1 and len(groups[-1]) == 1:
        left_over = groups.pop()
        groups[-1] += left_over
    return [sentence(listed(group)) for group in groups]
