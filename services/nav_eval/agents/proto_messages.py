"""Our types as messages of agent.proto, and back."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Literal

import numpy as np

import nav_eval
from nav_eval.agents._generated import agent_pb2 as pb
from nav_eval.agents.client import ClientSettings
from nav_eval.agents.failures import ProtocolError
from nav_eval.agents.image_codecs import choose_encoding, encode_image, encode_raw
from nav_eval.agents.messages import (
    DTYPES,
    MAX_EPISODES,
    MAX_METADATA,
    MAX_TRAJECTORY,
    PROTOCOL_VERSION,
    Action,
    ActionSpec,
    AgentDescription,
    Array,
    Encoding,
    EndStatus,
    EpisodeEnd,
    Observation,
    StopMeaning,
    TaskInterface,
    check_count,
    check_versions,
    make_pose,
    shorten,
)
from nav_eval.agents.shared_memory import Ring, Slot
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.sensors import CameraSpec

_ENCODINGS: dict[int, Encoding] = {
    pb.ENCODING_RAW: Encoding.RAW,
    pb.ENCODING_JPEG: Encoding.JPEG,
    pb.ENCODING_PNG: Encoding.PNG,
}
_ORDERS: tuple[Literal["<", ">"], ...] = ("<", ">")
_DTYPE_NAMES = {np.dtype(name).newbyteorder(order): name for name in DTYPES for order in _ORDERS}
_END_STATUSES = {
    EndStatus.COMPLETED: pb.END_STATUS_COMPLETED,
    EndStatus.FAILED: pb.END_STATUS_FAILED,
    EndStatus.TIMEOUT: pb.END_STATUS_TIMEOUT,
    EndStatus.CANCELLED: pb.END_STATUS_CANCELLED,
}

_STOP_MEANINGS = {
    StopMeaning.UNSPECIFIED: pb.STOP_MEANING_UNSPECIFIED,
    StopMeaning.ENDS_EPISODE: pb.STOP_MEANING_ENDS_EPISODE,
    StopMeaning.CLOSES_SUBTASK: pb.STOP_MEANING_CLOSES_SUBTASK,
    StopMeaning.NONE: pb.STOP_MEANING_NONE,
}


def encode_describe_request(task: TaskInterface, *, settings: ClientSettings, ring: Ring | None) -> pb.DescribeRequest:
    return pb.DescribeRequest(
        protocol_versions=[PROTOCOL_VERSION],
        evaluator=f"nav-eval {nav_eval.__version__}",
        task=encode_task(task, settings),
        shared_memory=encode_shared_memory(ring),
    )


def decode_description(reply: pb.DescribeReply, *, proof: bytes | None) -> AgentDescription:
    """What the agent said, checked; `proof` is what it must have read from our memory."""
    check_versions(tuple(reply.protocol_versions))
    return AgentDescription(
        name=shorten(reply.name) or "agent",
        version=shorten(reply.version),
        sensors={sensor.name: _decode_encodings(sensor.encodings) for sensor in reply.sensors},
        max_episodes=check_count(reply.max_episodes, what="max_episodes", most=MAX_EPISODES),
        max_actions=check_count(reply.max_actions, what="max_actions", most=1 << 16),
        wants_between=reply.wants_between,
        repeats_replies=reply.repeats_replies,
        shared_memory=proof is not None and reply.shared_memory_proof == proof,
        metadata=_decode_metadata(reply.metadata),
        rig=reply.rig,
    )


def encode_reset_request(
    episode: PublicEpisode, *, session_id: str, task: TaskInterface, settings: ClientSettings, ring: Ring | None
) -> pb.ResetRequest:
    return pb.ResetRequest(
        session_id=session_id,
        episode=encode_episode(episode),
        task=encode_task(task, settings),
        shared_memory=encode_shared_memory(ring),
    )


def encode_episode(episode: PublicEpisode) -> pb.EpisodeInfo:
    told = episode.instruction
    return pb.EpisodeInfo(
        episode_id=episode.episode_id,
        instruction=None
        if told is None
        else pb.Instruction(text=told.text, tokens=told.tokens, language=told.language or ""),
        object_category=episode.object_category or "",
    )


def encode_task(task: TaskInterface, settings: ClientSettings) -> pb.Task:
    return pb.Task(
        name=task.name,
        sensors=_encode_sensors(task),
        actions=_encode_action_specs(task),
        max_steps=task.max_steps,
        reset_seconds=settings.reset_timeout,
        action_seconds=settings.action_timeout,
        episode_seconds=settings.episode_timeout or 0.0,
        control_rate_hz=task.control_rate_hz,
        stop_meaning=_STOP_MEANINGS[task.stop_meaning],
        success_metres=task.success_metres,
        body=None if task.body is None else pb.Body(**asdict(task.body)),
        rigs=[
            pb.Rig(name=name, sensors=_encode_sensors(rig), actions=_encode_action_specs(rig))
            for name, rig in task.rigs.items()
        ],
    )


def _encode_sensors(task: TaskInterface) -> list[pb.Sensor]:
    return [
        pb.Sensor(name=name, kind=spec.kind, dtype=spec.dtype, shape=spec.shape, camera=_encode_camera(spec.camera))
        for name, spec in task.sensors.items()
    ]


def _encode_action_specs(task: TaskInterface) -> list[pb.ActionSpec]:
    return [_encode_action_spec(name, spec) for name, spec in task.actions.items()]


def _encode_action_spec(name: str, spec: ActionSpec) -> pb.ActionSpec:
    return pb.ActionSpec(
        name=name,
        arguments={key: pb.Range(low=low, high=high) for key, (low, high) in spec.arguments.items()},
        motion=None if spec.motion is None else pb.Motion(**asdict(spec.motion)),
        takes_text=spec.takes_text,
        budget=spec.budget,
    )


def _encode_camera(camera: CameraSpec | None) -> pb.Camera | None:
    if camera is None:
        return None
    focal_length, (cx, cy) = camera.focal_length, camera.principal_point
    centers = pb.PIXEL_CENTERS_AT_HALF
    depth = camera.depth
    return pb.Camera(
        width=camera.width,
        height=camera.height,
        hfov_degrees=camera.hfov,
        intrinsics=pb.Intrinsics(fx=focal_length, fy=focal_length, cx=cx, cy=cy, pixel_centers=centers),
        pose=pb.Pose(position=camera.pose.position, rotation=camera.pose.rotation),
        near=camera.near,
        far=camera.far,
        depth=None
        if depth is None
        else pb.DepthRange(min=depth.minimum, max=depth.maximum, normalized=depth.normalized),
    )


def encode_shared_memory(ring: Ring | None) -> pb.SharedMemory | None:
    return None if ring is None else pb.SharedMemory(path=ring.path, size=ring.size)


def fill_observation(
    message: pb.Observation, observation: Observation, *, description: AgentDescription, slot: Slot | None
) -> None:
    """Write the observation into `message`; large tensors as a place in `slot` where they fit.

    In place, because every nested message that is built on its own is copied once more, pixels included.
    """
    message.step = observation.step
    for name, array in observation.sensors.items():
        _fill_tensor(message.sensors[name], array, name=name, description=description, slot=slot)
    for name, text in observation.texts.items():
        message.texts[name] = text


def encode_end_request(outcome: EpisodeEnd, *, session_id: str) -> pb.EndRequest:
    return pb.EndRequest(
        session_id=session_id,
        status=_END_STATUSES[outcome.status],
        steps=outcome.steps,
        reason=outcome.reason,
        metrics=outcome.metrics,
    )


def decode_actions(reply: pb.ActReply, *, sequence: int, most: int) -> list[Action]:
    """The actions of a reply, which must be the one to this request."""
    if reply.sequence not in (0, sequence):
        raise ProtocolError(f"The reply is to request {reply.sequence}, but the last one was {sequence}.")
    if len(reply.actions) > most:
        raise ProtocolError(
            f"The reply has {len(reply.actions)} actions, and the agent may give {most} at once; say more in Describe."
        )
    return [_decode_action(action) for action in reply.actions]


def _decode_action(action: pb.Action) -> Action:
    guesses = action.poses[: MAX_TRAJECTORY + 1]
    return Action(
        name=action.name,
        camera=action.camera,
        text=action.text,
        arguments=dict(action.arguments),
        poses=tuple(make_pose(position=guess.position, rotation=guess.rotation) for guess in guesses),
    )


def _fill_tensor(
    tensor: pb.Tensor, array: Array, *, name: str, description: AgentDescription, slot: Slot | None
) -> None:
    tensor.dtype = _get_dtype_name(array, name)
    tensor.shape.extend(array.shape)
    offset = None if slot is None else slot.put(name, array)
    if offset is not None:
        tensor.shared.offset = offset
        return
    encoding = choose_encoding(array, description.encodings(name))
    if encoding is Encoding.RAW:
        tensor.raw = encode_raw(array)
    else:
        setattr(tensor, encoding.value, encode_image(array, encoding))


def _get_dtype_name(array: Array, sensor: str) -> str:
    name = _DTYPE_NAMES.get(array.dtype)
    if name is None:
        raise TypeError(f"The sensor {sensor!r} gives {array.dtype}, which is no tensor of the protocol.")
    return name


def _decode_encodings(numbers: Iterable[int]) -> tuple[Encoding, ...]:
    """Those that we know; an agent may be newer than we are."""
    return tuple(_ENCODINGS[number] for number in numbers if number in _ENCODINGS)


def _decode_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    if len(metadata) > MAX_METADATA:
        raise ProtocolError(f"Describe gives {len(metadata)} entries of metadata; give at most {MAX_METADATA}.")
    return {shorten(key): shorten(value) for key, value in metadata.items()}
