"""Agents that serve agent.proto."""

from __future__ import annotations

import os
import queue
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc

from nav_eval_sdk._generated import agent_pb2 as pb
from nav_eval_sdk._generated import health_pb2
from nav_eval_sdk.agent import Action, Description, Observation, Pose, Task
from nav_eval_sdk.check.checks import (
    NotServed,
    Probe,
    ProbeDescription,
    ProbeEpisode,
    ProbeError,
    ProbeReply,
    Readiness,
)
from nav_eval_sdk.grpc_server import ENCODINGS

SERVICE = "/nav_eval.v1.Agent"
MEMORY_BYTES = 16 << 20
SHM = "/dev/shm"  # noqa: S108 (the file itself has a name that nobody can guess)
_NAMES = {number: name for name, number in ENCODINGS.items()}


class GrpcProbe(Probe):
    protocol = "grpc"

    def __init__(self, target: str, *, timeout: float, memory_dir: str | None = None) -> None:
        super().__init__(timeout=timeout)
        self.streams: bool | None = None  #: None until the first episode shows it
        self._memory = _OfferedMemory(memory_dir)
        self._channel = grpc.insecure_channel(target, options=_OPTIONS)
        self._methods = {name: self._unary(f"{SERVICE}/{name}") for name in ("Describe", "Reset", "Act", "End")}
        self._health = self._unary("/grpc.health.v1.Health/Check")
        self._episode: Any = self._channel.stream_stream(
            f"{SERVICE}/Episode", request_serializer=_serialize, response_deserializer=_keep_bytes
        )

    def wait_until_ready(self, seconds: float) -> Readiness:
        started = time.monotonic()
        while True:
            try:
                data = self._health(health_pb2.HealthCheckRequest(), timeout=1.0)
                if health_pb2.HealthCheckResponse.FromString(data).status == 1:
                    return Readiness(time.monotonic() - started, has_health=True)
                last = "the health service says NOT_SERVING"
            except grpc.RpcError as error:
                if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                    return Readiness(time.monotonic() - started, has_health=False)
                last = f"{error.code().name}: {error.details()}"
            if time.monotonic() - started > seconds:
                raise ProbeError(f"not ready after {seconds:g} s: {last}")
            time.sleep(0.05)

    def describe(self, task: Task) -> ProbeDescription:
        request = pb.DescribeRequest(
            protocol_versions=[1],
            evaluator="nav-eval-sdk check",
            task=encode_task(task),
            shared_memory=self._memory.message(),
        )
        data = self.call("Describe", request)
        reply = _parse(pb.DescribeReply, data)
        described = Description(
            name=reply.name,
            version=reply.version,
            sensors={
                sensor.name: tuple(_NAMES[number] for number in sensor.encodings if number in _NAMES)
                for sensor in reply.sensors
            },
            max_episodes=reply.max_episodes or 1,
            max_actions=reply.max_actions or 1,
            wants_between=reply.wants_between,
        )
        odd = {str(number) for sensor in reply.sensors for number in sensor.encodings if number not in _NAMES}
        proof = reply.shared_memory_proof
        return ProbeDescription(
            description=described,
            protocol_versions=tuple(reply.protocol_versions),
            unknown_encodings=tuple(sorted(odd)),
            repeats_replies=reply.repeats_replies,
            proof_is_right=proof == self._memory.proof if proof else None,
            raw=data,
        )

    def open(self, task: Task, *, instruction: str, shared: bool = False) -> ProbeEpisode:
        request = pb.ResetRequest(
            episode=pb.EpisodeInfo(episode_id="check", instruction=pb.Instruction(text=instruction, language="en")),
            task=encode_task(task),
            shared_memory=self._memory.message() if shared else None,
        )
        if self.streams is not False:
            try:
                stream = _StreamEpisode(self, request)
                self.streams = True
                return stream
            except NotServed:
                self.streams = False
        return _UnaryEpisode(self, request)

    def is_serving(self) -> bool:
        try:
            self.call("Describe", pb.DescribeRequest(protocol_versions=[1]))
        except NotServed:
            return True
        except ProbeError:
            return False
        return True

    def send_garbage(self) -> None:
        garbage = self._channel.unary_unary(
            f"{SERVICE}/Act", request_serializer=_keep_bytes, response_deserializer=_keep_bytes
        )
        try:
            garbage(b"\xff" * 200, timeout=self.timeout)
        except grpc.RpcError:
            return

    def act_without_reset(self, observation: Observation) -> None:
        request = pb.ActRequest(session_id="never-reset", sequence=1)
        fill_observation(request.observation, observation, None)
        self.call("Act", request)

    def call(self, method: str, request: Any) -> bytes:  # noqa: ANN401
        try:
            data: bytes = self._methods[method](request, timeout=self.timeout)
            return data
        except grpc.RpcError as error:
            raise to_probe_error(error, method) from None

    def start_episode(self, requests: Iterator[Any]) -> Any:  # noqa: ANN401
        return self._episode(requests)

    @property
    def memory(self) -> _OfferedMemory:
        return self._memory

    def close(self) -> None:
        self._channel.close()
        self._memory.close()

    def _unary(self, path: str) -> Any:  # noqa: ANN401
        return self._channel.unary_unary(path, request_serializer=_serialize, response_deserializer=_keep_bytes)


