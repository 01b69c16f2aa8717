"""An episode over gRPC: as one stream, or call by call.

The synchronous API on purpose: with the few small messages of shared memory it takes half the CPU of
grpc.aio, and a read that blocks in its own thread is what an evaluator wants anyway. `to_failure` says
what a gRPC status means for an episode.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from nav_eval.agents._generated import agent_pb2 as pb
from nav_eval.agents.client import ClientSettings, EpisodeSession, Watchdog, retry
from nav_eval.agents.failures import (
    AgentCrash,
    AgentFailure,
    AgentOutOfMemory,
    AgentTimeout,
    ConnectionLost,
    ProtocolError,
)
from nav_eval.agents.grpc_streams import Stream
from nav_eval.agents.messages import Action, AgentDescription, Array, EpisodeEnd, Observation, TaskInterface, shorten
from nav_eval.agents.proto_messages import decode_actions, encode_end_request, encode_reset_request, fill_observation
from nav_eval.agents.shared_memory import Ring, RingPool, Slot
from nav_eval.agents.wire_limits import check_act_reply, check_episode_reply
from nav_eval.dataset.episode import PublicEpisode

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


def to_failure(error: grpc.RpcError, *, doing: str) -> AgentFailure:
    """The named cause behind a status; `doing` says what was asked, as in "answering Act"."""
    code, details = error.code(), shorten(error.details() or "", limit=2000)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return AgentTimeout(f"No reply in time while {doing}.")
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return _explain_exhaustion(details, doing=doing)
    if code in _REFUSALS:
        return ProtocolError(f"The agent refused while {doing}: {code.name}{details and f', {details}'}")
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.ABORTED):
        return ConnectionLost(f"The connection to the agent broke while {doing}: {details}")
    return AgentCrash(f"The agent failed while {doing}: {details}")


def _explain_exhaustion(details: str, *, doing: str) -> AgentFailure:
    """The status has three senders: the library for messages or metadata beyond its limits, and the agent itself."""
    if "metadata size exceeds" in details:
        return ProtocolError(f"The agent sent too much metadata while {doing}: {details}")
    if "larger than max" in details:
        return ProtocolError(
            f"A message was too large while {doing}: {details}. If the agent's server said so, raise its limit "
            "(grpc.max_receive_message_length, 4 MB by default); otherwise the reply is too large."
        )
    return AgentOutOfMemory(f"The agent ran out of memory while {doing}: {details}")


def parse_message(kind: type[M], data: bytes) -> M:
    """The message in `data`, which came from the agent."""
    try:
        return kind.FromString(data)
    except DecodeError as error:
        name = kind.__name__
        raise ProtocolError(f"The agent sent {len(data)} bytes that are no {name} of agent.proto.") from error


LATE_REPLIES = 3  #: that are passed over while the agent hears of the end
PATIENCE = 0.5  #: seconds: a broken connection is often seen a moment before the process has ended

ExitProbe: TypeAlias = Callable[[float], AgentFailure | None]
"""Says how the agent's process ended; None if it lives on after so many seconds, or is not ours to see."""


class StreamUnsupported(Exception):
    """The agent serves no Episode stream: ask call by call."""


class Stub(Protocol):
    """The methods of the service, as bytes: replies are parsed by us, where a failure gets its name."""

    describe: "grpc.UnaryUnaryMultiCallable[pb.DescribeRequest, bytes]"
    episode: Callable[[], Stream]
    reset: "grpc.UnaryUnaryMultiCallable[pb.ResetRequest, bytes]"
    act: "grpc.UnaryUnaryMultiCallable[pb.ActRequest, bytes]"
    end: "grpc.UnaryUnaryMultiCallable[pb.EndRequest, bytes]"


