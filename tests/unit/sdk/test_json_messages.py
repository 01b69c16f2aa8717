"""The messages of REST and WebSocket: msgpack is everybody's, lies are refused."""

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nav_eval_sdk import Action, Episode
from nav_eval_sdk.errors import BadRequest
from nav_eval_sdk.json_messages import decode_observation, dump_document, encode_reply, load_document

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=40), inner, max_size=20),
    max_leaves=20,
)
DOCUMENTS = st.dictionaries(st.text(max_size=40), VALUES, max_size=20)


@given(DOCUMENTS)
def test_the_agents_msgpack_is_the_evaluators_msgpack(document: Any) -> None:
    assert msgspec.msgpack.decode(dump_document(document, binary=True)) == document
    assert load_document(msgspec.msgpack.encode(document), binary=True) == document


@given(st.binary(max_size=80), st.booleans())
def test_no_bytes_do_more_than_be_refused_by_the_sdk(data: bytes, binary: bool) -> None:
    with suppress(BadRequest):
        load_document(data, binary=binary)


@pytest.mark.parametrize(
    "data",
    [
        b"\x91" * 1000,
        b"\x81\xa1a" * 2000 + b"\x00",
        b"\xdd\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xc1",
        b"\x00\x00",
        b"\x81\xa1a\xd4\x05\x00",
    ],
    ids=["nested", "nested maps", "long list", "long bytes", "no code", "more follows", "extension"],
)
def test_msgpack_that_lies_is_refused(data: bytes) -> None:
    with pytest.raises(BadRequest):
        load_document(data, binary=True)


def test_an_observation_is_a_mapping_of_its_sensors() -> None:
    document = {
        "observation": {"step": 4, "sensors": {"gps": {"dtype": "float32", "shape": [2], "data": b"\0" * 8}}},
        "between": [{"step": 3, "sensors": {}}],
    }
    seen = decode_observation(document, Episode("1", instruction="north"))
    assert (list(seen), seen["gps"].shape, seen.step, seen.instruction) == (["gps"], (2,), 4, "north")
    assert [earlier.step for earlier in seen.between] == [3]
    with pytest.raises(ValueError, match="read-only"):
        seen["gps"][0] = 1.0


def test_one_action_is_told_as_the_seeds_do_and_several_as_a_list() -> None:
    assert encode_reply(3, [Action("go", {"x": 1.0})]) == {"sequence": 3, "action": "go", "action_args": {"x": 1.0}}
    assert len(encode_reply(3, [Action("go"), Action("stop")])["actions"]) == 2
