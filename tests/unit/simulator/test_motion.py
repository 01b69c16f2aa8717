"""Motion: exact headings, bounded actions, walls counted."""

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nav_eval.errors import NavigationMeshError, SimulatorError
from nav_eval.records import geometry
from nav_eval.records.geometry import Pose
from nav_eval.scene.navigation import OpenPlane, StepResult
from nav_eval.simulator.motion import (
    ActionRefused,
    ActionRule,
    AgentState,
    DiscreteMotion,
    Effect,
    VelocityMotion,
    make_standard_actions,
    to_forward,
    to_quaternion,
)

ORIGIN = Pose((0.0, 0.0, 0.0))


@dataclass(frozen=True, slots=True)
class HalfPlane(OpenPlane):
    """Open ground up to a wall at x = 1."""

    def is_navigable(self, point):
        return point[0] <= 1.0

    def snap_point(self, point):
        return None if point[0] > 2.0 else (min(point[0], 1.0), point[1], point[2])

    def try_step(self, start, end, *, sliding):
        return StepResult((min(end[0], 1.0), start[1], end[2]), end[0] > 1.0)


def walk(motion, state, *actions):
    for action in actions:
        state = motion.apply(state, action)
    return state


@given(st.floats(-math.pi, math.pi))
def test_start_direction_agrees_with_the_frame_conventions(yaw):
    x, z = to_forward(geometry.make_yaw_rotation(yaw))
    assert math.isclose(x, -math.sin(yaw), abs_tol=1e-12)
    assert math.isclose(z, -math.cos(yaw), abs_tol=1e-12)


@given(st.floats(-3.1, 3.1), st.floats(-1.2, 1.2))
def test_a_tilted_start_keeps_its_yaw_only(yaw, pitch):
    tilted = geometry.multiply_rotations(
        geometry.make_yaw_rotation(yaw), (math.sin(pitch / 2), 0.0, 0.0, math.cos(pitch / 2))
    )
    assert to_forward(tilted) == pytest.approx(to_forward(geometry.make_yaw_rotation(yaw)), abs=1e-9)


@given(st.floats(-math.pi, math.pi))
def test_quaternions_come_back_from_directions(yaw):
    rotation = to_quaternion(to_forward(geometry.make_yaw_rotation(yaw)))
    assert to_forward(rotation) == pytest.approx((-math.sin(yaw), -math.cos(yaw)), abs=1e-12)
    assert math.isclose(math.hypot(*rotation), 1.0, abs_tol=1e-12)


@pytest.mark.parametrize("rotation", [(0, 0, 0, 0), (math.nan, 0, 0, 1), (math.sqrt(0.5), 0, 0, math.sqrt(0.5))])
def test_a_start_that_faces_nowhere_is_refused(rotation):
    with pytest.raises(SimulatorError, match="horizontal direction"):
        to_forward(rotation)


def test_an_unnormalised_quaternion_is_its_direction():
    assert to_forward((0.0, 3.0, 0.0, 3.0)) == to_forward((0.0, 1.0, 0.0, 1.0)) == (-1.0, 0.0)


@pytest.mark.parametrize("angle", [10, 15, 22.5, 30, 90])
def test_a_full_circle_of_turns_is_exactly_no_turn(angle):
    motion = DiscreteMotion(OpenPlane(), make_standard_actions(turn_angle=angle))
    start = motion.start(Pose((1.0, 2.0, 3.0), geometry.make_yaw_rotation(0.7)))
    state = walk(motion, start, *["turn_left"] * round(360 / angle))
    assert state == start
    assert walk(motion, state, "turn_left", "turn_right") == start


def test_left_is_left_and_forward_is_minus_z():
    motion = DiscreteMotion(OpenPlane(), make_standard_actions(turn_angle=90))
    state = walk(motion, motion.start(ORIGIN), "move_forward")
    assert state.position == (0.0, 0.0, -0.25)
    state = walk(motion, state, "turn_left", "move_forward")
    assert state.position == (-0.25, 0.0, -0.25)
    assert state.yaw == pytest.approx(math.pi / 2)


