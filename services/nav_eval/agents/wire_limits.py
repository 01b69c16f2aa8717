"""How many parts a reply has, counted on its bytes before anything is decoded.

A million empty actions are two megabytes on the wire and gigabytes as objects. So the top of a message is walked first,
which stops at the first part too many.
"""

from collections.abc import Iterator

from nav_eval.agents._generated import agent_pb2 as pb
from nav_eval.agents.failures import ProtocolError

MOST_FIELDS = 20_000
"""Of a reply and of its answer together: actions, and the numbers of observations that an agent still holds."""
_ACT = pb.EpisodeReply.DESCRIPTOR.fields_by_name["act"].number
_ACTIONS = pb.ActReply.DESCRIPTOR.fields_by_name["actions"].number
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}


def check_episode_reply(data: bytes, *, most: int) -> None:
    """Refuse an EpisodeReply with more than MOST actions."""
    parts = [data[start:end] for field, start, end in _iter_fields(data) if field == _ACT]
    _check_actions(parts, most=most)


def check_act_reply(data: bytes, *, most: int) -> None:
    """Refuse an ActReply with more than MOST actions."""
    _check_actions([data], most=most)


def _check_actions(parts: list[bytes], *, most: int) -> None:
    count = 0
    for part in parts:
        for field, _, _ in _iter_fields(part):
            count += field == _ACTIONS
            if count > most:
                raise ProtocolError(
                    f"The reply has more than {most} actions, and the agent may give {most} at once; "
                    "say more in Describe."
                )


def _iter_fields(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Number and place of each field; what is cut off or garbled is left to the decoder, which refuses it."""
    at = fields = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == _BYTES:
            size, at = _read_varint(data, at)
        elif kind == _VARINT:
            size = _read_varint(data, at)[1] - at
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:  # a group, which a decoder would skip: agent.proto has none
            raise ProtocolError("The agent sent bytes that are no EpisodeReply and no ActReply of agent.proto.")
        fields += 1
        if fields > MOST_FIELDS:
            raise ProtocolError(f"The reply has more than {MOST_FIELDS} fields.")
        yield tag >> 3, at, at + size
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return value, len(data)
