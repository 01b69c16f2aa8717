"""Long-horizon episodes: errands of two to four targets in a fixed order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nav_eval.dataset.episode import Episode, PublicEpisode
from nav_eval.scene.houses.randomness import Draw
from nav_eval.simulator.episode_generation.errands import Errand, instruction
from nav_eval.simulator.episode_generation.legs import Leg, expert_limit, private_half, subtask, walked
from nav_eval.simulator.episode_generation.making import Case, Maker, Order, may_be_in_sight
from nav_eval.simulator.episode_generation.quota import Quota
from nav_eval.simulator.episode_generation.site import Site, Start
from nav_eval.simulator.episode_generation.targets import Target, targets_of
from nav_eval.simulator.episode_generation.words import belongs_on, is_portable, is_surface, said
from nav_eval.simulator.motion import AgentState

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

    start: Start
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
        self._limit = expert_limit(site)

    def draw(self, count: int, draw: Draw, *, strict: bool) -> Trip | None:
        """A trip of so many legs; None if this draw leads nowhere. Not strict: short trips will do."""
        start = self._site.random_start(draw.fork("start"))
        roles = draw.choice(SHAPES[count])
        targets: list[Target] = []
        legs: list[Leg] = []
        for number, role in enumerate(roles):
            state = legs[-1].end if legs else start.state
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
        if not before and not may_be_in_sight(draw):
            options = [target for target in options if not self._site.sees_any(state.position, target.reference.things)]
        coming_from = before[-1].room if before else self._site.around.room_at(state.position)
        return next(iter(self._quota.ranked(options, coming_from=coming_from, draw=draw)), None)

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
        rooms = [self._sites[robot].around.room_at(trip.start.position), *(target.room for target in trip.targets)]
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
    info = {
        "rooms": rooms,
        "goal_in_sight": site.sees_any(trip.start.position, trip.targets[0].reference.things),
        "errands": list(trip.roles),
        "references": [target.reference.text for target in trip.targets],
    }
    subtasks = tuple(subtask(target, leg) for target, leg in zip(trip.targets, trip.legs, strict=True))
    text = instruction(errands(trip), case.draw.fork("words"))
    return Episode(
        public=PublicEpisode(episode_id=case.episode_id, instruction=said(text)),
        private=private_half(site, trip.start.pose, trip.legs, subtasks=subtasks, info=info),
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


def _suits(role: str, target: Target, before: Sequence[Target]) -> bool:
    if role == TAKE:
        return is_portable(target.thing)
    if role == PUT:
        carried = before[-1]
        return (
            is_surface(target.thing)
            and belongs_on(carried.thing, target.thing)
            and not _is_there_already(carried, target)
        )
    return True


def _is_there_already(carried: Target, surface: Target) -> bool:
    return any(
        thing.region == surface.thing.region and thing.attributes.get("on") == surface.category
        for thing in carried.reference.things
    )
