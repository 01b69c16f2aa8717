"""The agent's end of agent.proto: the server, and its messages as the types that agents see."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import grpc

from nav_eval_sdk._generated import agent_pb2 as pb
from nav_eval_sdk._generated import health_pb2
from nav_eval_sdk.agent import Action, Array, Description, Episode, Observation, Outcome, SensorSpec, Task
from nav_eval_sdk.arrays import SharedMemory, SharedMemoryCache, decode_image, decode_raw
from nav_eval_sdk.errors import AgentError, BadRequest, SdkError
from nav_eval_sdk.geometry import Body, Camera, DepthRange, Motion
from nav_eval_sdk.host import Host

PROTOCOL_VERSION = 1

ENCODINGS = {"raw": pb.ENCODING_RAW, "jpeg": pb.ENCODING_JPEG, "png": pb.ENCODING_PNG}
_END_STATUSES: dict[int, str] = {
    pb.END_STATUS_FAILED: "failed",
    pb.END_STATUS_CANCELLED: "cancelled",
    pb.END_STATUS_TIMEOUT: "timeout",
}

_STOP_MEANINGS: dict[int, str] = {
    pb.STOP_MEANING_ENDS_EPISODE: "ends_episode",
    pb.STOP_MEANING_CLOSES_SUBTASK: "closes_subtask",
    pb.STOP_MEANING_NONE: "none",
}


def encode_description(description: Description, *, proof: bytes) -> pb.DescribeReply:
    return pb.DescribeReply(
        name=description.name,
        version=description.version,
        protocol_versions=[PROTOCOL_VERSION],
        sensors=[
            pb.SensorRequest(name=name, encodings=[_encode_encoding(encoding) for encoding in encodings])
            for name, encodings in description.sensors.items()
        ],
        max_episodes=description.max_episodes,
        max_actions=description.max_actions,
        wants_between=description.wants_between,
        repeats_replies=True,
        shared_memory_proof=proof,
        metadata=description.metadata,
        rig=description.rig,
    )


def decode_task(message: pb.Task) -> Task:
    return Task(
        name=message.name,
        sensors={sensor.name: _decode_sensor(sensor) for sensor in message.sensors},
        actions={
            action.name: {name: (bounds.low, bounds.high) for name, bounds in action.arguments.items()}
            for action in message.actions
        },
        max_steps=message.max_steps,
        reset_seconds=message.reset_seconds,
        action_seconds=message.action_seconds,
        episode_seconds=message.episode_seconds,
        motions={
            action.name: Motion(
                motion.forward_metres,
                left_degrees=motion.left_degrees,
                up_degrees=motion.up_degrees,
                seconds=motion.seconds,
            )
            for action in message.actions
            if action.HasField("motion")
            for motion in (action.motion,)
        },
        budgets={action.name: action.budget for action in message.actions if action.budget},
        control_rate_hz=message.control_rate_hz,
        stop_meaning=_STOP_MEANINGS.get(message.stop_meaning, "unspecified"),
        success_metres=message.success_metres,
        body=_decode_body(message.body) if message.HasField("body") else None,
    )


def _decode_sensor(sensor: pb.Sensor) -> SensorSpec:
    camera = _decode_camera(sensor.camera) if sensor.HasField("camera") else None
    return SensorSpec(sensor.kind, sensor.dtype, tuple(sensor.shape), camera)


def _decode_camera(message: pb.Camera) -> Camera:
    lens, depth = message.intrinsics, message.depth
    return Camera(
        width=message.width,
        height=message.height,
        hfov_degrees=message.hfov_degrees,
        fx=lens.fx,
        fy=lens.fy,
        cx=lens.cx,
        cy=lens.cy,
        position=tuple(message.pose.position),
        rotation=tuple(message.pose.rotation),
        near=message.near,
        far=message.far,
        depth=DepthRange(depth.min, depth.max, depth.normalized) if message.HasField("depth") else None,
    )


def _decode_body(message: pb.Body) -> Body:
    return Body(
        radius=message.radius, height=message.height, slides=message.slides, max_tilt_degrees=message.max_tilt_degrees
    )


def decode_episode(request: pb.ResetRequest) -> Episode:
    told = request.episode
    return Episode(
        episode_id=told.episode_id,
        instruction=told.instruction.text,
        tokens=tuple(told.instruction.tokens),
        language=told.instruction.language,
        object_category=told.object_category or None,
        task=decode_task(request.task),
        session_id=request.session_id,
    )


def decode_observation(request: pb.ActRequest, *, episode: Episode, memory: SharedMemory | None) -> Observation:
    def moment(message: pb.Observation, between: Iterable[pb.Observation] = ()) -> Observation:
        return Observation(
            step=message.step,
            sensors={name: _decode_array(tensor, request.sequence, memory) for name, tensor in message.sensors.items()},
            texts=dict(message.texts),
            between=tuple(moment(seen) for seen in between),
            episode=episode,
        )

    return moment(request.observation, request.between)


def encode_reply(sequence: int, actions: Iterable[Action], held: Iterable[int] = ()) -> pb.ActReply:
    return pb.ActReply(sequence=sequence, actions=[_encode_action(action) for action in actions], held=held)


def decode_outcome(request: pb.EndRequest) -> Outcome:
    return Outcome(
        status=_END_STATUSES.get(request.status, "completed"),
        steps=request.steps,
        reason=request.reason,
        metrics=dict(request.metrics),
    )


def _encode_action(action: Action) -> pb.Action:
    return pb.Action(
        name=action.name,
        arguments={name: float(value) for name, value in action.arguments.items()},
        poses=[pb.Pose(position=pose.position, rotation=pose.rotation) for pose in action.poses],
        camera=action.camera,
        text=action.text,
    )


def _decode_array(tensor: pb.Tensor, sequence: int, memory: SharedMemory | None) -> Array:
    shape, content = tuple(tensor.shape), tensor.WhichOneof("content")
    if content == "shared":
        if memory is None:
            raise BadRequest("A tensor lies in shared memory that this episode does not have.")
        return memory.array(sequence, offset=tensor.shared.offset, dtype=tensor.dtype, shape=shape)
    if content == "jpeg":
        return decode_image(tensor.jpeg, shape)
    if content == "png":
        return decode_image(tensor.png, shape)
    return decode_raw(tensor.raw, tensor.dtype, shape)


def _encode_encoding(name: str) -> pb.Encoding:
    try:
        return ENCODINGS[name]
    except KeyError:
        raise SdkError(f"{name!r} is no encoding; choose among {', '.join(ENCODINGS)}.") from None


SERVICE = "nav_eval.v1.Agent"
HEALTH = "grpc.health.v1.Health"
SPARE_THREADS = 8  #: besides one per episode: health, descriptions, calls that end
SOCKET_MODE = 0o666  # the evaluator is another user


class GrpcServer:
    """Serves the agents of a host until it is stopped."""

    def __init__(self, host: Host, address: str, *, threads: int = 256) -> None:
        """`address` is `host:port` (port 0 picks a free one) or `unix:/path`."""
        service = _GrpcService(host)
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


class _GrpcService:
    def __init__(self, host: Host) -> None:
        self._host = host
        self._memories = SharedMemoryCache()

    def agent_handlers(self) -> grpc.GenericRpcHandler[Any, Any]:
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "Describe": _make_handler(self._describe, pb.DescribeRequest),
                "Reset": _make_handler(self._reset, pb.ResetRequest),
                "Act": _make_handler(self._act, pb.ActRequest),
                "End": _make_handler(self._end, pb.EndRequest),
                "Episode": grpc.stream_stream_rpc_method_handler(
                    self._episode, request_deserializer=pb.EpisodeRequest.FromString, response_serializer=_serialize
                ),
            },
        )

    def health_handlers(self) -> grpc.GenericRpcHandler[Any, Any]:
        return grpc.method_handlers_generic_handler(
            HEALTH, {"Check": _make_handler(self._check, health_pb2.HealthCheckRequest)}
        )

    def _check(self, request: health_pb2.HealthCheckRequest) -> health_pb2.HealthCheckResponse:
        status = health_pb2.HealthCheckResponse
        return status(status=status.SERVING if self._host.ready else status.NOT_SERVING)

    def _describe(self, request: pb.DescribeRequest) -> pb.DescribeReply:
        offered = request.shared_memory
        proof = self._memories.proof(offered.path, offered.size) if offered.size else b""
        return encode_description(self._host.describe(), proof=proof)

    def _reset(self, request: pb.ResetRequest) -> pb.ResetReply:
        offered = request.shared_memory
        memory = self._memories.get(offered.path, offered.size) if offered.size else None
        self._host.reset(decode_episode(request), memory)
        return pb.ResetReply(shared_memory=memory is not None)

    def _act(self, request: pb.ActRequest) -> pb.ActReply:
        session = self._host.session(request.session_id)
        memory = session.memory
        observation = decode_observation(request, episode=session.episode, memory=memory)
        actions = self._host.act(request.session_id, request.sequence, observation)
        del observation  # what is alive now is held by the agent itself
        return encode_reply(request.sequence, actions, memory.held() if memory is not None else ())

    def _end(self, request: pb.EndRequest) -> pb.EndReply:
        self._host.end(request.session_id, decode_outcome(request))
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


def _make_handler(handle: Callable[[Any], Any], request: Any) -> grpc.RpcMethodHandler[Any, Any]:  # noqa: ANN401
    def call(message: Any, context: grpc.ServicerContext) -> Any:  # noqa: ANN401
        with _as_status(context):
            return handle(message)

    return grpc.unary_unary_rpc_method_handler(
        call, request_deserializer=request.FromString, response_serializer=_serialize
    )


def _serialize(message: Any) -> bytes:  # noqa: ANN401
    data: bytes = message.SerializeToString()
    return data
