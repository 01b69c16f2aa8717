"""A reply is hostile until it is checked, whichever form it came in."""

import math
import sys
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nav_eval.agents import json_messages
from nav_eval.agents.failures import FAILURES, ProtocolError
from nav_eval.agents.messages import (
    ANSWER,
    Action,
    ActionSpec,
    AgentDescription,
    TaskInterface,
    check_actions,
    make_pose,
)
from nav_eval.agents.process_client import AgentProcess
from nav_eval.records.geometry import Pose
from nav_eval.records.results import Cause
from nav_eval.sensors import SensorSpec

TASK = TaskInterface(
    name="vln",
    sensors={},
    actions={"stop": ActionSpec(), "go": ActionSpec(arguments={"metres": (0.1, 2.0)}), ANSWER: ActionSpec()},
)
HERE = Pose((0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    "actions",
    [
        [Action(name="stop")],
        [Action(name="go", arguments={"metres": 2.0})],
        [Action(name="go"), Action(name="stop")],
        [Action(name=ANSWER, poses=(HERE, HERE, HERE))],
    ],
)
def test_what_the_task_allows_passes(actions: list[Action]) -> None:
    assert check_actions(actions, task=TASK, most=2) == actions


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ([], "no action"),
        ([Action(name="stop")] * 3, "3 actions, and the agent may give 2"),
        ([Action(name="stpo")], "Did you mean 'stop'?"),
        ([Action(name="x" * 10**6)], "x…"),
        ([Action(name="stop\x1b[31m")], "'stop [31m'"),  # nothing of an agent moves our cursor
        ([Action(name="go", arguments={"metres": math.nan})], "nan"),
        ([Action(name="go", arguments={"metres": math.inf})], "inf"),
        ([Action(name="go", arguments={"metres": 2.1})], "[0.1, 2]"),
        ([Action(name="go", arguments={"feet": 1.0})], "it takes: metres"),
        ([Action(name="stop", arguments={"feet": 1.0})], "it takes: none"),
        ([Action(name=ANSWER)], "no pose"),
        ([Action(name="stop", poses=(HERE,))], "carries poses"),
        ([Action(name=ANSWER, poses=(HERE,) * 4)], "at most 3"),
    ],
)
def test_what_it_does_not_allow_is_named(actions: list[Action], words: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        check_actions(actions, task=TASK, most=2)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("position", "rotation"),
    [
        ((0, 0), (0, 0, 0, 1)),
        ((0, 0, 0), (0, 0, 1)),
        ((0, math.nan, 0), (0, 0, 0, 1)),
        ((0, 1e7, 0), (0, 0, 0, 1)),
        ((0, 0, 0), (0, 0, 0, 0)),
        ((0, 0, 0), (0, 0, 0, math.inf)),
    ],
)
def test_a_pose_must_be_one(position: tuple[float, ...], rotation: tuple[float, ...]) -> None:
    with pytest.raises(ProtocolError):
        make_pose(position=position, rotation=rotation)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["action", "actions", "action_args", "poses", "position", "sequence"]), inner)
    ),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_no_document_does_more_than_be_refused(document: Any) -> None:
    with suppress(ProtocolError):
        actions = check_actions(json_messages.decode_actions(document, sequence=1, most=5), task=TASK, most=5)
        assert all(action.name in TASK.actions for action in actions)


@pytest.mark.parametrize(
    ("document", "actions"),
    [
        ({"action": "stop"}, [Action(name="stop")]),
        ({"action": "stop", "action_args": None}, [Action(name="stop")]),
        ({"action": "go", "action_args": {"metres": 1}}, [Action(name="go", arguments={"metres": 1.0})]),
        ({"actions": ["stop", {"action": "go"}]}, [Action(name="stop"), Action(name="go")]),
        ({"action": "stop", "actions": ["stop", {"action": "go"}]}, [Action(name="stop"), Action(name="go")]),
        ({"action": "stop", "sequence": 1}, [Action(name="stop")]),
        (
            {"poses": [{"position": [1, 2, 3], "rotation": [0, 0, 0, 1]}]},
            [Action(name=ANSWER, poses=(Pose((1.0, 2.0, 3.0)),))],
        ),
    ],
)
def test_documents_say_actions_in_several_ways(document: dict[str, Any], actions: list[Action]) -> None:
    assert json_messages.decode_actions(document, sequence=1, most=5) == actions


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"action": None}, "`action` is null. Actions are names"),
        ({"action": True}, "`action` is true. Actions are names"),
        ({}, 'has no `action`. Answer an object, such as {"action"'),
        ({"Action": "stop"}, "has no `action`, but Action. Answer"),
        (["stop"], 'The reply is ["stop"]. Answer an object'),
        ({"action": "stop", "actions": ["go"]}, '`action` is "stop", which is not the first of `actions`'),
        ({"action": "stop", "actions": []}, '`action` is "stop", which is not the first of `actions`'),
        ({"action": "stop", "sequence": "1"}, '`sequence` is "1"; echo the number'),
        ({"actions": "stop"}, '`actions` is "stop"; it must be a list'),
        ({"action": msgspec.msgpack.Ext(5, b"x")}, "`action` is something that JSON does not have."),
    ],
)
def test_a_wrong_document_is_quoted_and_told_what_is_right(document: Any, said: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        json_messages.decode_actions(document, sequence=1, most=5)
    assert said in str(refused.value)


@pytest.mark.parametrize("name", ["1", "-2", "1.0", "1e3"])
def test_a_number_as_text_is_told_that_actions_are_names(name: str) -> None:
    with pytest.raises(ProtocolError, match="Actions are names, not numbers"):
        check_actions([Action(name=name)], task=TASK, most=1)


def test_every_cause_has_a_failure_and_advice() -> None:
    assert set(FAILURES) == set(Cause)
    assert all(cause.advice.endswith(".") for cause in Cause)
    assert [cause for cause in Cause if cause.is_ours] == [Cause.INFRASTRUCTURE]


def test_a_sensor_that_the_task_has_not_is_told_which_ones_it_has() -> None:
    task = replace(
        TASK, sensors={name: SensorSpec(kind=name, dtype="float32", shape=(2,)) for name in ("gps", "depth")}
    )
    with pytest.raises(ProtocolError) as refused:
        AgentDescription(sensors={"Depth": ()}).keep_wanted(task)
    for words in ("the sensor 'Depth'", "Did you mean 'depth'?", "It has: depth, gps.", "Ask for one of these"):
        assert words in str(refused.value)


@pytest.mark.parametrize("script", ["pass", "print('Hello.')"])
def test_a_program_that_serves_nothing_is_told_to(script: str) -> None:
    process = AgentProcess([sys.executable, "-c", script], environment={})
    failure = process.find_exit(600)
    process.stop()
    assert "exit code 0" in str(failure)
    assert "nav_eval_sdk.serve(YourAgent)" in str(failure)
