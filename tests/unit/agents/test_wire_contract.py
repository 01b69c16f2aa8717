"""The contract is what it was, apart from additions; and the checker itself sees what breaks agents."""

import copy
import json
import runpy
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from nav_eval.agents._generated import agent_pb2 as engine_pb2
from nav_eval_sdk._generated import agent_pb2 as sdk_pb2
from support.paths import ROOT

BREAKING = runpy.run_path(str(ROOT / "protos/breaking.py"))
SNAPSHOT = json.loads((ROOT / "tests/data/protos/agent_v1.json").read_text())


def file_descriptor(module: Any) -> descriptor_pb2.FileDescriptorProto:
    return descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)


def test_agents_built_against_the_published_contract_still_work() -> None:
    now = BREAKING["contract_of"](file_descriptor(engine_pb2))
    assert BREAKING["breaking_changes"](SNAPSHOT, now) == []


def test_the_snapshot_was_renewed_after_the_last_addition() -> None:
    now = BREAKING["contract_of"](file_descriptor(engine_pb2))
    assert now == SNAPSHOT, "accept the additions with `python protos/build.py --snapshot`"


def test_engine_and_sdk_were_built_from_the_same_contract() -> None:
    assert engine_pb2.DESCRIPTOR.serialized_pb == sdk_pb2.DESCRIPTOR.serialized_pb


def test_a_message_of_one_side_is_read_by_the_other() -> None:
    sent = sdk_pb2.ActReply(sequence=7, actions=[sdk_pb2.Action(name="move_forward", arguments={"step_size": 0.5})])
    read = engine_pb2.ActReply.FromString(sent.SerializeToString())
    assert (read.sequence, read.actions[0].name, dict(read.actions[0].arguments)) == (
        7,
        "move_forward",
        {"step_size": 0.5},
    )


def field(contract: dict[str, Any], message: str, number: str) -> dict[str, Any]:
    return contract["messages"][message]["fields"][number]


def remove_field(contract: dict[str, Any]) -> None:
    del contract["messages"]["Tensor"]["fields"]["1"]


def remove_field_with_reservation(contract: dict[str, Any]) -> None:
    remove_field(contract)
    contract["messages"]["Tensor"] |= {"reserved_numbers": [1], "reserved_names": ["dtype"]}


BREAKS: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (remove_field, "Tensor.dtype (1) is gone and neither number nor name is reserved"),
    (remove_field_with_reservation, "Tensor.dtype (1) is gone"),
    (lambda c: field(c, "Tensor", "1").update(type="bytes"), "type was 'string' and is 'bytes'"),
    (lambda c: field(c, "Tensor", "1").update(name="kind"), "name was 'dtype' and is 'kind'"),
    (lambda c: field(c, "Tensor", "2").update(repeated=False), "repeated was True and is False"),
    (lambda c: field(c, "Tensor", "3").update(oneof=None), "oneof was 'content' and is None"),
    (lambda c: c["messages"].pop("Pose"), "message Pose is gone"),
    (lambda c: c["enums"].pop("Encoding"), "enum Encoding is gone"),
    (lambda c: c["enums"]["Encoding"]["values"].update({"2": "ENCODING_GIF"}), "2 was ENCODING_JPEG"),
    (lambda c: c["enums"]["Encoding"]["values"].pop("3"), "3 was ENCODING_PNG and is gone"),
    (lambda c: c["services"].pop("Agent"), "service Agent is gone"),
    (lambda c: c["services"]["Agent"].pop("Act"), "Agent.Act was"),
    (lambda c: c["services"]["Agent"]["Act"].update(gives="stream .nav_eval.v1.ActReply"), "Agent.Act was"),
    (lambda c: c.update(package="nav_eval.v2"), "package nav_eval.v1 became nav_eval.v2"),
]


@pytest.mark.parametrize(("change", "said"), BREAKS, ids=[said for _, said in BREAKS])
def test_what_breaks_an_agent_is_found(change: Callable[[dict[str, Any]], Any], said: str) -> None:
    changed = copy.deepcopy(SNAPSHOT)
    change(changed)
    found = BREAKING["breaking_changes"](SNAPSHOT, changed)
    assert any(said in sentence for sentence in found), found


def test_additions_break_nothing() -> None:
    grown = copy.deepcopy(SNAPSHOT)
    grown["messages"]["Tensor"]["fields"]["99"] = {"name": "unit", "type": "string", "repeated": False, "oneof": None}
    grown["messages"]["Sound"] = {"fields": {}, "reserved_numbers": [], "reserved_names": []}
    grown["enums"]["Encoding"]["values"]["4"] = "ENCODING_WEBP"
    grown["services"]["Agent"]["Cancel"] = {"takes": ".nav_eval.v1.EndRequest", "gives": ".nav_eval.v1.EndReply"}
    assert BREAKING["breaking_changes"](SNAPSHOT, grown) == []
