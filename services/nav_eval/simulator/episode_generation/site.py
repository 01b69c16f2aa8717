"""A scene as the generator sees it: where one can stand, what can be seen from there, and who walks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from nav_eval.config.schema import BenchmarkConfig, RobotConfig
from nav_eval.dataset.episode import Pose, Vec3
from nav_eval.errors import ConfigError
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.model import Region, SceneObject, Semantics
from nav_eval.scene.navigation import Ground
from nav_eval.scene.navigation.angles import FULL_TURN, microdegrees
from nav_eval.simulator.actions import Body
from nav_eval.simulator.episode_generation.descriptions import Describer
from nav_eval.simulator.episode_generation.sight import Sight
from nav_eval.simulator.episode_generation.standing import RING, Beside, Lattice, is_inside, spread_out
from nav_eval.simulator.expert import Expert
from nav_eval.simulator.motion import AgentState, quaternion_of, turned
from nav_eval.simulator.scene_manager import Place

#: the expert stops well inside the success distance, as the oracle does
MARGIN = 0.75
LATTICE = 0.125  #: metres between places that are considered beside a thing
REACH = 1.0  #: metres from a thing's footprint; farther is not beside
_AHEAD = (0.0, -1.0)


class Start(NamedTuple):
    """Where an episode begins. The state follows from the pose, to the last bit; not the other way round."""

    pose: Pose
    state: AgentState

    @property
    def position(self) -> Vec3:
        return self.state.position


@dataclass(frozen=True, kw_only=True, eq=False)
class Surroundings:
    """What all robots of one shape share in a scene."""

    scene_id: str
    place: Place

    @property
    def ground(self) -> Ground:
        return self.place.ground

    @property
    def semantics(self) -> Semantics:
        return self.place.semantics

    @cached_property
    def sight(self) -> Sight:
        return Sight(self.place.scene)

    @cached_property
    def describer(self) -> Describer:
        return Describer(self.semantics)

    @cached_property
    def regions(self) -> dict[str, Region]:
        return {region.region_id: region for region in self.semantics.regions}

    @cached_property
    def lattice(self) -> Lattice:
        return Lattice(self.ground, self.semantics, spacing=LATTICE)

    def room_at(self, position: Vec3) -> str:
        """The kind of room that a place is in; empty where the scene does not say."""
        region = self.region_at(position)
        return "" if region is None else region.category

    def region_at(self, position: Vec3) -> Region | None:
        """The room that a place is in."""
        return next((region for region in self.semantics.regions if is_inside(region, position)), None)


@dataclass(frozen=True, kw_only=True, eq=False)
class Site:
    """One robot in one scene, under the rules of one benchmark."""

    around: Surroundings
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
            self._places[thing.object_id] = spread_out(self._nearest_in_sight(thing))
        return self._places[thing.object_id]

    def in_sight_of(self, thing: SceneObject, places: Sequence[Beside]) -> list[Beside]:
        """Those places from which the thing is seen."""
        seen = self.around.sight.seen_from([self.eye(place) for _, place in places], thing)
        return [place for place, is_seen in zip(places, seen, strict=True) if is_seen]

    def _nearest_in_sight(self, thing: SceneObject) -> list[Beside]:
        """Places that see the thing, up to a little farther than the nearest; rings, as few as it takes."""
        around = self.around.lattice.around(thing, within=REACH)
        while around:
            farthest = around[0].metres + RING
            ring = [place for place in around if place.metres <= farthest]
            seen = self.in_sight_of(thing, ring)
            if seen:
                wider = [p for p in around[len(ring) :] if p.metres <= seen[0].metres + RING]
                return seen + self.in_sight_of(thing, wider)
            around = around[len(ring) :]
        return []

    def eye(self, position: Vec3) -> Vec3:
        """Where the cameras are when the robot stands here."""
        return (position[0], position[1] + self.robot.camera_height, position[2])

    def sees(self, position: Vec3, thing: SceneObject) -> bool:
        return self.around.sight.seen_from([self.eye(position)], thing)[0]

    def sees_any(self, position: Vec3, things: Iterable[SceneObject]) -> bool:
        """Whether one of these is in a straight line from the cameras, wherever they look."""
        return any(self.sees(position, thing) for thing in things)

    def random_place(self, draw: Draw) -> Vec3:
        return self.ground.random_navigable_point(draw.below(2**53))

    def random_start(self, draw: Draw) -> Start:
        """Any place, facing any direction that whole turns lead to from −Z."""
        position = self.random_place(draw)
        return self.start(self.facing(position, turns=draw.below(FULL_TURN // microdegrees(self.turn_angle))))

    def start(self, pose: Pose) -> Start:
        return Start(pose, self.body.start(pose))

    def facing(self, position: Vec3, *, turns: int) -> Pose:
        """A pose so many whole turns left of −Z."""
        forward = turned(_AHEAD, turns * microdegrees(self.turn_angle) % FULL_TURN)
        return Pose(position=position, rotation=quaternion_of(forward))
