"""Episodes with one goal to search for (ObjectNav, ImageNav, PointNav): a category, what a picture shows, a point.

A thing is found where it is seen from nearby: those places are the goal's view points, and one of them has the camera
of its picture.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from nav_eval.dataset.episode import Episode, Goal, GoalImage, PublicEpisode
from nav_eval.generator_version import FIRST_GENERATOR, GeneratorVersion
from nav_eval.records.geometry import Pose, Quaternion, Vec3, make_yaw_rotation, measure_distance, multiply_rotations
from nav_eval.scene.model import SceneObject
from nav_eval.tasks.base import find_target_points
from nav_eval_worlds.episodes.balance import Quota
from nav_eval_worlds.episodes.base import (
    EpisodeAttempt,
    EpisodeGenerator,
    ExpertLeg,
    GenerationRequest,
    get_expert_limit,
    is_visible_start_allowed,
    make_private_half,
    walk_leg,
)
from nav_eval_worlds.episodes.site import AgentStart, PlaceLattice, Site
from nav_eval_worlds.instructions.words import is_target
from nav_eval_worlds.randomness import RandomStream

WITHIN = 1.0  #: metres from a thing's footprint to its view points, as in ObjectNav's datasets
#: metres between view points: closer than the success distance, so that an agent cannot stand between them
CLOSEST, WIDEST = 0.1, 0.25
CAMERA_NEAR, CAMERA_FAR = 0.6, 2.4  #: metres from a thing's footprint to the camera of its picture
CAMERA_SEES = 0.7  #: share of a thing that its picture must show
FLAT = 0.1  #: metres; thinner things hang on walls
PICTURE = 512  #: pixels on each side
HFOV = (60.0, 75.0, 90.0)


def make_view_lattice(site: Site) -> PlaceLattice:
    """The places that may become view points under the benchmark's success distance."""
    spacing = min(max(site.benchmark.evaluation.success_distance, CLOSEST), WIDEST)
    return PlaceLattice(site.ground, site.around.semantics, spacing=spacing)


def make_seen_goal(thing: SceneObject, site: Site, lattice: PlaceLattice) -> Goal | None:
    """A thing with everywhere that one sees it from nearby; None for what nobody sees."""
    seen = site.select_viewing_places(thing, lattice.around(thing, within=WITHIN))
    if not seen:
        return None
    return Goal(
        position=seen[0].place,
        object_id=str(thing.object_id),
        category=thing.category,
        view_points=tuple(
            Pose(_round_place(place), _round_rotation(make_look_rotation(place, thing.center))) for _, place in seen
        ),
    )


def make_goal_image(thing: SceneObject, site: Site, draw: RandomStream) -> GoalImage | None:
    """A camera at the robot's eye height that shows the thing whole; None where there is no room for one."""
    around = site.around.lattice.around(thing, within=CAMERA_FAR)
    far_enough = [beside.place for beside in around if beside.metres >= CAMERA_NEAR]
    for place in draw.shuffle(far_enough):
        eye = _round_place(site.eye(place))
        hfov = draw.choice(HFOV)
        if _is_in_picture(thing, eye, hfov) and site.around.visibility.compute_visible_share(eye, thing) >= CAMERA_SEES:
            rotation = multiply_rotations(
                make_look_rotation(eye, thing.center), _make_pitch_rotation(eye, thing.center)
            )
            return GoalImage(pose=Pose(eye, _round_rotation(rotation)), hfov=hfov, width=PICTURE, height=PICTURE)
    return None


def make_look_rotation(place: Vec3, target: Vec3) -> Quaternion:
    """Turned towards a target, level."""
    return make_yaw_rotation(math.atan2(place[0] - target[0], place[2] - target[2]))


def _make_pitch_rotation(eye: Vec3, target: Vec3) -> Quaternion:
    up = math.atan2(target[1] - eye[1], math.hypot(target[0] - eye[0], target[2] - eye[2]))
    return (math.sin(up / 2), 0.0, 0.0, math.cos(up / 2))


def _is_in_picture(thing: SceneObject, eye: Vec3, hfov: float) -> bool:
    """Neither cut off nor a dot, and flat things not from the side."""
    angle = 2 * math.degrees(math.atan2(max(thing.size) / 2, math.dist(eye, thing.center)))
    return 0.15 * hfov <= angle <= 0.85 * hfov and _is_facing(thing, eye)


def _is_facing(thing: SceneObject, eye: Vec3) -> bool:
    """Things that hang on a wall are seen from before it."""
    width, _, depth = thing.size
    if min(width, depth) >= FLAT:
        return True
    x, z = abs(eye[0] - thing.center[0]), abs(eye[2] - thing.center[2])
    return x >= z if width < depth else z >= x


