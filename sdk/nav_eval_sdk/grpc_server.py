"""The agent's end of agent.proto."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import grpc

from nav_eval_sdk._generated import agent_pb2 as pb
from nav_eval_sdk._generated import health_pb2
from nav_eval_sdk.agent import Outcome
from nav_eval_sdk.errors import AgentError, BadRequest, SdkError
from nav_eval_sdk.hosting import Host
from nav_eval_sdk.shared_memory import Memories
from nav_eval_sdk.wire import act_reply, describe_reply, episode_of, observation_of, outcome_of

SERVICE = "nav_eval.v1.Agent"
HEALTH = "grpc.health.v1.Health"
SPARE_THREADS = 8  #: besides one per episode: health, descriptions, calls that end
SOCKET_MODE = 0o666  # the evaluator is another user


class GrpcServer:
    """Serves the agents of a host until it is stopped."""

    def __init__(self, host: Host, address: str, *, threads: int = 256) -> None:
        """`address` is `host:port` (port 0 picks a free one) or `unix:/path`."""
        service = _Service(host)
        self._pool = ThreadPoolExecutor(threads + SPARE_THREADS)
        self._server = grpc.server(self._pool, options=_OPTIONS)
        self._server.add_generic_rpc_handlers((service.agent_handlers(), service.health_handlers()))
        if address.startswith("unix:"):
            Path(address[len("unix:") :]).unlink(missing_ok=True)
        try:
            self.port = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise SdkError(f"Cannot serve on {address}: {error}") from error
        if not self.port:
            raise SdkError(f"Cannot serve on {address}: is it in use?")
        self._server.start()
        if address.startswith("unix:"):
            Path(address[len("unix:") :]).chmod(SOCKET_MODE)

    def wait(self) -> None:
        self._server.wait_for_termination()

    def stop(self, grace: float = 0.5) -> None:
        self._server.stop(grace).wait()


_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.so_reuseport", 0),  # two agents on one port would each get half of the episodes
]


class _Service:
    def __init__(self, host: Host) -> None:
        self._host = host
        self._memories = Memories()

    def agent_handlers(self) -> grpc.GenericRpcHandler[Any, Any]:
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "Describe": _unary(self._describe, pb.DescribeRequest),
                "Reset": _unary(self._reset, pb.ResetRequest),
                "Act": _unary(self._act, pb.ActRequest),
                "End": _unary(self._end, pb.EndRequest),
                "Episode": grpc.stream_stream_rpc_method_handler(
                    self._episode,
                    request_deserializer=pb.EpisodeRequest.FromString,
                    response_serializer=_serialized,
                ),
            },
        )

    def health_handlers(self) -> grpc.GenericRpcHandler[Any, Any]:
        return grpc.method_handlers_generic_handler(
            HEALTH, {"Check": _unary(self._check, health_pb2.HealthCheckRequest)}
        )

    def _check(self, request: health_pb2.HealthCheckRequest) -> health_pb2.HealthCheckResponse:
        status = health_pb2.HealthCheckResponse
        return status(status=status.SERVING if self._host.ready else status.NOT_SERVING)

    def _describe(self, request: pb.DescribeRequest) -> pb.DescribeReply:
        offered = request.shared_memory
        proof = self._memories.proof(offered.path, offered.size) if offered.size else b""
        return describe_reply(self._host.describe(), proof=proof)

    def _reset(self, request: pb.ResetRequest) -> pb.ResetReply:
        offered = request.shared_memory
        memory = self._memories.get(offered.path, offered.size) if offered.size else None
        self._host.reset(episode_of(request), memory)
        return pb.ResetReply(shared_memory=memory is not None)

    def _act(self, request: pb.ActRequest) -> pb.ActReply:
        session = self._host.session(request.session_id)
        memory = session.memory
        observation = observation_of(request, episode=session.episode, memory=memory)
        actions = self._host.act(request.session_id, request.sequence, observation)
        del observation  # what is alive now is held by the agent itself
        return act_reply(request.sequence, actions, memory.held() if memory is not None else ())

    def _end(self, request: pb.EndRequest) -> pb.EndReply:
        self._host.end(request.session_id, outcome_of(request))
        return pb.EndReply()

    def _episode(
        self, requests: Iterator[pb.EpisodeRequest], context: grpc.ServicerContext
    ) -> Iterator[pb.EpisodeReply]:
        session_id = ""
        try:
            for request in requests:
                session_id = session_id or request.reset.session_id
                with _as_status(context):
                    reply = self._reply(request)
                yield reply
                if reply.WhichOneof("reply") == "end":
                    return
        finally:  # the evaluator may vanish at any moment
            with contextlib.suppress(SdkError):
                self._host.end(session_id, Outcome(status="cancelled", reason="the evaluator hung up"))

    def _reply(self, request: pb.EpisodeRequest) -> pb.EpisodeReply:
        kind = request.WhichOneof("request")
        if kind == "act":
            return pb.EpisodeReply(act=self._act(request.act))
        if kind == "reset":
            return pb.EpisodeReply(reset=self._reset(request.reset))
        if kind == "end":
            return pb.EpisodeReply(end=self._end(request.end))
        raise BadRequest("A message of the stream holds neither reset, act nor end.")


@contextlib.contextmanager
def _as_status(context: grpc.ServicerContext) -> Iterator[None]:
    """Failures as the statuses that agent.proto names."""
    try:
        yield
    except BadRequest as error:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    except AgentError as error:
        exhausted = grpc.StatusCode.RESOURCE_EXHAUSTED
        context.abort(exhausted if error.out_of_memory else grpc.StatusCode.INTERNAL, str(error))
    except SdkError as error:
        context.abort(grpc.StatusCode.INTERNAL, str(error))


def _unary(handle: Callable[[Any], Any], request: Any) -> grpc.RpcMethodHandler[Any, Any]:  # noqa: ANN401
    def call(message: Any, context: grpc.ServicerContext) -> Any:  # noqa: ANN401
        with _as_status(context):
            return handle(message)

    return grpc.unary_unary_rpc_method_handler(
        call, request_deserializer=request.FromString, response_serializer=_serialized
    )


def _serialized(message: Any) -> bytes:  # noqa: ANN401
    data: bytes = message.SerializeToString()
    return data
