"""The expert arrives with the real action set, and says so when it cannot."""

import math

import pytest

from nav_eval.config.schema import TaskConfig
from nav_eval.records.geometry import Pose, Vec3, make_yaw_rotation
from nav_eval.scene.navigation import OpenPlane, StepResult
from nav_eval.simulator.expert import Expert
from nav_eval.simulator.motion import Body


def expert_on(ground: OpenPlane, *, turn_angle: float = 30.0) -> tuple[Body, Expert]:
    turn = {"params": {"turn_angle": turn_angle}}
    task = TaskConfig.model_validate(
        {
            "type": "vln",
            "actions": ["stop", "move_forward", {"name": "turn_left", **turn}, {"name": "turn_right", **turn}],
            "metrics": ["success"],
        }
    )
    body = Body(task, ground, sliding=False)
    return body, Expert(body, turn_angle=turn_angle)


@pytest.mark.parametrize("turn_angle", [10.0, 15.0, 30.0, 45.0])
@pytest.mark.parametrize("goal", [(4.0, 0.0, -3.0), (-2.0, 0.0, 5.0), (0.1, 0.0, 3.0)], ids=str)
@pytest.mark.parametrize("yaw", [0.0, 0.4, math.pi])
def test_arrives_and_hardly_strays(turn_angle: float, goal: Vec3, yaw: float) -> None:
    ground = OpenPlane()
    body, expert = expert_on(ground, turn_angle=turn_angle)
    field = ground.distance_field([goal])
    start = body.start(Pose((0.0, 0.0, 0.0), make_yaw_rotation(yaw)))
    walk = expert.walk(start, field, near=0.3, limit=200)
    assert walk.arrived
    metres = 0.25 * walk.actions.count("move_forward")
    assert metres <= 1.15 * field.distance((0.0, 0.0, 0.0)) + 0.25
    assert len(walk.states) == len(walk.actions) + 1


def test_nothing_to_do_at_the_goal() -> None:
    ground = OpenPlane()
    body, expert = expert_on(ground)
    field = ground.distance_field([(0.0, 0.0, -0.2)])
    assert expert.choose_actions(body.start(Pose((0.0, 0.0, 0.0))), field, near=0.3) == ()


class Cell(OpenPlane):
    """A room that nobody leaves."""

    def try_step(self, start: Vec3, end: Vec3, *, sliding: bool) -> StepResult:
        inside = abs(end[0]) < 1.0 and abs(end[2]) < 1.0
        return StepResult(end, False) if inside else StepResult(start, True)


def test_gives_up_where_no_action_comes_nearer() -> None:
    ground = Cell()
    body, expert = expert_on(ground)
    field = ground.distance_field([(0.0, 0.0, -9.0)])
    walk = expert.walk(body.start(Pose((0.0, 0.0, 0.0))), field, near=0.3, limit=500)
    assert not walk.arrived
    assert len(walk.actions) < 20


def test_the_limit_is_kept() -> None:
    ground = OpenPlane()
    body, expert = expert_on(ground)
    field = ground.distance_field([(0.0, 0.0, -99.0)])
    walk = expert.walk(body.start(Pose((0.0, 0.0, 0.0))), field, near=0.3, limit=10)
    assert not walk.arrived
    assert 10 <= len(walk.actions) <= 17