class GrpcSession(EpisodeSession):
    """What both ways have in common: the ring, and the request that an observation becomes."""

    def __init__(
        self,
        *,
        task: TaskInterface,
        description: AgentDescription,
        settings: ClientSettings,
        stub: Stub,
        rings: RingPool | None,
        exit_probe: ExitProbe,
    ) -> None:
        super().__init__(task=task, description=description, settings=settings)
        self._stub = stub
        self._exit_probe = exit_probe
        self._rings = rings
        self._ring: Ring | None = rings.take() if rings is not None else None
        self._uses_ring = False
        self._drawn: list[Slot] = []  #: given out by `buffers` and not sent yet

    def buffers(self) -> dict[str, Array]:
        slot = self._free_slot(self._sequence + 1)
        if slot is None:
            return {}
        self._drawn.append(slot)
        return slot.arrays

    def _reset_request(self, episode: PublicEpisode) -> pb.ResetRequest:
        return encode_reset_request(
            episode, session_id=self.session_id, task=self._task, settings=self._settings, ring=self._ring
        )

    def _fill(self, request: pb.ActRequest, observation: Observation) -> None:
        request.session_id = self.session_id
        request.sequence = self._sequence
        for seen in observation.between:
            self._fill_one(request.between.add(), seen)
        self._fill_one(request.observation, observation)
        self._drawn.clear()

    def _fill_one(self, message: pb.Observation, observation: Observation) -> None:
        slot = self._drawn_slot(observation) or self._free_slot(self._sequence)
        fill_observation(message, observation, description=self._description, slot=slot)

    def _free_slot(self, sequence: int) -> Slot | None:
        return self._ring.take(sequence) if self._ring is not None and self._uses_ring else None

    def _drawn_slot(self, observation: Observation) -> Slot | None:
        """The slot that this observation was drawn into, if it was."""
        sensors = observation.sensors.items()
        return next(
            (slot for slot in self._drawn if any(slot.arrays.get(name) is array for name, array in sensors)), None
        )

    def _actions(self, reply: pb.ActReply) -> Sequence[Action]:
        if self._ring is not None:
            self._ring.release(frozenset(reply.held))
        return decode_actions(reply, sequence=self._sequence, most=self._settings.max_actions)

    def _explain(self, error: grpc.RpcError, *, doing: str) -> AgentFailure:
        failure = to_failure(error, doing=doing)
        return (self._exit_probe(PATIENCE) or failure) if isinstance(failure, ConnectionLost) else failure

    def _tell_end(self, request: pb.EndRequest) -> None:
        """By a call that we wait for ourselves: one that blocks is held by a peer that floods the connection."""
        seconds = self._get_end_seconds()
        call: Any = self._stub.end.future(request, timeout=seconds)
        with suppress(grpc.RpcError, grpc.FutureTimeoutError, grpc.FutureCancelledError):
            call.result(seconds)  # an agent need not implement End
        call.cancel()

    def _let_go(self) -> None:
        if self._rings is not None and self._ring is not None:
            self._rings.give_back(self._ring)
            self._ring = None


