"""A scene as the generator sees it: where one can stand, what can be seen from there, and who walks.

Snapping the middle of a thing to the nearest ground may lead through a wall, and gives a bed one side only.
So we look at a lattice around the thing and keep what a person would accept as "there". Directions are degrees to the
left of −Z; they become words, never scores.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import NamedTuple

from nav_eval.config.schema import BenchmarkConfig, RobotConfig
from nav_eval.errors import ConfigError
from nav_eval.records.geometry import FULL_TURN, Pose, Vec3, to_microdegrees
from nav_eval.scene.model import Region, SceneObject, Semantics
from nav_eval.scene.navigation import Ground
from nav_eval.simulator.expert import Expert
from nav_eval.simulator.motion import AgentState, Body, to_quaternion, turn_direction
from nav_eval.simulator.scene_manager import NavigableScene
from nav_eval_worlds.episodes.footprint import measure_footprint_distance
from nav_eval_worlds.episodes.room_graph import RoomGraph
from nav_eval_worlds.episodes.visibility import SceneVisibility
from nav_eval_worlds.instructions.descriptions import Describer
from nav_eval_worlds.randomness import RandomStream

RING = 0.25  #: places this much farther than the nearest one are as good
APART = 0.5  #: metres between the places that are kept


class NearbyPlace(NamedTuple):
    """A place near a thing."""

    metres: float
    """To the thing's footprint."""
    place: Vec3


class PlaceLattice:
    """Regularly spaced places to stand, looked up once each."""

    def __init__(self, ground: Ground, semantics: Semantics, *, spacing: float) -> None:
        self.spacing = spacing
        self._ground = ground
        self._regions = {region.region_id: region for region in semantics.regions}
        self._at = cache(self._look_up)

    def around(self, thing: SceneObject, *, within: float) -> list[NearbyPlace]:
        """Places in the thing's room, no farther from its footprint than this; the nearest first."""
        floor = self._floor_below(thing)
        if floor is None:
            return []
        region = self._regions.get(thing.region or "")
        found = []
        for i, j in self._cells(thing, within):
            metres = measure_footprint_distance(thing, *self._xz(i, j))
            place = self._at(i, j, floor) if metres <= within else None
            if place is not None and (region is None or region.contains(place)):
                found.append(NearbyPlace(metres, place))
        return sorted(found)

    def _look_up(self, i: int, j: int, floor: float) -> Vec3 | None:
        """A place on the ground; None off it, and on islands that nobody starts from."""
        x, z = self._xz(i, j)
        point = (x, floor, z)
        return self._ground.snap_point(point) if self._ground.island(point) == 0 else None

    def _xz(self, i: int, j: int) -> tuple[float, float]:
        """Short numbers: files of view points are mostly these."""
        return round(i * self.spacing, 6), round(j * self.spacing, 6)

    def _floor_below(self, thing: SceneObject) -> float | None:
        """The height of the floor that the thing is on or above."""
        region = self._regions.get(thing.region or "")
        if region is not None:
            return region.lower[1]
        place = self._ground.snap_point(thing.center)
        return None if place is None else place[1]

    def _cells(self, thing: SceneObject, within: float) -> Iterator[tuple[int, int]]:
        (x, _, z), (width, _, depth) = thing.center, thing.size
        first, last = x - width / 2 - within, x + width / 2 + within
        top, bottom = z - depth / 2 - within, z + depth / 2 + within
        for i in range(math.ceil(first / self.spacing), math.floor(last / self.spacing) + 1):
            for j in range(math.ceil(top / self.spacing), math.floor(bottom / self.spacing) + 1):
                yield i, j


def spread_out(seen: Sequence[NearbyPlace]) -> tuple[Vec3, ...]:
    """A few of the places, all around the thing."""
    kept: list[Vec3] = []
    for _, place in seen:
        if all(math.dist(place, other) >= APART for other in kept):
            kept.append(place)
    return tuple(kept)


#: the expert stops well inside the success distance, as the oracle does
MARGIN = 0.75
LATTICE = 0.125  #: metres between places that are considered beside a thing
REACH = 1.0  #: metres from a thing's footprint; farther is not beside
_AHEAD = (0.0, -1.0)


class AgentStart(NamedTuple):
    """Where an episode begins. The state follows from the pose, to the last bit; not the other way round."""

    pose: Pose
    state: AgentState

    @property
    def position(self) -> Vec3:
        return self.state.position


@dataclass(frozen=True, kw_only=True, eq=False)
class SceneContext:
    """What all robots of one shape share in a scene."""

    scene_id: str
    place: NavigableScene

    @property
    def ground(self) -> Ground:
        return self.place.ground

    @property
    def semantics(self) -> Semantics:
        return self.place.semantics

    @cached_property
    def visibility(self) -> SceneVisibility:
        return SceneVisibility(self.place.scene)

    @cached_property
    def describer(self) -> Describer:
        return Describer(self.semantics)

    @cached_property
    def regions(self) -> dict[str, Region]:
        return {region.region_id: region for region in self.semantics.regions}

    @cached_property
    def rooms(self) -> RoomGraph:
        return RoomGraph(self.semantics, self.ground)

    @cached_property
    def lattice(self) -> PlaceLattice:
        return PlaceLattice(self.ground, self.semantics, spacing=LATTICE)

    def room_at(self, position: Vec3) -> str:
        """The kind of room that a place is in; empty where the scene does not say."""
        region = self.region_at(position)
        return "" if region is None else region.category

    def region_at(self, position: Vec3) -> Region | None:
        """The room that a place is in."""
        return next((region for region in self.semantics.regions if region.contains(position)), None)


