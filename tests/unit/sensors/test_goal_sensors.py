"""Instructions and goals: what an agent is told, and never more."""

import math

import pytest
from sensor_support import make_context

from nav_eval.dataset.episode import Instruction
from nav_eval.errors import DatasetError
from nav_eval.records.geometry import Pose, make_yaw_rotation
from nav_eval.sensors import CategoriesSensor, InstructionSensor, ObjectGoalSensor, PointGoalSensor, TextValue

FACING_LEFT = Pose((1.0, 0.0, 2.0), make_yaw_rotation(math.pi / 2))


def test_instruction_words_are_optional() -> None:
    instruction = Instruction(text="go on", tokens=("go", "on"))
    now = make_context(FACING_LEFT, FACING_LEFT, instruction=instruction)
    assert InstructionSensor().read("sensor", now) == TextValue("go on", ("go", "on"))
    assert InstructionSensor(include_tokens=False).read("sensor", now) == TextValue("go on")


@pytest.mark.parametrize(
    ("category", "spec", "value"),
    [("chair", "category_name", TextValue("chair")), ("chair", "category_id", [3])],
)
def test_object_goal(category: str, spec: str, value: object) -> None:
    now = make_context(FACING_LEFT, FACING_LEFT, object_category=category)
    seen = ObjectGoalSensor(goal_spec=spec).read("sensor", now)
    assert (seen if isinstance(seen, TextValue) else seen.tolist()) == value


def test_a_category_that_the_scene_lacks_is_named() -> None:
    now = make_context(FACING_LEFT, FACING_LEFT, object_category="piano")
    with pytest.raises(DatasetError, match="asks for 'piano'"):
        ObjectGoalSensor(goal_spec="category_id").read("sensor", now)


def test_a_point_goal_needs_a_goal() -> None:
    with pytest.raises(DatasetError, match="has no goal"):
        PointGoalSensor().read("sensor", make_context(FACING_LEFT, FACING_LEFT))


def test_category_names_stand_at_their_numbers() -> None:
    names = CategoriesSensor().read("categories", make_context(FACING_LEFT, FACING_LEFT))
    assert names == TextValue("\n\n\nchair")
