"""Episodes with one goal to search for: a category, what a picture shows, a point."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from nav_eval.dataset.episode import Episode, Goal, PublicEpisode, Vec3
from nav_eval.geometry import straight_line
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.model import SceneObject
from nav_eval.simulator.episode_generation.legs import Leg, expert_limit, private_half, walked
from nav_eval.simulator.episode_generation.making import Case, Maker, Order, may_be_in_sight
from nav_eval.simulator.episode_generation.quota import Quota
from nav_eval.simulator.episode_generation.site import Site, Start
from nav_eval.simulator.episode_generation.views import picture_of, seen_goal, view_lattice
from nav_eval.simulator.episode_generation.words import is_target
from nav_eval.tasks.base import target_points

#: geodesic metres to the goal; short ways only where a scene has no longer ones
SHORTEST, SHORT, LONGEST = 3.0, 1.0, 30.0
LEAST_SIZE = 0.2  #: metres; smaller things are hard to see in any picture
LEAST_PICTURED = 0.35  #: metres; a picture of one plate among others would say too little
MOST_INSTANCES = 12  #: of a category that is worth searching for
#: PointNav: straighter ways than this are mostly dropped, as Habitat's generator does
LEAST_DETOUR = 1.1
SAME_FLOOR = 0.5  #: metres of height


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Sought:
    """Something to search for: all things of a category, or one thing."""

    category: str
    room: str
    things: tuple[SceneObject, ...]


class SearchMaker(Maker):
    """What searches for things have in common."""

    def __init__(self, sites: Sequence[Site], order: Order, quota: Quota) -> None:
        self._sites = sites
        self._quota = quota
        self._lattices = [view_lattice(site) for site in sites]
        self._goals: dict[tuple[int, int], Goal | None] = {}
        self._sought = self.sought(sites[0])

    def sought(self, site: Site) -> list[Sought]:
        """Everything that a scene offers for a search."""
        raise NotImplementedError

    def episode(self, case: Case, robot: int, sought: Sought, goals: tuple[Goal, ...], start: Start) -> Episode | None:
        """The episode of one search; None if it does not work out."""
        raise NotImplementedError

    def draw(self, case: Case, *, strict: bool) -> Episode | None:
        robot = case.number % len(self._sites)
        site = self._sites[robot]
        start = site.random_start(case.draw.fork("start"))
        room = site.around.room_at(start.position)
        sightless = not may_be_in_sight(case.draw)
        for sought in self._quota.ranked(self._sought, coming_from=room, draw=case.draw.fork("sought")):
            if sightless and site.sees_any(start.position, sought.things):
                continue
            goals = self._goals_of(sought, robot)
            if goals and _is_far(site, start, goals, shortest=SHORTEST if strict else SHORT):
                episode = self.episode(case, robot, sought, goals, start)
                if episode is not None:
                    self._quota.note(sought, coming_from=room)
                return episode
        return None

    def _goals_of(self, sought: Sought, robot: int) -> tuple[Goal, ...]:
        return tuple(goal for thing in sought.things if (goal := self._goal(thing, robot)) is not None)

    def _goal(self, thing: SceneObject, robot: int) -> Goal | None:
        key = (robot, thing.object_id)
        if key not in self._goals:
            self._goals[key] = seen_goal(thing, self._sites[robot], self._lattices[robot])
        return self._goals[key]

    def _built(
        self, public: PublicEpisode, robot: int, sought: Sought, goals: tuple[Goal, ...], start: Start
    ) -> Episode | None:
        site = self._sites[robot]
        leg = leg_to(site, start, goals)
        if leg is None or leg.geodesic < SHORT:
            return None
        info = {
            "target": sought.category,
            "rooms": [site.around.room_at(start.position), sought.room],
            "goal_in_sight": site.sees_any(start.position, sought.things),
        }
        return Episode(public=public, private=private_half(site, start.pose, [leg], goals=goals, info=info))


class ObjectMaker(SearchMaker):
    """ObjectNav: any thing of a category."""

    def sought(self, site: Site) -> list[Sought]:
        by_category: dict[str, list[SceneObject]] = {}
        for thing in site.around.semantics.objects:
            if is_target(thing):
                by_category.setdefault(thing.category, []).append(thing)
        return [
            Sought(category=category, room=_shared_room(site, things), things=tuple(things))
            for category, things in by_category.items()
            if len(things) <= MOST_INSTANCES and max(max(thing.size) for thing in things) >= LEAST_SIZE
        ]

    def episode(self, case: Case, robot: int, sought: Sought, goals: tuple[Goal, ...], start: Start) -> Episode | None:
        public = PublicEpisode(episode_id=case.episode_id, object_category=sought.category)
        return self._built(public, robot, sought, goals, start)


class ImageMaker(SearchMaker):
    """ImageNav: the very thing that a picture shows."""

    def sought(self, site: Site) -> list[Sought]:
        return [
            Sought(category=thing.category, room=_shared_room(site, [thing]), things=(thing,))
            for thing in site.around.semantics.objects
            if is_target(thing) and max(thing.size) >= LEAST_PICTURED
        ]

    def episode(self, case: Case, robot: int, sought: Sought, goals: tuple[Goal, ...], start: Start) -> Episode | None:
        image = picture_of(sought.things[0], self._sites[robot], case.draw.fork("picture"))
        if image is None:
            return None
        shown = (msgspec.structs.replace(goals[0], image=image),)
        return self._built(PublicEpisode(episode_id=case.episode_id), robot, sought, shown, start)


class PointMaker(Maker):
    """PointNav: a point on the same floor that is not simply straight ahead."""

    def __init__(self, sites: Sequence[Site], order: Order, quota: Quota) -> None:
        self._sites = sites

    def draw(self, case: Case, *, strict: bool) -> Episode | None:
        site = self._sites[case.number % len(self._sites)]
        start = site.random_start(case.draw.fork("start"))
        point = site.random_place(case.draw.fork("goal"))
        if abs(point[1] - start.position[1]) > SAME_FLOOR or not _is_worth_it(site, start, point, case.draw):
            return None
        goals = (Goal(position=point),)
        leg = leg_to(site, start, goals)
        if leg is None:
            return None
        info = {"rooms": [site.around.room_at(start.position), site.around.room_at(point)]}
        return Episode(
            public=PublicEpisode(episode_id=case.episode_id),
            private=private_half(site, start.pose, [leg], goals=goals, info=info),
        )


def leg_to(site: Site, start: Start, goals: tuple[Goal, ...]) -> Leg | None:
    """The expert's way, measured as the benchmark measures it."""
    to_view_points = site.benchmark.evaluation.distance_to == "view_points"
    return walked(site, start.state, target_points(goals, to_view_points=to_view_points), limit=expert_limit(site))


def _is_far(site: Site, start: Start, goals: Sequence[Goal], *, shortest: float) -> bool:
    from_start = site.ground.distance_field([start.position])
    return shortest <= min(map(from_start.distance, _sample(goals))) <= LONGEST


def _sample(goals: Sequence[Goal]) -> Iterator[Vec3]:
    """Every view point is too many for a first look; the nearest to each thing will do."""
    for goal in goals:
        yield goal.position


def _is_worth_it(site: Site, start: Start, point: Vec3, draw: Draw) -> bool:
    line = straight_line(start.position, point)
    metres = site.ground.geodesic_distance(start.position, point)
    if not (SHORT <= metres <= LONGEST and math.isfinite(metres)):
        return False
    detour = metres / line
    return detour >= LEAST_DETOUR or draw.fork("straight").chance(20 * max(detour - 0.98, 0.0) ** 2)


def _shared_room(site: Site, things: Sequence[SceneObject]) -> str:
    """The kind of room, where all are in one kind."""
    kinds = {site.around.describer.room_kind(thing.region) or "" for thing in things}
    return kinds.pop() if len(kinds) == 1 else "several"
