"""Replies are counted before they are decoded."""

import pytest

from nav_eval.agents._generated import agent_pb2 as pb
from nav_eval.agents.failures import ProtocolError
from nav_eval.agents.wire_limits import MOST_FIELDS, check_act_reply, check_episode_reply
from nav_eval.config import load_benchmark
from nav_eval.evaluation.executor import make_client_settings

FEW = pb.ActReply(sequence=7, actions=[pb.Action(name="stop", arguments={"a": 1.0})] * 3, held=[1, 2, 300])
MANY = pb.ActReply(actions=[pb.Action()] * 101)
EMPTY_GROUP = b"\x7b\x7c"
"""Field 15: begun and ended. A decoder skips it."""


def wrap(*parts: bytes) -> bytes:
    """An EpisodeReply whose answer comes in several parts, which a decoder merges."""
    tag = pb.EpisodeReply.DESCRIPTOR.fields_by_name["act"].number << 3 | 2
    return b"".join(bytes([tag]) + _varint(len(part)) + part for part in parts)


def _varint(number: int) -> bytes:
    low, high = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(high) if high else bytes([low])


def test_honest_replies_pass() -> None:
    check_act_reply(FEW.SerializeToString(), most=3)
    check_episode_reply(pb.EpisodeReply(act=FEW).SerializeToString(), most=3)
    check_episode_reply(pb.EpisodeReply(reset=pb.ResetReply(shared_memory=True)).SerializeToString(), most=3)
    assert pb.EpisodeReply.FromString(wrap(FEW.SerializeToString())).act == FEW


@pytest.mark.parametrize(
    "data",
    [
        wrap(MANY.SerializeToString()),
        wrap(*[pb.ActReply(actions=[pb.Action()] * 60).SerializeToString()] * 2),
        wrap(EMPTY_GROUP + MANY.SerializeToString()),
        EMPTY_GROUP + wrap(MANY.SerializeToString()),
        wrap(b"\x50\x00" * (MOST_FIELDS + 1)),
        wrap(b"\x0a\x00" * 500_000),
    ],
    ids=["many", "in two parts", "behind a group", "behind a group outside", "unknown fields", "a megabyte of nothing"],
)
def test_replies_of_many_parts_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        check_episode_reply(data, most=100)


@pytest.mark.parametrize("data", [b"\xff\xfe\xfd" * 30, b"\x0a", b"\x0a\xff", b"\xff" * 20, wrap(b"\x0a\x05a")])
def test_what_is_cut_off_is_left_to_the_decoder_or_refused(data: bytes) -> None:
    try:
        check_episode_reply(data, most=100)
    except ProtocolError:
        return


def test_no_benchmark_takes_more_than_the_proto_says() -> None:
    assert make_client_settings(load_benchmark("demo_vln")).max_reply_bytes == 1 << 20