@given(st.lists(st.sampled_from(["move_forward", "turn_left", "turn_right", "look_up", "stop"]), max_size=60))
def test_twelve_sided_walks_follow_ordinary_trigonometry(actions):
    motion = DiscreteMotion(OpenPlane(), make_standard_actions(turn_angle=30))
    state = walk(motion, motion.start(Pose((0.0, 0.0, 0.0), geometry.make_yaw_rotation(1.0))), *actions)
    yaw, x, z = 1.0, 0.0, 0.0
    for action in actions:
        yaw += {"turn_left": math.pi / 6, "turn_right": -math.pi / 6}.get(action, 0.0)
        if action == "move_forward":
            x, z = x - 0.25 * math.sin(yaw), z - 0.25 * math.cos(yaw)
    assert state.position == pytest.approx((x, 0.0, z), abs=1e-9)


def test_collisions_are_counted_where_they_happen():
    motion = DiscreteMotion(HalfPlane(), make_standard_actions(turn_angle=90))
    state = motion.start(Pose((0.9, 0.0, 0.0), geometry.make_yaw_rotation(-math.pi / 2)))
    state = walk(motion, state, "move_forward", "move_forward")
    assert (state.position[0], state.collided, state.collisions) == (1.0, True, 2)
    state = walk(motion, state, "turn_left")
    assert (state.collided, state.collisions) == (False, 2)


def test_a_start_off_the_ground_is_moved_onto_it_or_refused():
    motion = DiscreteMotion(HalfPlane(), make_standard_actions())
    assert motion.start(Pose((1.5, 0.0, 0.0))).position == (1.0, 0.0, 0.0)
    with pytest.raises(NavigationMeshError, match="no ground nearby"):
        motion.start(Pose((5.0, 0.0, 0.0)))


def test_looking_stops_at_the_zenith():
    motion = DiscreteMotion(OpenPlane(), make_standard_actions(tilt_angle=30), max_tilt=60)
    assert walk(motion, motion.start(ORIGIN), *["look_up"] * 5).tilt == 60_000_000
    assert walk(motion, motion.start(ORIGIN), *["look_down"] * 5).tilt == -60_000_000


def test_arguments_are_taken_where_the_task_allows_them():
    actions = make_standard_actions() | {"move_forward": ActionRule(effect=Effect.MOVE, amount=0.25, largest=0.5)}
    motion = DiscreteMotion(OpenPlane(), actions)
    assert motion.apply(motion.start(ORIGIN), "move_forward", {"step_size": 0.5}).position == (0.0, 0.0, -0.5)


@pytest.mark.parametrize(
    ("action", "arguments", "message"),
    [
        ("fly", {}, "not part of this task"),
        ("turn_left", {"turn_angle": 5}, "takes no arguments"),
        ("move_forward", {"step_size": 0.6}, "at most 0.5"),
        ("move_forward", {"step_size": 0.0}, "above 0"),
        ("move_forward", {"step_size": math.nan}, "above 0"),
        ("move_forward", {"step_size": True}, "above 0"),
        ("move_forward", {"step_size": "0.2"}, "above 0"),
        ("move_forward", {"speed": 1.0}, "no argument 'speed'"),
        ("stop", {"now": 1}, "no argument 'now'"),
    ],
)
def test_actions_out_of_bounds_are_refused(action, arguments, message):
    actions = make_standard_actions() | {"move_forward": ActionRule(effect=Effect.MOVE, amount=0.25, largest=0.5)}
    motion = DiscreteMotion(OpenPlane(), actions)
    with pytest.raises(ActionRefused, match=message):
        motion.apply(motion.start(ORIGIN), action, arguments)


def test_velocities_trace_a_circle():
    motion = VelocityMotion(OpenPlane(), max_angular=90)
    state = motion.start(ORIGIN)
    for _ in range(360):
        state = motion.apply(state, linear=1.0, angular=10.0, seconds=0.1)
    assert state.heading == 0
    assert state.position == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)


@pytest.mark.parametrize(
    "velocity",
    [
        {"linear": 1.5, "angular": 0.0, "seconds": 0.1},
        {"linear": 0.0, "angular": math.nan, "seconds": 0.1},
        {"linear": 0.0, "angular": 0.0, "seconds": 0.0},
    ],
)
def test_velocities_out_of_bounds_are_refused(velocity):
    motion = VelocityMotion(OpenPlane())
    with pytest.raises(ActionRefused):
        motion.apply(AgentState((0.0, 0.0, 0.0), (0.0, -1.0)), **velocity)
