"""Agents that serve agent.proto, over TCP or a Unix socket; `ProcessAgentClient` starts one (trusted code only)."""

import stat
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from nav_eval.agents._generated import agent_pb2 as pb
from nav_eval.agents._generated import health_pb2
from nav_eval.agents.client import AgentClient, AgentHealth, ClientSettings, Watchdog, retry
from nav_eval.agents.failures import (
    AgentFailure,
    AgentStartTimeout,
    ConnectionLost,
    ProtocolError,
)
from nav_eval.agents.grpc_sessions import (
    PATIENCE,
    ExitProbe,
    GrpcSession,
    StreamSession,
    StreamUnsupported,
    UnarySession,
    parse_message,
    to_failure,
)
from nav_eval.agents.grpc_streams import open_stream
from nav_eval.agents.messages import AgentDescription, TaskInterface
from nav_eval.agents.proto_messages import decode_description, encode_describe_request
from nav_eval.agents.shared_memory import RingPool
from nav_eval.dataset.episode import PublicEpisode

SERVICE = "/nav_eval.v1.Agent"
HEALTH_CHECK = "/grpc.health.v1.Health/Check"
ONE_TRY = 1.0  #: seconds to wait for a sign of life before looking whether the process still lives
CLOSE_SECONDS = 2.0  #: for a channel to be closed in good order
SLOTS = 4  #: observations that fit into a ring: one in question, the others for an agent that holds on

_NOBODY_THERE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def find_no_exit(seconds: float) -> AgentFailure | None:
    """The exit probe of an agent whose process we do not see."""
    return None


