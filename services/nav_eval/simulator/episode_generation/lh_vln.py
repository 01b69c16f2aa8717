"""Long-horizon episodes: errands of two to four targets in a fixed order."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nav_eval.dataset.episode import Episode, Instruction, PrivateEpisode, PublicEpisode
from nav_eval.scene.houses.randomness import Draw
from nav_eval.simulator.episode_generation.errands import Errand, instruction
from nav_eval.simulator.episode_generation.legs import Leg, dense_path, joined_corners, subtask, walked
from nav_eval.simulator.episode_generation.making import Case, Maker, Order
from nav_eval.simulator.episode_generation.quota import Quota
from nav_eval.simulator.episode_generation.site import Site
from nav_eval.simulator.episode_generation.targets import Target, targets_of
from nav_eval.simulator.episode_generation.words import is_portable, is_surface
from nav_eval.simulator.motion import AgentState

#: geodesic metres of one leg, where the house allows
SHORTEST, LONGEST = 3.0, 20.0
#: expert actions of all legs, where the house allows
FEWEST, MOST = 60, 300
#: the expert needs less than this share of the allowed steps
SHARE_OF_STEPS = 0.6
#: of all episodes, those whose first target may be in sight at the start
IN_SIGHT = 0.15

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

    start: AgentState
    roles: tuple[str, ...]
    targets: tuple[Target, ...]
    legs: tuple[Leg, ...]

    @property
    def steps(self) -> int:
        return sum(len(leg.actions) for leg in self.legs)


class TripMaker:
    """Draws the targets of an episode one after the other, from where the expert stands."""

    def __init__(self, site: Site, targets: Sequence[Target], quota: Quota) -> None:
        self._site = site
        self._targets = targets
        self._quota = quota
        self._limit = int(SHARE_OF_STEPS * site.benchmark.evaluation.max_steps)

    def draw(self, count: int, draw: Draw, *, strict: bool) -> Trip | None:
        """A trip of so many legs; None if this draw leads nowhere. Not strict: short trips will do."""
        start = self._site.random_start(draw.fork("start"))
        roles = draw.choice(SHAPES[count])
        targets: list[Target] = []
        legs: list[Leg] = []
        for number, role in enumerate(roles):
            state = legs[-1].end if legs else start
            target = self._next(state, role, targets, draw.fork("leg", number))
            left = self._limit - sum(len(leg.actions) for leg in legs)
            leg = walked(self._site, state, target.positions, limit=left) if target else None
            if target is None or leg is None:
                return None
            targets.append(target)
            legs.append(leg)
        trip = Trip(start=start, roles=roles, targets=tuple(targets), legs=tuple(legs))
        fits = trip.steps < self._limit and (not strict or FEWEST <= trip.steps <= MOST)
        return trip if fits else None

    def _next(self, state: AgentState, role: str, before: Sequence[Target], draw: Draw) -> Target | None:
        options = list(self._options(state, role, before))
        if not before and not draw.chance(IN_SIGHT):
            options = [target for target in options if not in_sight(self._site, state, target)]
        if not options:
            return None
        return self._quota.choose(options, coming_from=room_at(self._site, state, before), draw=draw)

    def _options(self, state: AgentState, role: str, before: Sequence[Target]) -> Iterator[Target]:
        """Targets that suit the role, of another category than those before, neither too near nor too far."""
        from_here = self._site.ground.distance_field([state.position])
        used = {target.category for target in before}
        for target in self._targets:
            if target.category in used or not _suits(role, target, before):
                continue
            if SHORTEST <= min(map(from_here.distance, target.positions)) <= LONGEST:
                yield target


class LongHorizonMaker(Maker):
    """Makes the long-horizon episodes of one scene."""

    def __init__(self, sites: Sequence[Site], order: Order, quota: Quota) -> None:
        self._sites = sites
        self._order = order
        self._trips = [TripMaker(site, targets_of(site), quota) for site in sites]
        self._quota = quota

    def draw(self, case: Case, *, strict: bool) -> Episode | None:
        robot = case.number % len(self._sites)
        trip = self._trips[robot].draw(self._legs(case.number), case.draw.fork("trip"), strict=strict)
        if trip is None:
            return None
        rooms = [room_at(self._sites[robot], trip.start, ()), *(target.room for target in trip.targets)]
        for target, coming_from in zip(trip.targets, rooms, strict=False):
            self._quota.note(target, coming_from=coming_from)
        return _episode(self._sites[robot], trip, case, rooms)

    def _legs(self, number: int) -> int:
        """Every count equally often, in an order of its own."""
        fewest, most = self._order.subtasks
        counts = list(range(fewest, most + 1))
        block = Draw(self._order.seed, "subtasks", number // len(counts), split=self._order.pool)
        return block.shuffled(counts)[number % len(counts)]


def _episode(site: Site, trip: Trip, case: Case, rooms: list[str]) -> Episode:
    text = instruction(errands(trip), case.draw.fork("words"))
    return Episode(
        public=PublicEpisode(
            episode_id=case.episode_id, instruction=Instruction(text=text, tokens=tokens_of(text), language="en")
        ),
        private=PrivateEpisode(
            scene_id=site.around.scene_id,
            start=trip.start.pose,
            reference_path=joined_corners(trip.legs),
            dense_path=dense_path(trip.legs),
            expert_actions=tuple(action for leg in trip.legs for action in leg.actions),
            subtasks=tuple(subtask(target, leg) for target, leg in zip(trip.targets, trip.legs, strict=True)),
            shortest_path_length=sum(leg.geodesic for leg in trip.legs),
            robot=site.robot.name,
            info={
                "rooms": rooms,
                "goal_in_sight": in_sight(site, trip.start, trip.targets[0]),
                "references": [target.reference.text for target in trip.targets],
                "errands": list(trip.roles),
            },
        ),
    )


def errands(trip: Trip) -> list[Errand]:
    """Taking something and putting it somewhere is one errand."""
    found = []
    for number, (role, target) in enumerate(zip(trip.roles, trip.targets, strict=True)):
        if role == TAKE:
            found.append(Errand(thing=target.reference, to=trip.targets[number + 1].reference))
        elif role == FIND:
            found.append(Errand(thing=target.reference))
    return found


def in_sight(site: Site, state: AgentState, target: Target) -> bool:
    """Whether something that may be meant is in a straight line from the cameras, wherever they look."""
    return any(site.sees(state.position, thing) for thing in target.reference.things)


def room_at(site: Site, state: AgentState, before: Sequence[Target]) -> str:
    """The kind of room that a leg begins in."""
    if before:
        return before[-1].room
    region = site.around.region_at(state.position)
    return "" if region is None else region.category


def tokens_of(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-z0-9']+|[.,;:?!]", text.lower()))


def _suits(role: str, target: Target, before: Sequence[Target]) -> bool:
    if role == TAKE:
        return is_portable(target.thing)
    if role == PUT:
        return is_surface(target.thing) and not _is_there_already(before[-1], target)
    return True


def _is_there_already(carried: Target, surface: Target) -> bool:
    return any(
        thing.region == surface.thing.region and thing.attributes.get("on") == surface.category
        for thing in carried.reference.things
    )
