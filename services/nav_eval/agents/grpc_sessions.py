"""An episode over gRPC: as one stream, or call by call.

The synchronous API on purpose: with the few small messages of shared memory it takes half the CPU of
grpc.aio, and a read that blocks in its own thread is what an evaluator wants anyway.
"""

import queue
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import grpc

from nav_eval.agents._generated import agent_pb2 as pb
from nav_eval.agents.client import EpisodeSession
from nav_eval.agents.description import AgentDescription
from nav_eval.agents.failures import AgentFailure, AgentTimeout, ConnectionLost, ProtocolError
from nav_eval.agents.grpc_status import failure_of, parsed
from nav_eval.agents.interface import TaskInterface
from nav_eval.agents.messages import Action, Array, Observation, Outcome
from nav_eval.agents.retrying import retrying
from nav_eval.agents.settings import ClientSettings
from nav_eval.agents.shared_memory import Ring, RingPool, Slot
from nav_eval.agents.translation import actions_of, end_request, fill_observation, reset_request
from nav_eval.agents.watchdog import Watchdog
from nav_eval.dataset.episode import PublicEpisode

PATIENCE = 0.5  #: seconds: a broken connection is often seen a moment before the process has ended

Autopsy: TypeAlias = Callable[[float], AgentFailure | None]
"""Says how the agent's process ended; None if it lives on after so many seconds, or is not ours to see."""


class StreamUnsupported(Exception):
    """The agent serves no Episode stream: ask call by call."""


class Stub(Protocol):
    """The methods of the service, as bytes: replies are parsed by us, where a failure gets its name."""

    describe: "grpc.UnaryUnaryMultiCallable[pb.DescribeRequest, bytes]"
    episode: "grpc.StreamStreamMultiCallable[pb.EpisodeRequest, bytes]"
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
        autopsy: Autopsy,
    ) -> None:
        super().__init__(task=task, description=description, settings=settings)
        self._stub = stub
        self._autopsy = autopsy
        self._rings = rings
        self._ring: Ring | None = rings.take() if rings is not None else None
        self._uses_ring = False
        self._drawn: list[Slot] = []  #: given out by `buffers` and not sent yet

    def buffers(self) -> dict[str, Array]:
        slot = self._free_slot(self._sequence + 1)
        if slot is None:
            return super().buffers()
        self._drawn.append(slot)
        return super().buffers() | slot.arrays

    def _reset_request(self, episode: PublicEpisode) -> pb.ResetRequest:
        return reset_request(
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
        return actions_of(reply, sequence=self._sequence, most=self._settings.max_actions)

    def _explained(self, error: grpc.RpcError, *, doing: str) -> AgentFailure:
        failure = failure_of(error, doing=doing)
        return (self._autopsy(PATIENCE) or failure) if isinstance(failure, ConnectionLost) else failure

    def _let_go(self) -> None:
        if self._rings is not None and self._ring is not None:
            self._rings.give_back(self._ring)
            self._ring = None


class StreamSession(GrpcSession):
    """One call of Episode."""

    def __init__(self, *, watchdog: Watchdog, **common: Any) -> None:  # noqa: ANN401
        super().__init__(**common)
        self._watchdog = watchdog
        self._requests: queue.SimpleQueue[pb.EpisodeRequest | None] = queue.SimpleQueue()
        self._call: Any = self._stub.episode(self._written())

    def reset(self, episode: PublicEpisode) -> None:
        try:
            self._requests.put(pb.EpisodeRequest(reset=self._reset_request(episode)))
            reply = self._read("reset", self._settings.reset_timeout, doing="answering Reset").reset
        except BaseException:
            self._hang_up()
            raise
        self._uses_ring = self._ring is not None and reply.shared_memory

    def end(self, outcome: Outcome) -> None:
        if self._failure is None:
            try:
                self._requests.put(pb.EpisodeRequest(end=end_request(outcome, session_id=self.session_id)))
                self._read("end", self._settings.end_timeout, doing="answering End")
            except AgentFailure:
                pass  # the episode is over either way
        self._hang_up()

    def _transmit(self, observation: Observation) -> None:
        request = pb.EpisodeRequest()
        self._fill(request.act, observation)
        self._requests.put(request)

    def _collect(self, seconds: float) -> Sequence[Action]:
        try:
            return self._actions(self._read("act", seconds, doing=f"answering Act {self._sequence}").act)
        except AgentTimeout:
            raise self._too_slow() from None

    def _read(self, kind: str, seconds: float, *, doing: str) -> pb.EpisodeReply:
        with self._watchdog.watch(seconds, self._call.cancel) as deadline:
            try:
                data = next(self._call)
            except StopIteration:
                raise ProtocolError(f"The agent closed the stream instead of {doing}.") from None
            except grpc.RpcError as error:
                if deadline.expired:
                    raise AgentTimeout(f"No reply within {seconds:g} s while {doing}.") from None
                if kind == "reset" and error.code() is grpc.StatusCode.UNIMPLEMENTED:
                    raise StreamUnsupported from None
                raise self._explained(error, doing=doing) from None
        reply = parsed(pb.EpisodeReply, data)
        if reply.WhichOneof("reply") != kind:
            raise ProtocolError(f"The agent sent {reply.WhichOneof('reply') or 'nothing'!r} instead of {doing}.")
        return reply

    def _written(self) -> Iterator[pb.EpisodeRequest]:
        while (request := self._requests.get()) is not None:
            yield request

    def _hang_up(self) -> None:
        self._requests.put(None)
        self._call.cancel()
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
            self._let_go()
            raise self._explained(error, doing="answering Reset") from None
        self._uses_ring = self._ring is not None and parsed(pb.ResetReply, data).shared_memory

    def end(self, outcome: Outcome) -> None:
        if self._pending is not None:
            self._pending.cancel()
        if self._failure is None:
            try:
                request = end_request(outcome, session_id=self.session_id)
                self._stub.end(request, timeout=self._settings.end_timeout)
            except grpc.RpcError:
                pass  # an agent need not implement End
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
        return retrying(self._answer_or_ask_again, on=ConnectionLost, settings=self._settings)

    def _answer_or_ask_again(self) -> Sequence[Action]:
        if self._pending is None:
            self._ask()
        return self._answer()

    def _answer(self) -> Sequence[Action]:
        pending, self._pending = self._pending, None
        try:
            data = pending.result()
        except grpc.RpcError as error:
            failure = self._explained(error, doing=f"answering Act {self._sequence}")
            raise self._too_slow() if isinstance(failure, AgentTimeout) else failure from None
        return self._actions(parsed(pb.ActReply, data))
