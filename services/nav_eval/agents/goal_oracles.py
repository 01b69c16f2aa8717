"""Oracles that name goals instead of actions: the proof that waypoints, pixels and trajectories can be solved.

They know the way like the oracle, and where they are from gps and compass, as any agent does: what the controller
made of their last goal they see and need not know.
"""

import itertools
import math

from nav_eval.agents.baselines import BaselineContext, BaselineObservation
from nav_eval.agents.messages import Action
from nav_eval.agents.oracle import Oracle
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.errors import ConfigError
from nav_eval.records.geometry import (
    FULL_TURN,
    MICRODEGREES,
    Pose,
    Vec3,
    invert_rotation,
    make_rotation,
    rotate_vector,
    to_microdegrees,
)
from nav_eval.sensors import CameraSensor
from nav_eval.simulator.motion import AgentState

AHEAD = 12  #: actions of the expert that an answer covers
LEAST_DEPTH = 0.8  #: metres; a pixel closer than this is at one's own feet


class GoalOracle(Oracle):
    """Looks where it is, asks the expert for the next few actions, and names where they lead."""

    def __init__(self, context: BaselineContext) -> None:
        super().__init__(context)
        self.sensors = ("gps", "compass")

    def reset(self, episode: PublicEpisode) -> None:
        super().reset(episode)
        self._start = self._state

    def act(self, observation: BaselineObservation) -> Action | str:
        self._state = self._locate(observation)
        states = self._walk_ahead()
        return self._name_goal(observation, states) if len(states) > 1 else "stop"

    def _name_goal(self, observation: BaselineObservation, states: list[AgentState]) -> Action | str:
        raise NotImplementedError

    def _locate(self, observation: BaselineObservation) -> AgentState:
        """Where the sensors say that one is; headings are whole turns."""
        forward, right = (float(number) for number in observation.sensors["gps"][:2])
        turned = to_microdegrees(math.degrees(float(observation.sensors["compass"][0])))
        turn = to_microdegrees(self._turn_angle)
        (x, _, z), (ahead_x, ahead_z) = self._start.position, self._start.start_forward
        y = self._state.position[1]
        place = (x + forward * ahead_x - right * ahead_z, y, z + forward * ahead_z + right * ahead_x)
        position = self._ground.snap_point(place) or place
        return self._start._replace(position=position, heading=round(turned / turn) * turn % FULL_TURN)

    def _walk_ahead(self) -> list[AgentState]:
        """Where the expert's next actions lead, the start included."""
        near = self._benchmark.evaluation.success_distance * 0.75
        return list(self._expert.walk(self._state, self._fields[0], near=near, limit=AHEAD).states)


def to_body(state: AgentState, place: Vec3) -> tuple[float, float]:
    """Metres ahead and to the left."""
    x, z = place[0] - state.position[0], place[2] - state.position[2]
    ahead_x, ahead_z = state.forward
    return x * ahead_x + z * ahead_z, x * ahead_z - z * ahead_x


class WaypointOracle(GoalOracle):
    """Names the end of the expert's first straight piece."""

    name = "waypoint_oracle"

    def _name_goal(self, observation: BaselineObservation, states: list[AgentState]) -> Action | str:
        forward, left = to_body(self._state, find_straight_end(states).position)
        return Action(name="waypoint", arguments={"forward": forward, "left": left})


def find_straight_end(states: list[AgentState]) -> AgentState:
    """The last of the first steps in one direction."""
    moved = [after for before, after in itertools.pairwise(states) if after.position != before.position]
    straight = list(itertools.takewhile(lambda state: state.heading == moved[0].heading, moved))
    return straight[-1] if straight else states[-1]


class TrajectoryOracle(GoalOracle):
    """Names every place that the expert's next actions lead through."""

    name = "trajectory_oracle"

    def _name_goal(self, observation: BaselineObservation, states: list[AgentState]) -> Action | str:
        places = [to_body(self._state, state.position) for state in states[1:]]
        poses = tuple(Pose((-left, 0.0, -forward)) for forward, left in places)
        return Action(name="trajectory", poses=poses)


class PixelOracle(GoalOracle):
    """Names the pixel that shows the floor where it wants to go; turns and steps where it cannot see that."""

    name = "pixel_oracle"

    def __init__(self, context: BaselineContext, *, camera: str) -> None:
        super().__init__(context)
        sensor = context.benchmark.sensors().get(camera)
        if not isinstance(sensor, CameraSensor) or sensor.kind != "depth":
            raise ConfigError(f"The pixel oracle needs a depth camera, and {camera!r} is none of this benchmark.")
        self.sensors = (*self.sensors, camera)
        self._name, self._camera = camera, sensor

    def _name_goal(self, observation: BaselineObservation, states: list[AgentState]) -> Action | str:
        pixel = self._find_pixel(find_straight_end(states).position)
        if pixel is None or not self._is_floor(observation, *pixel):
            return self.advise()
        u, v, _ = pixel
        return Action(name="pixel_goal", arguments={"u": u, "v": v}, camera=self._name)

    def _find_pixel(self, place: Vec3) -> tuple[float, float, float] | None:
        """Where the camera shows a place, and at which depth; None outside the picture."""
        spec = self._camera.spec.camera
        assert spec is not None  # it is a camera
        forward, left = to_body(self._state, place)
        tilt = make_rotation(0.0, math.radians(self._state.tilt / MICRODEGREES))
        from_camera = (-left - spec.pose.position[0], -spec.pose.position[1], -forward - spec.pose.position[2])
        x, y, z = rotate_vector(invert_rotation(tilt), rotate_vector(invert_rotation(spec.pose.rotation), from_camera))
        if -z < LEAST_DEPTH:
            return None
        u = spec.width / 2 + spec.focal_length * x / -z
        v = spec.height / 2 - spec.focal_length * y / -z
        return (u, v, -z) if 0 <= u < spec.width and 0 <= v < spec.height else None

    def _is_floor(self, observation: BaselineObservation, u: float, v: float, depth: float) -> bool:
        """Whether nothing stands between the camera and the place."""
        seen = float(observation.sensors[self._name][int(v), int(u)])
        return abs(seen - depth) < 0.15
