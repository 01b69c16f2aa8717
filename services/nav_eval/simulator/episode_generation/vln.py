"""VLN episodes: a route in words, from any place to one beside a thing in another room."""

import math
from collections.abc import Sequence
from dataclasses import replace

from nav_eval.dataset.episode import Episode, PublicEpisode
from nav_eval.frames import yaw_of
from nav_eval.simulator.episode_generation.bearings import sampled
from nav_eval.simulator.episode_generation.legs import expert_limit, private_half, walked
from nav_eval.simulator.episode_generation.making import Case, Maker, Order
from nav_eval.simulator.episode_generation.phrases import ROUTES, Phrases
from nav_eval.simulator.episode_generation.quota import Quota
from nav_eval.simulator.episode_generation.routes import SPACING, Route
from nav_eval.simulator.episode_generation.site import Site, Start
from nav_eval.simulator.episode_generation.targets import Target, targets_of
from nav_eval.simulator.episode_generation.words import said

#: geodesic metres, as R2R's; short ones only where a house has no longer ones
SHORTEST, SHORT, LONGEST = 6.0, 4.0, 25.0
#: metres between way-points, as between the panoramas of R2R
WAY_POINTS = 2.0
#: metres from the goal at which the expert stops: success is generous, but the words lead all the way
AT_THE_GOAL = 0.25


class RouteMaker(Maker):
    """Makes the VLN episodes of one scene."""

    def __init__(self, sites: Sequence[Site], order: Order, quota: Quota) -> None:
        self._sites = sites
        self._quota = quota
        self._targets = [[t for t in targets_of(site) if t.reference.is_unique] for site in sites]

    def draw(self, case: Case, *, strict: bool) -> Episode | None:
        robot = case.number % len(self._sites)
        site = self._sites[robot]
        start = site.random_start(case.draw.fork("start"))
        options = self._options(robot, start, shortest=SHORTEST if strict else SHORT)
        room = site.around.room_at(start.position)
        ranked = self._quota.ranked(options, coming_from=room, draw=case.draw.fork("target"))
        if not ranked:
            return None
        episode = self._episode(site, start, ranked[0], case)
        if episode is not None:
            self._quota.note(ranked[0], coming_from=room)
        return episode

    def _options(self, robot: int, start: Start, *, shortest: float) -> list[Target]:
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

    def _episode(self, site: Site, start: Start, target: Target, case: Case) -> Episode | None:
        from_start = site.ground.distance_field([start.position])
        goal = min(target.goals, key=lambda goal: from_start.distance(goal.position))
        leg = walked(site, start.state, [goal.position], near=min(AT_THE_GOAL, site.near), limit=expert_limit(site))
        if leg is None:
            return None
        route = Route(site, sampled(leg.corners, spacing=SPACING), target)
        if len(route.stretches) < 2:
            return None
        phrases = Phrases(ROUTES, case.draw.fork("words"))
        text = route.instruction(math.degrees(yaw_of(start.pose.rotation)), phrases)
        info = {
            "target": target.category,
            "rooms": [stretch.region.category for stretch in route.stretches],
            "goal_in_sight": site.sees(start.position, target.thing),
        }
        leg = replace(leg, corners=tuple(sampled(leg.corners, spacing=WAY_POINTS)))
        return Episode(
            public=PublicEpisode(episode_id=case.episode_id, instruction=said(text)),
            private=private_half(site, start.pose, [leg], goals=(goal,), info=info),
        )