class _StreamEpisode(ProbeEpisode):
    """One call of Episode."""

    def __init__(self, probe: GrpcProbe, reset: Any) -> None:  # noqa: ANN401
        super().__init__()
        self._probe = probe
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._call = probe.start_episode(iter(self._requests.get, None))
        reset.session_id = self.session_id
        self.uses_memory = self._ask(pb.EpisodeRequest(reset=reset), "reset").reset.shared_memory

    def ask(self, observation: Observation) -> ProbeReply:
        request = pb.EpisodeRequest()
        request.act.session_id, request.act.sequence = self.session_id, self.sequence
        fill_observation(request.act.observation, observation, self._probe.memory if self.uses_memory else None)
        started = time.monotonic()
        return decode_reply(self._ask(request, "act").act, time.monotonic() - started)

    def end(self) -> bool:
        self._ask(pb.EpisodeRequest(end=_make_end(self)), "end")
        self._requests.put(None)
        timer = threading.Timer(self._probe.timeout, self._call.cancel)
        timer.start()
        try:
            for _ in self._call:
                raise ProbeError("the agent sends more after the end")
        except grpc.RpcError as error:
            raise ProbeError(f"the stream ends with {error.code().name}: {error.details()}") from None
        finally:
            timer.cancel()
        return True

    def abandon(self) -> None:
        self._call.cancel()
        self._requests.put(None)

    def _ask(self, request: Any, kind: str) -> Any:  # noqa: ANN401
        self._requests.put(request)
        timer = threading.Timer(self._probe.timeout, self._call.cancel)
        timer.start()
        try:
            data = next(self._call)
        except StopIteration:
            raise ProbeError(f"the agent closed the stream instead of answering {kind}") from None
        except grpc.RpcError as error:
            self._requests.put(None)
            if not timer.is_alive() and error.code() is grpc.StatusCode.CANCELLED:
                raise ProbeError(f"no reply to {kind} within {self._probe.timeout:g} s") from None
            raise to_probe_error(error, kind) from None
        finally:
            timer.cancel()
        reply = _parse(pb.EpisodeReply, data)
        if reply.WhichOneof("reply") != kind:
            raise ProbeError(f"the agent answers {reply.WhichOneof('reply')!r} to {kind}")
        return reply


def _make_end(episode: ProbeEpisode) -> Any:  # noqa: ANN401
    return pb.EndRequest(session_id=episode.session_id, status=pb.END_STATUS_COMPLETED, steps=episode.sequence)


