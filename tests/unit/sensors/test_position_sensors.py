"""GPS, compass and point goal against the values that habitat-lab returns for the same poses."""

import json
import math

import numpy as np
import pytest
from sensor_support import make_context

from nav_eval.records.geometry import Pose, make_yaw_rotation
from nav_eval.sensors import CompassSensor, GpsSensor, PointGoalSensor, PoseSensor, SensorContext
from support.paths import TESTS

POSES = json.loads((TESTS / "data" / "oracle" / "oracle_habitat_sensors.json").read_text())["poses"]


def make_case(case: dict) -> SensorContext:
    start = Pose(tuple(case["start_position"]), tuple(case["start_rotation_xyzw"]))
    now = Pose(tuple(case["agent_position"]), tuple(case["agent_rotation_xyzw"]))
    return make_context(start, now, goal=tuple(case["goal_position"]))


SENSOR_CASES = {
    "gps2": GpsSensor(dimensionality=2),
    "gps3": GpsSensor(dimensionality=3),
    "compass": CompassSensor(),
    "pointgoal_polar": PointGoalSensor(updates=False),
    "pointgoal_cartesian": PointGoalSensor(updates=False, goal_format="cartesian"),
    "pointgoal_with_gps_compass_polar": PointGoalSensor(),
    "pointgoal_with_gps_compass_cartesian": PointGoalSensor(goal_format="cartesian"),
}


@pytest.mark.parametrize("case", POSES, ids=lambda case: case["id"])
@pytest.mark.parametrize("name", SENSOR_CASES)
def test_agrees_with_habitat(name: str, case: dict) -> None:
    ours = SENSOR_CASES[name].read("sensor", make_case(case))
    theirs = np.array(case["outputs"][name])
    difference = np.asarray(ours, dtype=np.float64) - theirs
    if name == "compass" or name.endswith("polar"):
        difference[-1] = math.remainder(difference[-1], 2 * math.pi)
    assert np.allclose(difference, 0.0, atol=2e-5), (ours, theirs)


FACING_LEFT = Pose((1.0, 0.0, 2.0), make_yaw_rotation(math.pi / 2))


def test_the_pose_matrix_is_relative_to_the_start() -> None:
    a_metre_on = Pose((0.0, 0.0, 2.0), FACING_LEFT.rotation)
    matrix = PoseSensor().read("sensor", make_context(FACING_LEFT, a_metre_on))
    assert matrix.shape == (3, 4)
    assert np.allclose(matrix, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, -1]], atol=1e-6)


def test_the_pose_in_the_world_is_the_pose() -> None:
    values = PoseSensor(frame="world", rotation="quaternion").read("sensor", make_context(FACING_LEFT, FACING_LEFT))
    assert np.allclose(values, (*FACING_LEFT.position, *FACING_LEFT.rotation))


def test_a_compass_vector_points_ahead() -> None:
    start = Pose((0.0, 0.0, 0.0))
    vector = CompassSensor(type="vector").read("sensor", make_context(start, FACING_LEFT))
    assert np.allclose(vector, (-1, 0, 0), atol=1e-6)


def test_a_spherical_gps_knows_up() -> None:
    start, up_left = Pose((0.0, 0.0, 0.0)), Pose((-1.0, 1.0, 0.0))
    values = GpsSensor(coordinate_system="spherical", dimensionality=3).read("sensor", make_context(start, up_left))
    assert np.allclose(values, (math.sqrt(2), math.pi / 2, math.pi / 4), atol=1e-6)
