"""Agents and loops written for habitat-lab, as our evaluator meets them."""

from types import SimpleNamespace

import numpy as np
import pytest

from nav_eval.agents.addresses import connect
from nav_eval.agents.client import ClientSettings
from nav_eval_habitat.agents import LabAgent, make_agent_factory, open_habitat_agent
from nav_eval_habitat.evaluated_env import EvaluatedEnv, PrivilegedCall
from nav_eval_habitat.lab_actions import UnknownAnswer, translate_action
from nav_eval_habitat.lab_observations import LabObservations, Vocabulary

ACTIONS = dict.fromkeys(["stop", "move_forward", "turn_left", "turn_right"])
DEPTH = SimpleNamespace(minimum=0.5, maximum=5.0, normalized=False)
SENSORS = {
    "rgb": SimpleNamespace(kind="rgb", camera=None),
    "depth": SimpleNamespace(kind="depth", camera=SimpleNamespace(depth=DEPTH)),
    "semantic": SimpleNamespace(kind="semantic", camera=None),
}
TASK = SimpleNamespace(actions=ACTIONS, sensors=SENSORS)


class Moment(dict):
    """An observation of ours."""

    def __init__(self, name="e1", step=0):
        super().__init__(
            rgb=np.zeros((4, 6, 3), np.uint8),
            depth=np.full((4, 6), 2.75, np.float32),
            semantic=np.ones((4, 6), np.uint32),
            pointgoal=np.array([3.0, 0.5], np.float32),
        )
        self.step = step
        self.episode = SimpleNamespace(
            episode_id=name, instruction="Go there.", tokens=("go", "there"), object_category="bed", task=TASK
        )


def test_observations_have_the_labs_keys_types_and_ranges():
    seen = LabObservations(Vocabulary(["<pad>", "<unk>", "there"])).translate(Moment())
    assert seen["depth"].shape == (4, 6, 1)
    assert seen["depth"].dtype == np.float32
    assert seen["depth"][0, 0, 0] == pytest.approx(0.5)  # halfway between 0.5 and 5 metres
    assert (seen["semantic"].shape, seen["semantic"].dtype) == ((4, 6, 1), np.int32)
    assert seen["instruction"]["tokens"] == [1, 2]
    assert seen["instruction"]["text"] == "Go there."
    assert (seen["objectgoal"].tolist(), seen["objectgoal"].dtype) == ([1], np.int64)
    assert "pointgoal_with_gps_compass" in seen


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (0, "stop"),
        (np.int64(3), "turn_right"),
        ("MOVE_FORWARD", "move_forward"),
        ({"action": 2}, "turn_left"),
        ({"action": ("stop",)}, "stop"),
        ({"action": "turn_left", "action_args": None}, "turn_left"),
        (np.array([1]), "move_forward"),
    ],
)
def test_answers_of_every_kind(answer, name):
    assert translate_action(answer, TASK)["action"] == name


@pytest.mark.parametrize("answer", [7, -1, None, 1.5, True])
def test_what_is_no_action_is_told(answer):
    with pytest.raises(UnknownAnswer, match="move_forward"):
        translate_action(answer, TASK)


def test_velocities_are_scaled_and_slow_ones_stop():
    speeds = {"linear_velocity": (0.0, 0.5), "angular_velocity": (-30.0, 30.0)}
    task = SimpleNamespace(actions={"stop": {}, "velocity_control": speeds}, sensors={})
    fast = {"linear_velocity": np.array([1.0]), "angular_velocity": np.array([0.5])}
    moved = translate_action({"action": "velocity_control", "action_args": fast}, task)
    assert moved["action_args"] == {"linear_velocity": 0.5, "angular_velocity": 15.0}
    slow = {"linear_velocity": np.array([0.01]), "angular_velocity": np.array([-0.01])}
    assert translate_action({"action": "velocity_control", "action_args": slow}, task)["action"] == "stop"


class Plain:
    def reset(self):
        self.calls = 0

    def act(self, observations):
        self.calls += 1
        return {"action": "move_forward" if observations["depth"].mean() > 0.1 else "stop"}


class Navid:
    def reset(self):
        pass

    def act(self, observations, info, episode_id):
        assert info == {}
        return int(episode_id == "e1")


def test_classes_are_served_with_one_and_with_three_arguments():
    for kind, name in ((Plain, "move_forward"), (Navid, "move_forward")):
        agent = LabAgent(kind())
        agent.reset(Moment().episode)
        assert agent.act(Moment())["action"] == name


def test_the_address_is_known_to_the_evaluator():
    client = connect(f"habitat:{__file__}:Plain", ClientSettings())
    assert client is not None
    assert type(client) is type(open_habitat_agent(f"habitat:{__file__}:Plain", ClientSettings()))


def run_loop(env):
    env.finished = []
    while True:
        observations = env.reset()
        name = env.current_episode.episode_id
        with pytest.warns(PrivilegedCall, match="evaluation"):
            assert env.get_metrics() == {}
        with pytest.warns(PrivilegedCall, match="get_agent_state"):
            assert env.sim.get_agent_state() is None
        while not env.episode_over:
            action = "move_forward" if observations["rgb"].shape == (4, 6, 3) else "stop"
            observations = env.step(action)
        env.finished.append(name)


def test_a_loop_plays_one_episode_after_the_other():
    agent = make_agent_factory(run_loop)()
    for name in ("e1", "e2"):
        agent.reset(Moment(name).episode)
        for step in range(3):
            assert agent.act(Moment(name, step))["action"] == "move_forward"
        agent.end(Moment(name).episode, None)
    agent.close()


def test_a_loop_that_breaks_or_ends_is_the_agents_fault():
    def broken(env):
        env.reset()
        raise ZeroDivisionError("the model is gone")

    def short(env):
        env.reset()

    for loop, error in ((broken, ZeroDivisionError), (short, Exception)):
        agent = make_agent_factory(loop)()
        agent.reset(Moment().episode)
        with pytest.raises(error):
            agent.act(Moment())


def test_an_environment_without_an_evaluation_says_so():
    with pytest.raises(Exception, match="habitat:module:function"):
        EvaluatedEnv()
