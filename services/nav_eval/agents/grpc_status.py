"""What a gRPC status means for an episode."""

from typing import TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from nav_eval.agents.description import short
from nav_eval.agents.failures import (
    AgentCrash,
    AgentFailure,
    AgentOutOfMemory,
    AgentTimeout,
    ConnectionLost,
    ProtocolError,
)

M = TypeVar("M", bound=Message)

_REFUSALS = {
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.OUT_OF_RANGE,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
}


def failure_of(error: grpc.RpcError, *, doing: str) -> AgentFailure:
    """The named cause behind a status; `doing` says what was asked, as in "answering Act"."""
    code, details = error.code(), short(error.details() or "", limit=2000)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return AgentTimeout(f"No reply in time while {doing}.")
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        if "larger than max" in details:
            return ProtocolError(
                f"A message was too large while {doing}: {details}. If the agent's server said so, raise its limit "
                "(grpc.max_receive_message_length, 4 MB by default); otherwise the reply is too large."
            )
        return AgentOutOfMemory(f"The agent ran out of memory while {doing}: {details}")
    if code in _REFUSALS:
        return ProtocolError(f"The agent refused while {doing}: {code.name}, {details}")
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.ABORTED):
        return ConnectionLost(f"The connection to the agent broke while {doing}: {details}")
    return AgentCrash(f"The agent failed while {doing}: {details}")


def parsed(kind: type[M], data: bytes) -> M:
    """The message in `data`, which came from the agent."""
    try:
        return kind.FromString(data)
    except DecodeError as error:
        name = kind.__name__
        raise ProtocolError(f"The agent sent {len(data)} bytes that are no {name} of agent.proto.") from error
