"""VLN episodes: a route in words, from any place to one beside a thing in another room.

A route is said as somebody would who knows the way. The path is cut where it goes from one room into another. At each
border the turn is measured and the door named; in between, sharp bends, stairs and things that one passes within reach
are mentioned, on the side they are really on.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from nav_eval.dataset.episode import Episode, PublicEpisode
from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval.records.geometry import Vec3, get_yaw
from nav_eval.scene.model import SceneObject
from nav_eval_worlds.episodes.balance import Quota
from nav_eval_worlds.episodes.base import (
    EpisodeAttempt,
    EpisodeGenerator,
    EpisodeTarget,
    GenerationRequest,
    find_targets,
    get_expert_limit,
    make_private_half,
    walk_leg,
)
from nav_eval_worlds.episodes.footprint import measure_footprint_distance
from nav_eval_worlds.episodes.routes import write_route
from nav_eval_worlds.episodes.site import (
    AHEAD,
    ROUND,
    AgentStart,
    Site,
    compute_heading,
    name_side,
    sample_path,
    wrap_degrees,
)
from nav_eval_worlds.episodes.way import SPACING, WINDOW, Stretch, Way
from nav_eval_worlds.instructions.templates import ROUTES, Phrases
from nav_eval_worlds.instructions.words import get_noun, is_landmark, join_words, to_instruction, to_sentence

PASSED = 1.5  #: metres to a thing that one passes
SHARP = 55.0  #: degrees of a bend that is worth a word
LONG = 3.0  #: metres in one room after which something should be said
STAIRS, ON_FLOOR = 1.0, 0.3  #: metres of height
DOOR = 0.9  #: metres from a door to where the way goes through it
OPENINGS = {"door": "door", "doorway": "doorway"}


class Remark(NamedTuple):
    """Something worth saying at a sample."""

    at: int
    words: str


class Route:
    """One way through a house."""

    def __init__(self, site: Site, way: Way, target: EpisodeTarget) -> None:
        self._site = site
        self._way = way
        self._target = target

    def instruction(self, facing: float, phrases: Phrases) -> str:
        """The whole way in words, for somebody who faces this direction (degrees left of −Z)."""
        clauses = [self._describe_beginning(facing, phrases)]
        for number, stretch in enumerate(self._way.stretches):
            if number:
                clauses += self._describe_entering(self._way.stretches[number - 1], stretch, phrases, first=number == 1)
            clauses += [remark.words for remark in sorted(self._collect_remarks(stretch, phrases))]
        stop = phrases.say("stop", thing=self._target.reference.short)
        return " ".join([*_join_clauses(clauses), to_sentence(stop)])

    def _describe_beginning(self, facing: float, phrases: Phrases) -> str:
        turn = wrap_degrees(self._way.compute_heading(0, WINDOW) - facing)
        if abs(turn) <= AHEAD:
            return phrases.say("ahead")
        return phrases.say("around") if abs(turn) >= ROUND else phrases.say("turn", side=name_side(turn))

    def _describe_entering(self, before: Stretch, after: Stretch, phrases: Phrases, *, first: bool) -> Iterator[str]:
        """From one room into the next."""
        if first:
            yield phrases.say("leave", room=before.region.category)
        turn = self._way.measure_turn(after.first)
        opening = self._find_opening(self._way.points[after.first])
        key = ("through" if opening else "into") + ("" if abs(turn) <= AHEAD else "_side")
        same = after.region.category == before.region.category
        room = f"next {after.region.category}" if same else after.region.category
        yield phrases.say(key, room=room, side=name_side(turn), opening=opening or "")

    def _collect_remarks(self, stretch: Stretch, phrases: Phrases) -> list[Remark]:
        rise = self._way.points[stretch.last][1] - self._way.points[stretch.first][1]
        if abs(rise) > STAIRS:
            return [Remark(stretch.first, phrases.say("up" if rise > 0 else "down"))]
        if stretch.metres < LONG:
            return []
        found = [*self._describe_bend(stretch, phrases), *self._describe_passing(stretch, phrases)]
        if not found and "hall" in stretch.region.category:
            key = "along" if stretch is self._way.stretches[0] else "along_it"
            found = [Remark(stretch.first, phrases.say(key, room=stretch.region.category))]
        return found

    def _describe_bend(self, stretch: Stretch, phrases: Phrases) -> Iterator[Remark]:
        """The sharpest turn well inside the stretch."""
        inner = range(stretch.first + 2 * WINDOW, stretch.last - 2 * WINDOW)
        at = max(inner, key=lambda number: abs(self._way.measure_turn(number)), default=None)
        if at is not None and abs(self._way.measure_turn(at)) >= SHARP:
            yield Remark(at, phrases.say("bend", side=name_side(self._way.measure_turn(at))))

    def _describe_passing(self, stretch: Stretch, phrases: Phrases) -> Iterator[Remark]:
        """The thing that one comes closest to, plainly to one side."""
        inner = range(stretch.first + WINDOW, stretch.last - WINDOW, 3)
        passed = [
            found for thing in self._list_landmarks(stretch) if (found := self._find_closest(thing, inner)) is not None
        ]
        for _, at, thing in sorted(passed, key=lambda found: found[:2])[:1]:
            bearing = wrap_degrees(
                compute_heading(self._way.points[at], thing.center) - self._way.compute_heading(at - 5, at + 5)
            )
            reference = self._site.around.describer.describe(thing)
            if reference is not None and self._site.sees(self._way.points[at], thing):
                yield Remark(at, phrases.say("past", thing=reference.short, side=name_side(bearing)))

    def _list_landmarks(self, stretch: Stretch) -> Iterator[SceneObject]:
        """Things of the room that can be named in a word or two."""
        goal = self._target.thing
        for thing in self._site.around.semantics.objects:
            if thing.region != stretch.region.region_id or not is_landmark(thing) or get_noun(thing) == get_noun(goal):
                continue
            reference = self._site.around.describer.describe(thing)
            if reference is not None and reference.is_unique and reference.description.modifiers <= 1:
                yield thing

    def _find_closest(self, thing: SceneObject, samples: range) -> tuple[float, int, SceneObject] | None:
        """Where one is beside the thing: near it, and it is neither ahead nor behind."""
        beside = [
            (measure_footprint_distance(thing, self._way.points[at][0], self._way.points[at][2]), at, thing)
            for at in samples
            if 50
            <= abs(
                wrap_degrees(
                    compute_heading(self._way.points[at], thing.center) - self._way.compute_heading(at - 5, at + 5)
                )
            )
            <= 130
        ]
        nearest = min(beside, key=lambda found: found[:2], default=None)
        return nearest if nearest is not None and nearest[0] <= PASSED else None

    def _find_opening(self, crossing: Vec3) -> str | None:
        """The name of what one goes through."""
        near = [
            (measure_footprint_distance(thing, crossing[0], crossing[2]), OPENINGS[thing.category])
            for thing in self._site.around.semantics.objects
            if thing.category in OPENINGS and abs(thing.center[1] - thing.size[1] / 2 - crossing[1]) < STAIRS
        ]
        metres, name = min(near, default=(DOOR, ""))
        return name if metres < DOOR else None


def _is_on_stairs(site: Site, position: Vec3) -> bool:
    """Nobody says where on the stairs one stands."""
    region = site.around.region_at(position)
    return region is None or abs(position[1] - region.lower[1]) > ON_FLOOR


def _join_clauses(clauses: Sequence[str]) -> list[str]:
    """Two clauses to a sentence, three in the last one where one would be left over."""
    groups = [list(clauses[n : n + 2]) for n in range(0, len(clauses), 2)]
    if len(groups) > 1 and len(groups[-1]) == 1:
        left_over = groups.pop()
        groups[-1] += left_over
    return [to_sentence(join_words(group)) for group in groups]


#: geodesic metres, as R2R's; short ones only where a house has no longer ones
SHORTEST, SHORT, LONGEST = 6.0, 4.0, 25.0
#: metres between way-points, as between the panoramas of R2R
WAY_POINTS = 2.0
#: metres from the goal at which the expert stops: success is generous, but the words lead all the way
AT_THE_GOAL = 0.25


class VlnGenerator(EpisodeGenerator):
    """Makes the VLN episodes of one scene."""

    def __init__(self, sites: Sequence[Site], order: GenerationRequest, quota: Quota) -> None:
        self._sites = sites
        self._quota = quota
        self._language = order.language
        self._targets = [[t for t in find_targets(site) if t.reference.is_unique] for site in sites]

    def draw(self, case: EpisodeAttempt, *, strict: bool) -> Episode | None:
        robot = case.number % len(self._sites)
        site = self._sites[robot]
        start = site.random_start(case.draw.fork("start"))
        if case.draw.generator != FIRST_GENERATOR and _is_on_stairs(site, start.position):
            return None
        options = self._options(robot, start, shortest=SHORTEST if strict else SHORT)
        room = site.around.room_at(start.position)
        ranked = self._quota.rank(options, coming_from=room, draw=case.draw.fork("target"))
        if not ranked:
            return None
        episode = self._episode(site, start, ranked[0], case)
        if episode is not None:
            self._quota.note(ranked[0], coming_from=room)
        return episode

    def _options(self, robot: int, start: AgentStart, *, shortest: float) -> list[EpisodeTarget]:
        """Targets in other rooms, neither too near nor too far."""
        site = self._sites[robot]
        here = site.around.region_at(start.position)
        from_start = site.ground.distance_field([start.position])
        return [
            target
            for target in self._targets[robot]
            if here is not None
            and target.thing.region not in (None, here.region_id)
            and shortest <= min(map(from_start.distance, target.positions)) <= LONGEST
        ]

    def _episode(self, site: Site, start: AgentStart, target: EpisodeTarget, case: EpisodeAttempt) -> Episode | None:
        from_start = site.ground.distance_field([start.position])
        goal = min(target.goals, key=lambda goal: from_start.distance(goal.position))
        leg = walk_leg(
            site, start.state, [goal.position], near=min(AT_THE_GOAL, site.near), limit=get_expert_limit(site)
        )
        if leg is None:
            return None
        way = Way(site, sample_path(leg.corners, spacing=SPACING))
        if len(way.stretches) < 2:
            return None
        info: dict[str, Any] = {
            "target": target.category,
            "rooms": [stretch.region.category for stretch in way.stretches],
            "goal_in_sight": site.sees(start.position, target.thing),
        }
        facing = math.degrees(get_yaw(start.pose.rotation))
        if case.draw.generator == FIRST_GENERATOR:
            text = Route(site, way, target).instruction(facing, Phrases(ROUTES, case.draw.fork("words")))
        else:
            route = write_route(site, way, target, facing=facing, language=self._language, draw=case.draw.fork("words"))
            if route is None:
                return None
            text = route.text
            info |= {"style": route.style, "statements": [spoken.record() for spoken in route.spoken]}
        leg = replace(leg, corners=tuple(sample_path(leg.corners, spacing=WAY_POINTS)))
        return Episode(
            public=PublicEpisode(episode_id=case.episode_id, instruction=to_instruction(text, language=self._language)),
            private=make_private_half(site, start.pose, [leg], goals=(goal,), info=info),
        )