class StreamSession(GrpcSession):
    """One call of Episode."""

    def __init__(self, *, watchdog: Watchdog, **common: Any) -> None:  # noqa: ANN401
        super().__init__(**common)
        self._watchdog = watchdog
        self._is_closed = False  #: nothing can be said on the stream any more
        self._stream = self._stub.episode()

    def reset(self, episode: PublicEpisode) -> None:
        try:
            self._say(pb.EpisodeRequest(reset=self._reset_request(episode)))
            reply = self._read("reset", self._settings.reset_timeout, doing="answering Reset").reset
        except ConnectionLost:  # it is tried again
            self._hang_up()
            raise
        except AgentFailure as failure:
            self.give_up(failure)
            raise
        except BaseException:
            self._hang_up()
            raise
        self._uses_ring = self._ring is not None and reply.shared_memory

    def end(self, outcome: EpisodeEnd) -> None:
        request = encode_end_request(outcome, session_id=self.session_id)
        if self._is_closed or self._stream.is_open:  # by the agent, by a limit, the time was up; or nobody waited
            self._tell_end(request)
        else:
            self._say(pb.EpisodeRequest(end=request))
            self._await_end()
        self._hang_up()

    def _await_end(self) -> None:
        """Until the agent has heard it: a second reply to the last observation may come first."""
        for _ in range(LATE_REPLIES):
            try:
                self._read("end", self._get_end_seconds(), doing="answering End")
            except ProtocolError:
                continue
            except AgentFailure:
                return  # the episode is over either way
            return

    def _transmit(self, observation: Observation) -> None:
        request = pb.EpisodeRequest()
        self._fill(request.act, observation)
        self._say(request)

    def _say(self, request: pb.EpisodeRequest) -> None:
        self._stream.ask(request.SerializeToString())

    def _collect(self, seconds: float) -> Sequence[Action]:
        try:
            return self._actions(self._read("act", seconds, doing=f"answering Act {self._sequence}").act)
        except AgentTimeout:
            raise self._too_slow() from None

    def _read(self, kind: str, seconds: float, *, doing: str) -> pb.EpisodeReply:
        with self._watchdog.watch(seconds, self._stream.cancel) as deadline:
            try:
                data = self._stream.hear()
            except grpc.RpcError as error:
                self._is_closed = True
                if deadline.expired:
                    raise AgentTimeout(f"No reply within {seconds:g} s while {doing}.") from None
                if kind == "reset" and error.code() is grpc.StatusCode.UNIMPLEMENTED:
                    raise StreamUnsupported from None
                raise self._explain(error, doing=doing) from None
        if data is None:
            self._is_closed = True
            raise ProtocolError(f"The agent closed the stream instead of {doing}.")
        check_episode_reply(data, most=self._settings.max_actions)
        reply = parse_message(pb.EpisodeReply, data)
        if reply.WhichOneof("reply") != kind:
            raise ProtocolError(f"The agent sent {reply.WhichOneof('reply') or 'nothing'!r} instead of {doing}.")
        return reply

    def _hang_up(self) -> None:
        self._stream.close()
        self._let_go()


class UnarySession(GrpcSession):
    """Reset, Act, End."""

    def __init__(self, **common: Any) -> None:  # noqa: ANN401
        super().__init__(**common)
        self._request = pb.ActRequest()
        self._pending: Any = None

    def reset(self, episode: PublicEpisode) -> None:
        try:
            data = self._stub.reset(self._reset_request(episode), timeout=self._settings.reset_timeout)
        except grpc.RpcError as error:
            failure = self._explain(error, doing="answering Reset")
            if isinstance(failure, ConnectionLost):  # it is tried again
                self._let_go()
            else:
                self.give_up(failure)
            raise failure from None
        self._uses_ring = self._ring is not None and parse_message(pb.ResetReply, data).shared_memory

    def end(self, outcome: EpisodeEnd) -> None:
        if self._pending is not None:
            self._pending.cancel()
        self._tell_end(encode_end_request(outcome, session_id=self.session_id))
        self._let_go()

    def _transmit(self, observation: Observation) -> None:
        self._request = pb.ActRequest()
        self._fill(self._request, observation)
        self._ask()

    def _ask(self) -> None:
        self._pending = self._stub.act.future(self._request, timeout=self._seconds_left())

    def _collect(self, seconds: float) -> Sequence[Action]:
        if not self._description.repeats_replies:
            return self._answer()
        return retry(self._answer_or_ask_again, on=ConnectionLost, settings=self._settings)

    def _answer_or_ask_again(self) -> Sequence[Action]:
        if self._pending is None:
            self._ask()
        return self._answer()

    def _answer(self) -> Sequence[Action]:
        pending, self._pending = self._pending, None
        try:
            data = pending.result()
        except grpc.RpcError as error:
            failure = self._explain(error, doing=f"answering Act {self._sequence}")
            raise self._too_slow() if isinstance(failure, AgentTimeout) else failure from None
        check_act_reply(data, most=self._settings.max_actions)
        return self._actions(parse_message(pb.ActReply, data))