def _round_place(place: Vec3) -> Vec3:
    """Tenths of millimetres: thousands of view points go into a file."""
    return (round(place[0], 4), round(place[1], 4), round(place[2], 4))


def _round_rotation(rotation: Quaternion) -> Quaternion:
    x, y, z, w = (round(value, 6) + 0.0 for value in rotation)
    return (x, y, z, w)


#: geodesic metres to the goal; short ways only where a scene has no longer ones
SHORTEST, SHORT, LONGEST = 3.0, 1.0, 30.0
LEAST_SIZE = 0.2  #: metres; smaller things are hard to see in any picture
LEAST_FACE = 0.04  #: square metres of a thing's largest side, from generator 2 on: goals of the field are as large
LEAST_PICTURED = 0.35  #: metres; a picture of one plate among others would say too little
MOST_INSTANCES = 12  #: of a category that is worth searching for
#: PointNav: straighter ways than this are mostly dropped, as Habitat's generator does
LEAST_DETOUR = 1.1
SAME_FLOOR, ON_FLOOR = 0.5, 0.1  #: metres of height


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SearchGoal:
    """Something to search for: all things of a category, or one thing."""

    category: str
    room: str
    things: tuple[SceneObject, ...]


class SearchGenerator(EpisodeGenerator):
    """What searches for things have in common."""

    def __init__(self, sites: Sequence[Site], order: GenerationRequest, quota: Quota) -> None:
        self._sites = sites
        self._quota = quota
        self._generator = order.generator
        self._lattices = [make_view_lattice(site) for site in sites]
        self._goals: dict[tuple[int, int], Goal | None] = {}
        self._sought = self.sought(sites[0])

    def sought(self, site: Site) -> list[SearchGoal]:
        """Everything that a scene offers for a search."""
        raise NotImplementedError

    def episode(
        self, case: EpisodeAttempt, robot: int, sought: SearchGoal, goals: tuple[Goal, ...], start: AgentStart
    ) -> Episode | None:
        """The episode of one search; None if it does not work out."""
        raise NotImplementedError

    def draw(self, case: EpisodeAttempt, *, strict: bool) -> Episode | None:
        robot = case.number % len(self._sites)
        site = self._sites[robot]
        start = site.random_start(case.draw.fork("start"))
        room = site.around.room_at(start.position)
        sightless = not is_visible_start_allowed(case.draw)
        for sought in self._quota.rank(self._sought, coming_from=room, draw=case.draw.fork("sought")):
            if sightless and site.sees_any(start.position, sought.things):
                continue
            goals = self._find_goals(sought, robot)
            if goals and _is_far(site, start, goals, shortest=SHORTEST if strict else SHORT):
                episode = self.episode(case, robot, sought, goals, start)
                if episode is not None:
                    self._quota.note(sought, coming_from=room)
                return episode
        return None

    def _find_goals(self, sought: SearchGoal, robot: int) -> tuple[Goal, ...]:
        return tuple(goal for thing in sought.things if (goal := self._find_goal(thing, robot)) is not None)

    def _find_goal(self, thing: SceneObject, robot: int) -> Goal | None:
        key = (robot, thing.object_id)
        if key not in self._goals:
            self._goals[key] = make_seen_goal(thing, self._sites[robot], self._lattices[robot])
        return self._goals[key]

    def _build_episode(
        self, public: PublicEpisode, robot: int, sought: SearchGoal, goals: tuple[Goal, ...], start: AgentStart
    ) -> Episode | None:
        site = self._sites[robot]
        leg = walk_to_goal(site, start, goals)
        if leg is None or leg.geodesic < SHORT:
            return None
        info = {
            "target": sought.category,
            "rooms": [site.around.room_at(start.position), sought.room],
            "goal_in_sight": site.sees_any(start.position, sought.things),
        }
        return Episode(public=public, private=make_private_half(site, start.pose, [leg], goals=goals, info=info))


class ObjectNavGenerator(SearchGenerator):
    """ObjectNav: any thing of a category."""

    def sought(self, site: Site) -> list[SearchGoal]:
        by_category: dict[str, list[SceneObject]] = {}
        for thing in site.around.semantics.objects:
            if is_target(thing):
                by_category.setdefault(thing.category, []).append(thing)
        return [
            SearchGoal(category=category, room=_find_shared_room(site, things), things=tuple(things))
            for category, things in by_category.items()
            if len(things) <= MOST_INSTANCES and any(is_worth_a_search(thing, self._generator) for thing in things)
        ]

    def episode(
        self, case: EpisodeAttempt, robot: int, sought: SearchGoal, goals: tuple[Goal, ...], start: AgentStart
    ) -> Episode | None:
        public = PublicEpisode(episode_id=case.episode_id, object_category=sought.category)
        return self._build_episode(public, robot, sought, goals, start)


