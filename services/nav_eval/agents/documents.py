"""The messages of REST and WebSocket: the same content as agent.proto, as plain dictionaries.

Two forms of an observation. `plain` is what the seeds show and any JSON client can read: pictures as
base64 PNG (depth in millimetres, 16 bits), small readings as numbers. `tensor` is exact: every reading
with its dtype, shape and bytes; base64 in JSON, binary in msgpack. The SDK asks for `tensor`.
"""

import base64
import io
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import numpy as np

from nav_eval.agents import images
from nav_eval.agents.description import (
    MAX_EPISODES,
    AgentDescription,
    Encoding,
    bounded,
    check_versions,
    short,
)
from nav_eval.agents.failures import ProtocolError
from nav_eval.agents.interface import TaskInterface
from nav_eval.agents.messages import ANSWER, Action, Array, EndStatus, Observation, Outcome
from nav_eval.agents.replies import MAX_POSES, pose
from nav_eval.agents.settings import ClientSettings
from nav_eval.agents.translation import little_endian
from nav_eval.dataset.episode import PublicEpisode

Document: TypeAlias = dict[str, Any]
Form: TypeAlias = Literal["plain", "tensor"]

MILLIMETRES = 1000.0
_STATUSES = {
    EndStatus.COMPLETED: "success",
    EndStatus.TIMEOUT: "timeout",
    EndStatus.FAILED: "error",
    EndStatus.CANCELLED: "error",
}


class DescriptionDocument(msgspec.Struct, kw_only=True):
    """What an agent says about itself by REST or WebSocket; everything has a default."""

    name: str = "agent"
    version: str = ""
    protocol_versions: list[int] = []
    sensors: list[str] | dict[str, list[str]] = []
    max_episodes: Annotated[int, msgspec.Meta(ge=0)] = 1
    max_actions: Annotated[int, msgspec.Meta(ge=0)] = 1
    wants_between: bool = False
    repeats_replies: bool = False
    metadata: dict[str, str] = {}
    observations: Form = "plain"
    binary: bool = False  # REST: requests may come as msgpack


def described(document: object) -> tuple[AgentDescription, DescriptionDocument]:
    """The checked description; and its document, for what concerns the transport alone."""
    try:
        said = msgspec.convert(document, DescriptionDocument)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"The description is not usable: {error}.") from None
    check_versions(tuple(said.protocol_versions))
    wanted = said.sensors if isinstance(said.sensors, dict) else {name: [] for name in said.sensors}
    description = AgentDescription(
        name=short(said.name) or "agent",
        version=short(said.version),
        sensors={name: _encodings(encodings) for name, encodings in wanted.items()},
        max_episodes=bounded(said.max_episodes, what="max_episodes", most=MAX_EPISODES),
        max_actions=bounded(said.max_actions, what="max_actions", most=1 << 16),
        wants_between=said.wants_between,
        repeats_replies=said.repeats_replies,
        metadata={short(key): short(value) for key, value in list(said.metadata.items())[:50]},
    )
    return description, said


def task_document(task: TaskInterface, settings: ClientSettings) -> Document:
    return {
        "name": task.name,
        "sensors": {
            name: {"kind": spec.kind, "dtype": spec.dtype, "shape": list(spec.shape)}
            for name, spec in task.sensors.items()
        },
        "actions": {name: {"arguments": dict(spec.arguments)} for name, spec in task.actions.items()},
        "max_steps": task.max_steps,
        "reset_seconds": settings.reset_timeout,
        "action_seconds": settings.action_timeout,
    }


def episode_document(episode: PublicEpisode) -> Document:
    document: Document = {"episode_id": episode.episode_id}
    if episode.instruction is not None:
        document["instruction"] = _instruction(episode)
    if episode.object_category is not None:
        document["object_category"] = episode.object_category
    return document


def observation_document(
    observation: Observation, *, form: Form, description: AgentDescription, episode: PublicEpisode
) -> Document:
    if form == "plain":
        return _plain(observation, description=description, episode=episode)
    return {
        "step": observation.step,
        "sensors": {name: _tensor(array, description.encodings(name)) for name, array in observation.sensors.items()},
        "texts": dict(observation.texts),
    }


def outcome_document(outcome: Outcome) -> Document:
    return {
        "status": _STATUSES[outcome.status],
        "metrics": dict(outcome.metrics),
        "num_steps": outcome.steps,
        "reason": outcome.reason,
    }


