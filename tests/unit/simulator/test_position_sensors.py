"""GPS, compass and point goal against the values that habitat-lab returns for the same poses."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from nav_eval.config.schema import CompassSensor, GpsSensor, ObjectGoalSensor, PointGoalSensor, PoseSensor
from nav_eval.dataset.episode import Episode, Goal, Instruction, Pose, PrivateEpisode, PublicEpisode
from nav_eval.errors import DatasetError
from nav_eval.frames import quaternion_from_yaw
from nav_eval.simulator.sensors import SENSORS, Moment, TextValue
from nav_eval.simulator.sensors.goals import ObjectGoal, PointGoal
from nav_eval.simulator.sensors.position import Compass, FullPose, Gps

POSES = json.loads((Path(__file__).parents[2] / "data" / "oracle" / "oracle_habitat_sensors.json").read_text())["poses"]


def moment(start: Pose, now: Pose, *, goal: tuple[float, float, float] | None = None, **public: object) -> Moment:
    goals = () if goal is None else (Goal(position=goal),)
    episode = Episode(
        public=PublicEpisode(episode_id="e", **public),  # type: ignore[arg-type]
        private=PrivateEpisode(scene_id="s", start=start, goals=goals),
    )
    return Moment(episode=episode, start=start, now=now, category_ids={"chair": 3})


def case_moment(case: dict) -> Moment:
    start = Pose(tuple(case["start_position"]), tuple(case["start_rotation_xyzw"]))
    now = Pose(tuple(case["agent_position"]), tuple(case["agent_rotation_xyzw"]))
    return moment(start, now, goal=tuple(case["goal_position"]))


SENSOR_CASES = {
    "gps2": Gps(GpsSensor(dimensionality=2)),
    "gps3": Gps(GpsSensor(dimensionality=3)),
    "compass": Compass(CompassSensor()),
    "pointgoal_polar": PointGoal(PointGoalSensor(updates=False)),
    "pointgoal_cartesian": PointGoal(PointGoalSensor(updates=False, goal_format="cartesian")),
    "pointgoal_with_gps_compass_polar": PointGoal(PointGoalSensor()),
    "pointgoal_with_gps_compass_cartesian": PointGoal(PointGoalSensor(goal_format="cartesian")),
}


@pytest.mark.parametrize("case", POSES, ids=lambda case: case["id"])
@pytest.mark.parametrize("name", SENSOR_CASES)
def test_agrees_with_habitat(name: str, case: dict) -> None:
    ours = SENSOR_CASES[name].read(case_moment(case))
    theirs = np.array(case["outputs"][name])
    difference = np.asarray(ours, dtype=np.float64) - theirs
    if name == "compass" or name.endswith("polar"):
        difference[-1] = math.remainder(difference[-1], 2 * math.pi)
    assert np.allclose(difference, 0.0, atol=2e-5), (ours, theirs)


FACING_LEFT = Pose((1.0, 0.0, 2.0), quaternion_from_yaw(math.pi / 2))


def test_the_pose_matrix_is_relative_to_the_start() -> None:
    a_metre_on = Pose((0.0, 0.0, 2.0), FACING_LEFT.rotation)
    matrix = FullPose(PoseSensor()).read(moment(FACING_LEFT, a_metre_on))
    assert matrix.shape == (3, 4)
    assert np.allclose(matrix, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, -1]], atol=1e-6)


def test_the_pose_in_the_world_is_the_pose() -> None:
    values = FullPose(PoseSensor(frame="world", rotation="quaternion")).read(moment(FACING_LEFT, FACING_LEFT))
    assert np.allclose(values, (*FACING_LEFT.position, *FACING_LEFT.rotation))


def test_a_compass_vector_points_ahead() -> None:
    start = Pose((0.0, 0.0, 0.0))
    vector = Compass(CompassSensor(type="vector")).read(moment(start, FACING_LEFT))
    assert np.allclose(vector, (-1, 0, 0), atol=1e-6)


def test_a_spherical_gps_knows_up() -> None:
    start, up_left = Pose((0.0, 0.0, 0.0)), Pose((-1.0, 1.0, 0.0))
    values = Gps(GpsSensor(coordinate_system="spherical", dimensionality=3)).read(moment(start, up_left))
    assert np.allclose(values, (math.sqrt(2), math.pi / 2, math.pi / 4), atol=1e-6)


def test_instruction_words_are_optional() -> None:
    instruction = Instruction(text="go on", tokens=("go", "on"))
    now = moment(FACING_LEFT, FACING_LEFT, instruction=instruction)
    read = SENSORS.get("instruction")
    from nav_eval.config.schema import InstructionSensor

    assert read(InstructionSensor()).read(now) == TextValue("go on", ("go", "on"))
    assert read(InstructionSensor(include_tokens=False)).read(now) == TextValue("go on")


@pytest.mark.parametrize(
    ("category", "spec", "value"),
    [("chair", "category_name", TextValue("chair")), ("chair", "category_id", [3])],
)
def test_object_goal(category: str, spec: str, value: object) -> None:
    now = moment(FACING_LEFT, FACING_LEFT, object_category=category)
    seen = ObjectGoal(ObjectGoalSensor(goal_spec=spec)).read(now)
    assert (seen if isinstance(seen, TextValue) else seen.tolist()) == value


def test_a_category_that_the_scene_lacks_is_named() -> None:
    now = moment(FACING_LEFT, FACING_LEFT, object_category="piano")
    with pytest.raises(DatasetError, match="asks for 'piano'"):
        ObjectGoal(ObjectGoalSensor(goal_spec="category_id")).read(now)


def test_a_point_goal_needs_a_goal() -> None:
    with pytest.raises(DatasetError, match="has no goal"):
        PointGoal(PointGoalSensor()).read(moment(FACING_LEFT, FACING_LEFT))