def is_worth_a_search(thing: SceneObject, generator: GeneratorVersion) -> bool:
    """Whether a thing is large enough to be looked for by its category's name."""
    _, middle, longest = sorted(thing.size)
    return longest >= LEAST_SIZE and (generator == FIRST_GENERATOR or middle * longest >= LEAST_FACE)


class ImageNavGenerator(SearchGenerator):
    """ImageNav: the very thing that a picture shows."""

    def sought(self, site: Site) -> list[SearchGoal]:
        return [
            SearchGoal(category=thing.category, room=_find_shared_room(site, [thing]), things=(thing,))
            for thing in site.around.semantics.objects
            if is_target(thing) and max(thing.size) >= LEAST_PICTURED
        ]

    def episode(
        self, case: EpisodeAttempt, robot: int, sought: SearchGoal, goals: tuple[Goal, ...], start: AgentStart
    ) -> Episode | None:
        image = make_goal_image(sought.things[0], self._sites[robot], case.draw.fork("picture"))
        if image is None:
            return None
        shown = (msgspec.structs.replace(goals[0], image=image),)
        return self._build_episode(PublicEpisode(episode_id=case.episode_id), robot, sought, shown, start)


class PointNavGenerator(EpisodeGenerator):
    """PointNav: a point that is not simply straight ahead; in generator 1 always on the same floor."""

    def __init__(self, sites: Sequence[Site], order: GenerationRequest, quota: Quota) -> None:
        self._sites = sites

    def draw(self, case: EpisodeAttempt, *, strict: bool) -> Episode | None:
        site = self._sites[case.number % len(self._sites)]
        start = site.random_start(case.draw.fork("start"))
        point = site.random_place(case.draw.fork("goal"))
        if not _may_be_goal(site, start, point, case.draw) or not _is_worth_walking(site, start, point, case.draw):
            return None
        goals = (Goal(position=point),)
        leg = walk_to_goal(site, start, goals)
        if leg is None:
            return None
        info = {"rooms": [site.around.room_at(start.position), site.around.room_at(point)]}
        return Episode(
            public=PublicEpisode(episode_id=case.episode_id),
            private=make_private_half(site, start.pose, [leg], goals=goals, info=info),
        )


def _may_be_goal(site: Site, start: AgentStart, point: Vec3, draw: RandomStream) -> bool:
    """A point on a floor, not somewhere on the stairs; later generators lead to other floors, too."""
    if draw.generator == FIRST_GENERATOR or abs(point[1] - start.position[1]) <= SAME_FLOOR:
        return abs(point[1] - start.position[1]) <= SAME_FLOOR
    region = site.around.region_at(point)
    return region is not None and abs(point[1] - region.lower[1]) <= ON_FLOOR


def walk_to_goal(site: Site, start: AgentStart, goals: tuple[Goal, ...]) -> ExpertLeg | None:
    """The expert's way, measured as the benchmark measures it."""
    to_view_points = site.benchmark.evaluation.distance_to == "view_points"
    return walk_leg(
        site, start.state, find_target_points(goals, to_view_points=to_view_points), limit=get_expert_limit(site)
    )


def _is_far(site: Site, start: AgentStart, goals: Sequence[Goal], *, shortest: float) -> bool:
    from_start = site.ground.distance_field([start.position])
    return shortest <= min(map(from_start.distance, _sample_view_points(goals))) <= LONGEST


def _sample_view_points(goals: Sequence[Goal]) -> Iterator[Vec3]:
    """Every view point is too many for a first look; the nearest to each thing will do."""
    for goal in goals:
        yield goal.position


def _is_worth_walking(site: Site, start: AgentStart, point: Vec3, draw: RandomStream) -> bool:
    line = measure_distance(start.position, point)
    metres = site.ground.geodesic_distance(start.position, point)
    if not (SHORT <= metres <= LONGEST and math.isfinite(metres)):
        return False
    detour = metres / line
    return detour >= LEAST_DETOUR or draw.fork("straight").chance(20 * max(detour - 0.98, 0.0) ** 2)


def _find_shared_room(site: Site, things: Sequence[SceneObject]) -> str:
    """The kind of room, where all are in one kind."""
    kinds = {site.around.describer.room_kind(thing.region) or "" for thing in things}
    return kinds.pop() if len(kinds) == 1 else "several"