def actions_of(document: object, *, sequence: int, most: int) -> list[Action]:
    """The actions of a reply: one, by `action` and `action_args`, or several, by `actions`."""
    if not isinstance(document, dict):
        raise ProtocolError(f"The reply is {type(document).__name__}; it must be an object with `action`.")
    if document.get("sequence", sequence) not in (0, sequence):
        raise ProtocolError(f"The reply is to request {document['sequence']!r:.40}, but the last one was {sequence}.")
    items = document.get("actions", [document])
    if not isinstance(items, list):
        raise ProtocolError("`actions` must be a list.")
    if len(items) > most:
        raise ProtocolError(
            f"The reply has {len(items)} actions, and the agent may give {most} at once; say more in its description."
        )
    return [_action(item) for item in items]


def _action(item: object) -> Action:
    if isinstance(item, str):
        return Action(name=item)
    if not isinstance(item, dict):
        raise ProtocolError(f"An action is {type(item).__name__}; it must be a name or an object with `action`.")
    poses = item.get("poses") or []
    if not isinstance(poses, list):
        raise ProtocolError("`poses` must be a list.")
    name = item.get("action", ANSWER if poses else None)
    if not isinstance(name, str):
        raise ProtocolError(f"The reply has no `action`, but {short(', '.join(map(str, item))) or 'nothing'}.")
    return Action(
        name=name,
        arguments=_arguments(item.get("action_args") or {}),
        poses=tuple(_pose(guess) for guess in poses[: MAX_POSES + 1]),
    )


def _arguments(arguments: object) -> dict[str, float]:
    if not isinstance(arguments, dict) or not all(isinstance(name, str) for name in arguments):
        raise ProtocolError("`action_args` must be an object with numbers.")
    return {name: _number(value, what=f"action_args.{short(name)}") for name, value in arguments.items()}


def _pose(guess: object) -> Any:  # noqa: ANN401
    if not isinstance(guess, dict):
        raise ProtocolError("A pose must be an object with `position` and `rotation`.")
    return pose(position=_numbers(guess, "position"), rotation=_numbers(guess, "rotation"))


def _numbers(guess: Mapping[str, object], key: str) -> list[float]:
    values = guess.get(key)
    if not isinstance(values, list) or len(values) > 4:
        raise ProtocolError(f"`{key}` of a pose must be a list of numbers.")
    return [_number(value, what=key) for value in values]


def _number(value: object, *, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ProtocolError(f"`{what}` must be a number, not {short(repr(value), limit=40)}.")
    try:
        return float(value)
    except OverflowError:
        raise ProtocolError(f"`{what}` is a number too large to be one.") from None


def _instruction(episode: PublicEpisode) -> Document:
    told = episode.instruction
    if told is None:
        return {}
    language = {"language": told.language} if told.language else {}
    return {"text": told.text, "tokens": list(told.tokens), **language}


def _tensor(array: Array, encodings: tuple[Encoding, ...]) -> Document:
    encoding = images.choose(array, encodings)
    raw = encoding is Encoding.RAW
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "encoding": encoding.value,
        "data": little_endian(array).tobytes() if raw else images.encode(array, encoding),
    }


def _plain(observation: Observation, *, description: AgentDescription, episode: PublicEpisode) -> Document:
    document: Document = {"step": observation.step, "instruction": _instruction(episode), **observation.texts}
    for name, array in observation.sensors.items():
        document[name] = _plain_value(array, description.encodings(name))
    return document


def _plain_value(array: Array, encodings: tuple[Encoding, ...]) -> object:
    if images.is_picture(array):
        chosen = Encoding.JPEG if encodings[0] is Encoding.JPEG else Encoding.PNG
        return _base64(images.encode(array, chosen))
    if array.ndim < 2 or array.size < 64:
        return array.tolist()
    if array.ndim == 2 and array.dtype.kind == "f":
        return _base64(_deep_picture(array * MILLIMETRES))
    if array.ndim == 2 and array.dtype.kind in "iu":
        return _base64(_deep_picture(array))
    return _tensor(array, (Encoding.RAW,)) | {"data": _base64(little_endian(array).tobytes())}


def _deep_picture(array: Array) -> bytes:
    """16 bits of grey; what does not fit is the nearest that does."""
    from PIL import Image

    finite = np.nan_to_num(array, nan=0.0, posinf=65535.0, neginf=0.0) if array.dtype.kind == "f" else array
    buffer = io.BytesIO()
    Image.fromarray(np.clip(np.rint(finite), 0, 65535).astype(np.uint16)).save(
        buffer, "PNG", compress_level=images.PNG_EFFORT
    )
    return buffer.getvalue()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _encodings(names: list[str]) -> tuple[Encoding, ...]:
    """Those that we know; an agent may be newer than we are."""
    return tuple(Encoding(name) for name in names if name in set(Encoding))