class _UnaryEpisode(ProbeEpisode):
    """Reset, Act, End."""

    def __init__(self, probe: GrpcProbe, reset: Any) -> None:  # noqa: ANN401
        super().__init__()
        self._probe = probe
        reset.session_id = self.session_id
        self.uses_memory = _parse(pb.ResetReply, probe.call("Reset", reset)).shared_memory

    def ask(self, observation: Observation) -> ProbeReply:
        request = pb.ActRequest(session_id=self.session_id, sequence=self.sequence)
        fill_observation(request.observation, observation, self._probe.memory if self.uses_memory else None)
        started = time.monotonic()
        reply = _parse(pb.ActReply, self._probe.call("Act", request))
        return decode_reply(reply, time.monotonic() - started)

    def end(self) -> bool:
        try:
            self._probe.call("End", _make_end(self))
        except NotServed:
            return False
        return True

    def abandon(self) -> None:
        """There is nothing to hang up."""


class _OfferedMemory:
    """A file to share, as the evaluator offers it."""

    def __init__(self, directory: str | None) -> None:
        if directory is None and os.access(SHM, os.W_OK):
            directory = SHM
        self._file = tempfile.NamedTemporaryFile(prefix="nav-eval-check-", dir=directory)  # noqa: SIM115
        self.proof = os.urandom(16)
        self._file.truncate(MEMORY_BYTES)
        self._file.write(self.proof)
        self._file.flush()
        Path(self._file.name).chmod(0o644)
        self._next = 64

    def message(self) -> pb.SharedMemory:
        return pb.SharedMemory(path=self._file.name, size=MEMORY_BYTES)

    def put(self, data: bytes) -> int:
        if self._next + len(data) > MEMORY_BYTES:
            self._next = 64
        offset, self._next = self._next, self._next + -(-len(data) // 64) * 64
        os.pwrite(self._file.fileno(), data, offset)
        return offset

    def close(self) -> None:
        self._file.close()


def encode_task(task: Task) -> pb.Task:
    return pb.Task(
        name=task.name,
        sensors=[
            pb.Sensor(name=name, kind=spec.kind, dtype=spec.dtype, shape=spec.shape)
            for name, spec in task.sensors.items()
        ],
        actions=[
            pb.ActionSpec(
                name=name, arguments={key: pb.Range(low=low, high=high) for key, (low, high) in takes.items()}
            )
            for name, takes in task.actions.items()
        ],
        max_steps=task.max_steps,
        reset_seconds=task.reset_seconds,
        action_seconds=task.action_seconds,
    )


def fill_observation(message: Any, observation: Observation, memory: _OfferedMemory | None) -> None:  # noqa: ANN401
    message.step = observation.step
    for name, array in observation.sensors.items():
        tensor = message.sensors[name]
        tensor.dtype = array.dtype.name
        tensor.shape.extend(array.shape)
        if memory is not None and array.nbytes >= 4096:
            tensor.shared.offset = memory.put(array.tobytes())
        else:
            tensor.raw = array.tobytes()
    for name, text in observation.texts.items():
        message.texts[name] = text


def decode_reply(reply: Any, seconds: float) -> ProbeReply:  # noqa: ANN401
    actions = tuple(
        Action(
            action.name,
            dict(action.arguments),
            tuple(Pose(tuple(pose.position), tuple(pose.rotation)) for pose in action.poses),
        )
        for action in reply.actions
    )
    return ProbeReply(reply.sequence, actions, seconds)


def to_probe_error(error: Any, doing: str) -> ProbeError:  # noqa: ANN401
    if error.code() is grpc.StatusCode.UNIMPLEMENTED:
        return NotServed(f"{doing} is not served")
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return ProbeError(f"no reply to {doing} in time")
    return ProbeError(f"{doing} fails with {error.code().name}: {error.details()}")


def _parse(kind: Any, data: bytes) -> Any:  # noqa: ANN401
    from google.protobuf.message import DecodeError

    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise ProbeError(f"{len(data)} bytes come back that are no {kind.__name__}") from error


def _serialize(message: Any) -> bytes:  # noqa: ANN401
    data: bytes = message.SerializeToString()
    return data


def _keep_bytes(data: bytes) -> bytes:
    return data


_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", 1 << 20),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.default_authority", "agent"),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
]