@dataclass(frozen=True, kw_only=True, eq=False)
class Site:
    """One robot in one scene, under the rules of one benchmark."""

    around: SceneContext
    benchmark: BenchmarkConfig
    robot: RobotConfig

    @property
    def ground(self) -> Ground:
        return self.around.ground

    @cached_property
    def body(self) -> Body:
        return Body(self.benchmark.task, self.ground, sliding=self.benchmark.simulator.physics.allow_sliding)

    @cached_property
    def turn_angle(self) -> float:
        """Degrees of one turn action."""
        turn = self.benchmark.task.action("turn_left")
        if turn is None:
            raise ConfigError("Episodes are generated for tasks with turn_left, turn_right and move_forward.")
        return turn.params["turn_angle"]

    @cached_property
    def expert(self) -> Expert:
        return Expert(self.body, turn_angle=self.turn_angle)

    @property
    def near(self) -> float:
        """Metres from a goal at which the expert stops."""
        return self.benchmark.evaluation.success_distance * MARGIN

    @cached_property
    def _places(self) -> dict[int, tuple[Vec3, ...]]:
        return {}

    def places_beside(self, thing: SceneObject) -> tuple[Vec3, ...]:
        """Where one stands right beside a thing and sees it; empty where nobody can."""
        if thing.object_id not in self._places:
            self._places[thing.object_id] = spread_out(self._find_nearest_viewing_places(thing))
        return self._places[thing.object_id]

    def select_viewing_places(self, thing: SceneObject, places: Sequence[NearbyPlace]) -> list[NearbyPlace]:
        """Those places from which the thing is seen."""
        seen = self.around.visibility.check_visible_from([self.eye(place) for _, place in places], thing)
        return [place for place, is_seen in zip(places, seen, strict=True) if is_seen]

    def _find_nearest_viewing_places(self, thing: SceneObject) -> list[NearbyPlace]:
        """Places that see the thing, up to a little farther than the nearest; rings, as few as it takes."""
        around = self.around.lattice.around(thing, within=REACH)
        while around:
            farthest = around[0].metres + RING
            ring = [place for place in around if place.metres <= farthest]
            seen = self.select_viewing_places(thing, ring)
            if seen:
                wider = [p for p in around[len(ring) :] if p.metres <= seen[0].metres + RING]
                return seen + self.select_viewing_places(thing, wider)
            around = around[len(ring) :]
        return []

    def eye(self, position: Vec3) -> Vec3:
        """Where the cameras are when the robot stands here."""
        return (position[0], position[1] + self.robot.camera_height, position[2])

    def sees(self, position: Vec3, thing: SceneObject) -> bool:
        return self.around.visibility.check_visible_from([self.eye(position)], thing)[0]

    def sees_any(self, position: Vec3, things: Iterable[SceneObject]) -> bool:
        """Whether one of these is in a straight line from the cameras, wherever they look."""
        return any(self.sees(position, thing) for thing in things)

    def random_place(self, draw: RandomStream) -> Vec3:
        return self.ground.random_navigable_point(draw.below(2**53))

    def random_start(self, draw: RandomStream) -> AgentStart:
        """Any place, facing any direction that whole turns lead to from −Z."""
        position = self.random_place(draw)
        return self.start(
            self.make_facing_pose(position, turns=draw.below(FULL_TURN // to_microdegrees(self.turn_angle)))
        )

    def start(self, pose: Pose) -> AgentStart:
        return AgentStart(pose, self.body.start(pose))

    def make_facing_pose(self, position: Vec3, *, turns: int) -> Pose:
        """A pose so many whole turns left of −Z."""
        forward = turn_direction(_AHEAD, turns * to_microdegrees(self.turn_angle) % FULL_TURN)
        return Pose(position=position, rotation=to_quaternion(forward))


AHEAD, ROUND = 35.0, 140.0  #: less is straight on, more is turning round


def compute_heading(start: Vec3, end: Vec3) -> float:
    """The direction from one place to another."""
    return math.degrees(math.atan2(start[0] - end[0], start[2] - end[2]))


def wrap_degrees(degrees: float) -> float:
    """In [−180, 180)."""
    return (degrees + 180.0) % 360.0 - 180.0


def name_side(degrees: float) -> str:
    return "left" if degrees > 0 else "right"


def sample_path(corners: Sequence[Vec3], *, spacing: float) -> list[Vec3]:
    """Points along a path, evenly spaced."""
    points = [corners[0]]
    for start, end in pairwise(corners):
        count = max(1, round(math.dist(start, end) / spacing))
        for n in range(1, count + 1):
            part = n / count
            points.append(
                (
                    start[0] + (end[0] - start[0]) * part,
                    start[1] + (end[1] - start[1]) * part,
                    start[2] + (end[2] - start[2]) * part,
                )
            )
    return points