class GrpcAgentClient(AgentClient):
    """The evaluator's end of agent.proto."""

    def __init__(
        self, target: str, settings: ClientSettings, *, exit_probe: ExitProbe = find_no_exit, streams: bool = True
    ) -> None:
        """`target` is `host:port` or `unix:/path`; `exit_probe` says how the agent ended, if it has ended."""
        super().__init__(settings)
        self._target = target
        self._exit_probe = exit_probe
        self._streams = streams
        self._watchdog = Watchdog()
        self._rings: RingPool | None = None
        self._channel = grpc.insecure_channel(target, options=_make_channel_options(settings))
        self._stub = _Stub(self._channel)

    def health_check(self) -> AgentHealth:
        try:
            if not self._has_socket():
                return AgentHealth.UNREACHABLE
            data = self._stub.health(health_pb2.HealthCheckRequest(), timeout=ONE_TRY)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                return AgentHealth.SERVING
            return AgentHealth.UNREACHABLE if error.code() in _NOBODY_THERE else AgentHealth.STARTING
        status = parse_message(health_pb2.HealthCheckResponse, data).status
        return AgentHealth.SERVING if status == health_pb2.HealthCheckResponse.SERVING else AgentHealth.STARTING

    def close(self) -> None:
        """Within seconds: a peer that reads nothing any more could keep a channel waiting for hours."""
        closing = threading.Thread(target=self._channel.close, name="nav-eval-channel", daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
        self._watchdog.close()
        if self._rings is not None:
            self._rings.retire()

    def _describe(self, task: TaskInterface) -> AgentDescription:
        self._wait_until_ready()
        probes = self._new_rings(task, slots=1)
        ring = probes.take() if probes is not None else None
        try:
            request = encode_describe_request(task, settings=self.settings, ring=ring)
            reply = retry(lambda: self._ask_to_describe(request), on=ConnectionLost, settings=self.settings)
            description = decode_description(reply, proof=ring.proof if ring is not None else None)
        finally:
            if ring is not None:
                ring.close()
        self._prepare_rings(task, description)
        return description

    def _ask_to_describe(self, request: pb.DescribeRequest) -> pb.DescribeReply:
        try:
            return parse_message(pb.DescribeReply, self._stub.describe(request, timeout=self.settings.connect_timeout))
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                return pb.DescribeReply()
            failure = to_failure(error, doing="answering Describe")
            raise (self._exit_probe(PATIENCE) or failure) if isinstance(failure, ConnectionLost) else failure from None

    def _prepare_rings(self, task: TaskInterface, description: AgentDescription) -> None:
        """Rings that fit what the agent asked for, now that this is known."""
        if self._rings is not None:
            self._rings.retire()
            self._rings = None
        if description.shared_memory:
            chunk = min(description.max_actions, self.settings.max_actions) if description.wants_between else 1
            self._rings = self._new_rings(description.keep_wanted(task), slots=SLOTS + chunk - 1)

    def _new_rings(self, task: TaskInterface, *, slots: int) -> RingPool | None:
        if not self.settings.shared_memory:
            return None
        return RingPool(task.sensors, slots=slots, directory=self.settings.shared_memory_dir)

    def _open(self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription) -> GrpcSession:
        common: dict[str, Any] = {
            "task": task,
            "description": description,
            "settings": self.settings,
            "stub": self._stub,
            "rings": self._rings,
            "exit_probe": self._exit_probe,
        }
        return retry(lambda: self._open_once(episode, common), on=ConnectionLost, settings=self.settings)

    def _open_once(self, episode: PublicEpisode, common: dict[str, Any]) -> GrpcSession:
        if self._streams:
            try:
                stream = StreamSession(watchdog=self._watchdog, **common)
                stream.reset(episode)
            except StreamUnsupported:
                self._streams = False
            else:
                return stream
        unary = UnarySession(**common)
        unary.reset(episode)
        return unary

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + self.settings.connect_timeout
        while (health := self.health_check()) is not AgentHealth.SERVING:
            ended = self._exit_probe(0.0)
            if ended is not None:
                raise ended
            if time.monotonic() >= deadline:
                state = "says that it is not ready" if health is AgentHealth.STARTING else "does not answer"
                raise AgentStartTimeout(
                    f"The agent at {self._target} still {state} after {self.settings.connect_timeout:g} s."
                )
            time.sleep(min(0.02, self.settings.connect_timeout / 10))

    def _has_socket(self) -> bool:
        """An agent owns the directory of its socket: a link there could lead to a socket of ours."""
        if not self._target.startswith("unix:"):
            return True
        path = Path(self._target.removeprefix("unix:"))
        with suppress(OSError):
            if stat.S_ISSOCK(path.lstat().st_mode):
                return True
            raise ProtocolError(f"{path} is no socket; serve on exactly this path.")
        return False


class _Stub:
    """The methods of the service by their names on the wire; replies stay bytes until we parse them."""

    def __init__(self, channel: grpc.Channel) -> None:
        def unary(path: str) -> Any:  # noqa: ANN401
            return channel.unary_unary(path, request_serializer=_serialize, response_deserializer=_keep_bytes)

        self.health = unary(HEALTH_CHECK)
        self.describe = unary(f"{SERVICE}/Describe")
        self.reset = unary(f"{SERVICE}/Reset")
        self.act = unary(f"{SERVICE}/Act")
        self.end = unary(f"{SERVICE}/End")
        self.episode = partial(open_stream, channel, f"{SERVICE}/Episode")


def _keep_bytes(data: bytes) -> bytes:
    return data


def _serialize(message: Any) -> bytes:  # noqa: ANN401
    data: bytes = message.SerializeToString()
    return data


def _make_channel_options(settings: ClientSettings) -> list[tuple[str, Any]]:
    return [
        ("grpc.max_send_message_length", -1),
        ("grpc.max_receive_message_length", settings.max_reply_bytes),
        # no grpc.min_reconnect_backoff_ms: it is how long an attempt may take, and a busy agent speaks late
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 500),
        ("grpc.enable_http_proxy", 0),
        ("grpc.enable_retries", 0),  # a lost Act must not be sent twice behind our back
        ("grpc.default_authority", "agent"),  # a socket's path is no host name: some servers refuse it
        ("grpc.use_local_subchannel_pool", 1),  # two clients of one address share nothing
    ]
