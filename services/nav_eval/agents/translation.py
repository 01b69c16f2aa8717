"""Our types as messages of agent.proto, and back."""

from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np

import nav_eval
from nav_eval.agents import images
from nav_eval.agents._generated import agent_pb2 as pb
from nav_eval.agents.description import (
    MAX_EPISODES,
    MAX_METADATA,
    PROTOCOL_VERSION,
    AgentDescription,
    Encoding,
    bounded,
    check_versions,
    short,
)
from nav_eval.agents.failures import ProtocolError
from nav_eval.agents.interface import DTYPES, TaskInterface
from nav_eval.agents.messages import Action, Array, EndStatus, Observation, Outcome
from nav_eval.agents.replies import MAX_POSES, pose
from nav_eval.agents.settings import ClientSettings
from nav_eval.agents.shared_memory import Ring, Slot
from nav_eval.dataset.episode import PublicEpisode

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


def describe_request(task: TaskInterface, *, settings: ClientSettings, ring: Ring | None) -> pb.DescribeRequest:
    return pb.DescribeRequest(
        protocol_versions=[PROTOCOL_VERSION],
        evaluator=f"nav-eval {nav_eval.__version__}",
        task=task_message(task, settings),
        shared_memory=memory_message(ring),
    )


def description_of(reply: pb.DescribeReply, *, proof: bytes | None) -> AgentDescription:
    """What the agent said, checked; `proof` is what it must have read from our memory."""
    check_versions(tuple(reply.protocol_versions))
    return AgentDescription(
        name=short(reply.name) or "agent",
        version=short(reply.version),
        sensors={sensor.name: _encodings(sensor.encodings) for sensor in reply.sensors},
        max_episodes=bounded(reply.max_episodes, what="max_episodes", most=MAX_EPISODES),
        max_actions=bounded(reply.max_actions, what="max_actions", most=1 << 16),
        wants_between=reply.wants_between,
        repeats_replies=reply.repeats_replies,
        shared_memory=proof is not None and reply.shared_memory_proof == proof,
        metadata=_metadata(reply.metadata),
    )


def reset_request(
    episode: PublicEpisode,
    *,
    session_id: str,
    task: TaskInterface,
    settings: ClientSettings,
    ring: Ring | None,
) -> pb.ResetRequest:
    return pb.ResetRequest(
        session_id=session_id,
        episode=episode_message(episode),
        task=task_message(task, settings),
        shared_memory=memory_message(ring),
    )


def episode_message(episode: PublicEpisode) -> pb.EpisodeInfo:
    told = episode.instruction
    return pb.EpisodeInfo(
        episode_id=episode.episode_id,
        instruction=None
        if told is None
        else pb.Instruction(text=told.text, tokens=told.tokens, language=told.language or ""),
        object_category=episode.object_category or "",
    )


def task_message(task: TaskInterface, settings: ClientSettings) -> pb.Task:
    return pb.Task(
        name=task.name,
        sensors=[
            pb.Sensor(name=name, kind=spec.kind, dtype=spec.dtype, shape=spec.shape)
            for name, spec in task.sensors.items()
        ],
        actions=[
            pb.ActionSpec(
                name=name,
                arguments={key: pb.Range(low=low, high=high) for key, (low, high) in spec.arguments.items()},
            )
            for name, spec in task.actions.items()
        ],
        max_steps=task.max_steps,
        reset_seconds=settings.reset_timeout,
        action_seconds=settings.action_timeout,
    )


def memory_message(ring: Ring | None) -> pb.SharedMemory | None:
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


def end_request(outcome: Outcome, *, session_id: str) -> pb.EndRequest:
    return pb.EndRequest(
        session_id=session_id,
        status=_END_STATUSES[outcome.status],
        steps=outcome.steps,
        reason=outcome.reason,
        metrics=outcome.metrics,
    )


def actions_of(reply: pb.ActReply, *, sequence: int, most: int) -> list[Action]:
    """The actions of a reply, which must be the one to this request."""
    if reply.sequence not in (0, sequence):
        raise ProtocolError(f"The reply is to request {reply.sequence}, but the last one was {sequence}.")
    if len(reply.actions) > most:
        raise ProtocolError(
            f"The reply has {len(reply.actions)} actions, and the agent may give {most} at once; say more in Describe."
        )
    return [_action(action) for action in reply.actions]


def _action(action: pb.Action) -> Action:
    guesses = action.poses[: MAX_POSES + 1]
    return Action(
        name=action.name,
        arguments=dict(action.arguments),
        poses=tuple(pose(position=guess.position, rotation=guess.rotation) for guess in guesses),
    )


def _fill_tensor(
    tensor: pb.Tensor, array: Array, *, name: str, description: AgentDescription, slot: Slot | None
) -> None:
    tensor.dtype = _dtype_name(array, name)
    tensor.shape.extend(array.shape)
    offset = None if slot is None else slot.put(name, array)
    if offset is not None:
        tensor.shared.offset = offset
        return
    encoding = images.choose(array, description.encodings(name))
    if encoding is Encoding.RAW:
        tensor.raw = little_endian(array).tobytes()
    else:
        setattr(tensor, encoding.value, images.encode(array, encoding))


def _dtype_name(array: Array, sensor: str) -> str:
    name = _DTYPE_NAMES.get(array.dtype)
    if name is None:
        raise TypeError(f"The sensor {sensor!r} gives {array.dtype}, which is no tensor of the protocol.")
    return name


def little_endian(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("<"), copy=False) if array.dtype.itemsize > 1 else np.asarray(array)


def _encodings(numbers: Iterable[int]) -> tuple[Encoding, ...]:
    """Those that we know; an agent may be newer than we are."""
    return tuple(_ENCODINGS[number] for number in numbers if number in _ENCODINGS)


def _metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    if len(metadata) > MAX_METADATA:
        raise ProtocolError(f"Describe gives {len(metadata)} entries of metadata; give at most {MAX_METADATA}.")
    return {short(key): short(value) for key, value in metadata.items()}
