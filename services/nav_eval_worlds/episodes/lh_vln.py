"""Long-horizon episodes: errands of two to four targets in a fixed order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nav_eval.config.schema.generation import Language
from nav_eval.dataset.episode import Episode, PublicEpisode
from nav_eval.generator_version import FIRST_GENERATOR, GeneratorVersion
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import SceneObject
from nav_eval.simulator.motion import AgentState
from nav_eval_worlds.episodes.balance import Quota
from nav_eval_worlds.episodes.base import (
    EpisodeAttempt,
    EpisodeGenerator,
    EpisodeTarget,
    ExpertLeg,
    GenerationRequest,
    find_targets,
    get_expert_limit,
    is_visible_start_allowed,
    make_private_half,
    make_subtask,
    walk_leg,
)
from nav_eval_worlds.episodes.openings import count_stairs
from nav_eval_worlds.episodes.site import AgentStart, Site, sample_path
from nav_eval_worlds.episodes.way import SPACING, Way
from nav_eval_worlds.instructions.errand_text import StairsAhead, write_errands
from nav_eval_worlds.instructions.templates import Errand, render_errands
from nav_eval_worlds.instructions.words import (
    can_be_put_on,
    is_plausible_place,
    is_portable,
    is_surface,
    to_instruction,
)
from nav_eval_worlds.randomness import RandomStream

#: geodesic metres of one leg, where the house allows
SHORTEST, LONGEST = 3.0, 20.0
#: expert actions of all legs, where the house allows
FEWEST, MOST = 60, 300
FIND, TAKE, PUT = "find", "take", "put"
#: what the legs of an episode are for, by their number
SHAPES: dict[int, tuple[tuple[str, ...], ...]] = {
    1: ((FIND,),),
    2: ((TAKE, PUT), (FIND, FIND)),
    3: ((TAKE, PUT, FIND), (FIND, TAKE, PUT), (TAKE, PUT, FIND)),
    4: ((TAKE, PUT, TAKE, PUT), (TAKE, PUT, FIND, FIND), (FIND, TAKE, PUT, FIND)),
}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Trip:
    """Targets in order, each with the way to it."""

    start: AgentStart
    roles: tuple[str, ...]
    targets: tuple[EpisodeTarget, ...]
    legs: tuple[ExpertLeg, ...]

    @property
    def steps(self) -> int:
        return sum(len(leg.actions) for leg in self.legs)


class TripGenerator:
    """Draws the targets of an episode one after the other, from where the expert stands."""

    def __init__(self, site: Site, targets: Sequence[EpisodeTarget], quota: Quota) -> None:
        self._site = site
        self._targets = targets
        self._quota = quota
        self._limit = get_expert_limit(site)

    def draw(self, count: int, draw: RandomStream, *, strict: bool) -> Trip | None:
        """A trip of so many legs; None if this draw leads nowhere. Not strict: short trips will do."""
        start = self._site.random_start(draw.fork("start"))
        roles = draw.choice(SHAPES[count])
        targets: list[EpisodeTarget] = []
        legs: list[ExpertLeg] = []
        for number, role in enumerate(roles):
            state = legs[-1].end if legs else start.state
            target = self._next(state, role, targets, draw.fork("leg", number))
            left = self._limit - sum(len(leg.actions) for leg in legs)
            leg = walk_leg(self._site, state, target.positions, limit=left) if target else None
            if target is None or leg is None:
                return None
            targets.append(target)
            legs.append(leg)
        trip = Trip(start=start, roles=roles, targets=tuple(targets), legs=tuple(legs))
        fits = trip.steps < self._limit and (not strict or FEWEST <= trip.steps <= MOST)
        return trip if fits else None

    def _next(
        self, state: AgentState, role: str, before: Sequence[EpisodeTarget], draw: RandomStream
    ) -> EpisodeTarget | None:
        options = list(self._options(state, role, before, draw.generator))
        if not before and not is_visible_start_allowed(draw):
            options = [target for target in options if not self._site.sees_any(state.position, target.reference.things)]
        coming_from = before[-1].room if before else self._site.around.room_at(state.position)
        return next(iter(self._quota.rank(options, coming_from=coming_from, draw=draw)), None)

    def _options(
        self, state: AgentState, role: str, before: Sequence[EpisodeTarget], generator: GeneratorVersion
    ) -> Iterator[EpisodeTarget]:
        """Targets that suit the role, of another category than those before, neither too near nor too far."""
        from_here = self._site.ground.distance_field([state.position])
        used = {target.category for target in before}
        for target in self._targets:
            if target.category in used or not _is_suitable(role, target, before, generator):
                continue
            if SHORTEST <= min(map(from_here.distance, target.positions)) <= LONGEST:
                yield target


class LhVlnGenerator(EpisodeGenerator):
    """Makes the long-horizon episodes of one scene."""

    def __init__(self, sites: Sequence[Site], order: GenerationRequest, quota: Quota) -> None:
        self._sites = sites
        self._order = order
        self._trips = [TripGenerator(site, find_targets(site), quota) for site in sites]
        self._quota = quota

    def draw(self, case: EpisodeAttempt, *, strict: bool) -> Episode | None:
        robot = case.number % len(self._sites)
        trip = self._trips[robot].draw(self._legs(case.number), case.draw.fork("trip"), strict=strict)
        if trip is None:
            return None
        rooms = [self._sites[robot].around.room_at(trip.start.position), *(target.room for target in trip.targets)]
        episode = _make_episode(self._sites[robot], trip, case, rooms, language=self._order.language)
        for target, coming_from in zip(trip.targets, rooms, strict=False) if episode else ():
            self._quota.note(target, coming_from=coming_from)
        return episode

    def _legs(self, number: int) -> int:
        """Every count equally often, in an order of its own."""
        fewest, most = self._order.subtasks
        counts = list(range(fewest, most + 1))
        block = self._order.make_stream("subtasks", number // len(counts))
        return block.shuffle(counts)[number % len(counts)]


def _make_episode(
    site: Site, trip: Trip, case: EpisodeAttempt, rooms: list[str], *, language: Language
) -> Episode | None:
    info: dict[str, Any] = {
        "rooms": rooms,
        "goal_in_sight": site.sees_any(trip.start.position, trip.targets[0].reference.things),
        "errands": list(trip.roles),
        "references": [target.reference.text for target in trip.targets],
    }
    subtasks = tuple(make_subtask(target, leg) for target, leg in zip(trip.targets, trip.legs, strict=True))
    draw = case.draw.fork("words")
    if draw.generator == FIRST_GENERATOR:
        text = render_errands(make_errands(trip), draw)
    else:
        flights = [find_stairs(site, leg.corners) for leg in trip.legs]
        if any(found is not None and found.flights == 0 for found in flights):
            return None  # up and down on one leg cannot be said in a word
        told = write_errands(make_errands(trip), flights, draw, language=language, describer=site.around.describer)
        if told is None:
            return None
        text, said = told
        info["statements"] = [
            {"kind": found.kind, "words": words, "leg": leg, "flights": found.flights}
            for leg, (found, words) in enumerate(zip(flights, said, strict=True))
            if found is not None
        ]
    return Episode(
        public=PublicEpisode(episode_id=case.episode_id, instruction=to_instruction(text, language=language)),
        private=make_private_half(site, trip.start.pose, trip.legs, subtasks=subtasks, info=info),
    )


def find_stairs(site: Site, corners: Sequence[Vec3]) -> StairsAhead | None:
    """How a way leads to another floor; no flights where it goes up as well as down."""
    flights = Way(site, sample_path(corners, spacing=SPACING)).list_flights()
    if not flights:
        return None
    rises = {after.region.lower[1] > before.region.lower[1] for before, after in flights}
    stairs = [count_stairs(site.around.semantics, before.region, after.region) for before, after in flights]
    return StairsAhead(
        kind="up" if True in rises else "down",
        flights=len(flights) if len(rises) == 1 else 0,
        is_only=max(stairs) <= 1,
    )


def make_errands(trip: Trip) -> list[Errand]:
    """Taking something and putting it somewhere is one errand."""
    found = []
    for number, (role, target) in enumerate(zip(trip.roles, trip.targets, strict=True)):
        if role == TAKE:
            found.append(Errand(thing=target.reference, to=trip.targets[number + 1].reference))
        elif role == FIND:
            found.append(Errand(thing=target.reference))
    return found


def _is_suitable(
    role: str, target: EpisodeTarget, before: Sequence[EpisodeTarget], generator: GeneratorVersion
) -> bool:
    if role == TAKE:
        return is_portable(target.thing, generator=generator)
    if role == PUT:
        carried = before[-1]
        return (
            is_surface(target.thing)
            and _is_sensible(carried.thing, target, generator)
            and not _is_there_already(carried, target)
        )
    return True


def _is_sensible(carried: SceneObject, to: EpisodeTarget, generator: GeneratorVersion) -> bool:
    if generator == FIRST_GENERATOR:
        return can_be_put_on(carried, to.thing)
    return is_plausible_place(carried, to.thing, room=to.room)


def _is_there_already(carried: EpisodeTarget, surface: EpisodeTarget) -> bool:
    return any(
        thing.region == surface.thing.region and thing.attributes.get("on") == surface.category
        for thing in carried.reference.things
    )
