"""Messages of agent.proto as the types that agents see, and back."""

from __future__ import annotations

from collections.abc import Iterable

from nav_eval_sdk._generated import agent_pb2 as pb
from nav_eval_sdk.agent import Action, Array, Description, Episode, Observation, Outcome, SensorSpec, Task
from nav_eval_sdk.errors import BadRequest, SdkError
from nav_eval_sdk.shared_memory import Memory
from nav_eval_sdk.tensors import picture, raw_array

PROTOCOL_VERSION = 1

ENCODINGS = {"raw": pb.ENCODING_RAW, "jpeg": pb.ENCODING_JPEG, "png": pb.ENCODING_PNG}
_END_STATUSES: dict[int, str] = {
    pb.END_STATUS_FAILED: "failed",
    pb.END_STATUS_CANCELLED: "cancelled",
    pb.END_STATUS_TIMEOUT: "timeout",
}


def describe_reply(description: Description, *, proof: bytes) -> pb.DescribeReply:
    return pb.DescribeReply(
        name=description.name,
        version=description.version,
        protocol_versions=[PROTOCOL_VERSION],
        sensors=[
            pb.SensorRequest(name=name, encodings=[_encoding(encoding) for encoding in encodings])
            for name, encodings in description.sensors.items()
        ],
        max_episodes=description.max_episodes,
        max_actions=description.max_actions,
        wants_between=description.wants_between,
        repeats_replies=True,
        shared_memory_proof=proof,
        metadata=description.metadata,
    )


def task_of(message: pb.Task) -> Task:
    return Task(
        name=message.name,
        sensors={sensor.name: SensorSpec(sensor.kind, sensor.dtype, tuple(sensor.shape)) for sensor in message.sensors},
        actions={
            action.name: {name: (bounds.low, bounds.high) for name, bounds in action.arguments.items()}
            for action in message.actions
        },
        max_steps=message.max_steps,
        reset_seconds=message.reset_seconds,
        action_seconds=message.action_seconds,
    )


def episode_of(request: pb.ResetRequest) -> Episode:
    told = request.episode
    return Episode(
        episode_id=told.episode_id,
        instruction=told.instruction.text,
        tokens=tuple(told.instruction.tokens),
        language=told.instruction.language,
        object_category=told.object_category or None,
        task=task_of(request.task),
        session_id=request.session_id,
    )


def observation_of(request: pb.ActRequest, *, episode: Episode, memory: Memory | None) -> Observation:
    def moment(message: pb.Observation, between: Iterable[pb.Observation] = ()) -> Observation:
        return Observation(
            step=message.step,
            sensors={name: _array(tensor, request.sequence, memory) for name, tensor in message.sensors.items()},
            texts=dict(message.texts),
            between=tuple(moment(seen) for seen in between),
            episode=episode,
        )

    return moment(request.observation, request.between)


def act_reply(sequence: int, actions: Iterable[Action], held: Iterable[int] = ()) -> pb.ActReply:
    return pb.ActReply(sequence=sequence, actions=[_action(action) for action in actions], held=held)


def outcome_of(request: pb.EndRequest) -> Outcome:
    return Outcome(
        status=_END_STATUSES.get(request.status, "completed"),
        steps=request.steps,
        reason=request.reason,
        metrics=dict(request.metrics),
    )


def _action(action: Action) -> pb.Action:
    return pb.Action(
        name=action.name,
        arguments={name: float(value) for name, value in action.arguments.items()},
        poses=[pb.Pose(position=pose.position, rotation=pose.rotation) for pose in action.poses],
    )


def _array(tensor: pb.Tensor, sequence: int, memory: Memory | None) -> Array:
    shape, content = tuple(tensor.shape), tensor.WhichOneof("content")
    if content == "shared":
        if memory is None:
            raise BadRequest("A tensor lies in shared memory that this episode does not have.")
        return memory.array(sequence, offset=tensor.shared.offset, dtype=tensor.dtype, shape=shape)
    if content == "jpeg":
        return picture(tensor.jpeg, shape)
    if content == "png":
        return picture(tensor.png, shape)
    return raw_array(tensor.raw, tensor.dtype, shape)


def _encoding(name: str) -> pb.Encoding:
    try:
        return ENCODINGS[name]
    except KeyError:
        raise SdkError(f"{name!r} is no encoding; choose among {', '.join(ENCODINGS)}.") from None
