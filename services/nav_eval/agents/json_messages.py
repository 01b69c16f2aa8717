"""The messages of REST and WebSocket: the same content as agent.proto, as plain dictionaries.

Two forms of an observation. `plain` is what the specification shows and any JSON client can read: pictures as
base64 PNG (depth in millimetres, 16 bits), small readings as numbers. `tensor` is exact: every reading
with its dtype, shape and bytes; base64 in JSON, binary in msgpack. The SDK asks for `tensor`.
"""

import base64
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from nav_eval.agents.client import ClientSettings
from nav_eval.agents.document_codecs import EXAMPLE, Document
from nav_eval.agents.failures import ProtocolError
from nav_eval.agents.image_codecs import choose_encoding, encode_16_bit_png, encode_image, encode_raw, is_image
from nav_eval.agents.messages import (
    ANSWER,
    MAX_EPISODES,
    MAX_TRAJECTORY,
    Action,
    ActionSpec,
    AgentDescription,
    Array,
    Encoding,
    EndStatus,
    EpisodeEnd,
    Observation,
    TaskInterface,
    check_count,
    check_versions,
    make_pose,
    shorten,
)
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.sensors import CameraSpec
from nav_eval.suggestions import suggest_close_match

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
    rig: str = ""
    observations: Form = "plain"
    binary: bool = False  # REST: requests may come as msgpack


def decode_description(document: object) -> tuple[AgentDescription, DescriptionDocument]:
    """The checked description; and its document, for what concerns the transport alone."""
    try:
        said = msgspec.convert(document, DescriptionDocument)
    except msgspec.ValidationError as error:
        raise ProtocolError(
            f"The description is not usable: {error}. docs/protocol.md shows every key; all of them may be left out."
        ) from None
    check_versions(tuple(said.protocol_versions))
    wanted = said.sensors if isinstance(said.sensors, dict) else {name: [] for name in said.sensors}
    description = AgentDescription(
        name=shorten(said.name) or "agent",
        version=shorten(said.version),
        sensors={name: _decode_encodings(name, encodings) for name, encodings in wanted.items()},
        max_episodes=check_count(said.max_episodes, what="max_episodes", most=MAX_EPISODES),
        max_actions=check_count(said.max_actions, what="max_actions", most=1 << 16),
        wants_between=said.wants_between,
        repeats_replies=said.repeats_replies,
        metadata={shorten(key): shorten(value) for key, value in list(said.metadata.items())[:50]},
        rig=said.rig,
    )
    return description, said


def encode_task(task: TaskInterface, settings: ClientSettings) -> Document:
    return {
        "name": task.name,
        **_encode_rig(task),
        "max_steps": task.max_steps,
        "reset_seconds": settings.reset_timeout,
        "action_seconds": settings.action_timeout,
        "episode_seconds": settings.episode_timeout or 0.0,
        "control_rate_hz": task.control_rate_hz,
        "stop_meaning": task.stop_meaning.value,
        "success_metres": task.success_metres,
        **({} if task.body is None else {"body": asdict(task.body)}),
        **({"rigs": {name: _encode_rig(rig) for name, rig in task.rigs.items()}} if task.rigs else {}),
    }


def _encode_rig(task: TaskInterface) -> Document:
    return {
        "sensors": {
            name: {"kind": spec.kind, "dtype": spec.dtype, "shape": list(spec.shape), **_encode_camera(spec.camera)}
            for name, spec in task.sensors.items()
        },
        "actions": {name: _encode_action_spec(spec) for name, spec in task.actions.items()},
    }


def _encode_action_spec(spec: ActionSpec) -> Document:
    motion = {} if spec.motion is None else {"motion": asdict(spec.motion)}
    words = {"takes_text": True} if spec.takes_text else {}
    budget = {"budget": spec.budget} if spec.budget else {}
    return {"arguments": dict(spec.arguments), **motion, **words, **budget}


def _encode_camera(camera: CameraSpec | None) -> Document:
    """The same numbers as in agent.proto; nothing for sensors that are no cameras."""
    if camera is None:
        return {}
    focal_length, (cx, cy) = camera.focal_length, camera.principal_point
    lens = {"fx": focal_length, "fy": focal_length, "cx": cx, "cy": cy, "pixel_centers": "half"}
    depth = camera.depth
    return {
        "camera": {
            "width": camera.width,
            "height": camera.height,
            "hfov_degrees": camera.hfov,
            "intrinsics": lens,
            "pose": {"position": list(camera.pose.position), "rotation": list(camera.pose.rotation)},
            "near": camera.near,
            "far": camera.far,
            **(
                {}
                if depth is None
                else {"depth": {"min": depth.minimum, "max": depth.maximum, "normalized": depth.normalized}}
            ),
        }
    }


def encode_episode(episode: PublicEpisode) -> Document:
    document: Document = {"episode_id": episode.episode_id}
    if episode.instruction is not None:
        document["instruction"] = _encode_instruction(episode)
    if episode.object_category is not None:
        document["object_category"] = episode.object_category
    return document


def encode_observation(
    observation: Observation, *, form: Form, description: AgentDescription, episode: PublicEpisode
) -> Document:
    if form == "plain":
        return _encode_plain(observation, description=description, episode=episode)
    return {
        "step": observation.step,
        "sensors": {
            name: _encode_tensor(array, description.encodings(name)) for name, array in observation.sensors.items()
        },
        "texts": dict(observation.texts),
    }


def encode_outcome(outcome: EpisodeEnd) -> Document:
    return {
        "status": _STATUSES[outcome.status],
        "metrics": dict(outcome.metrics),
        "num_steps": outcome.steps,
        "reason": outcome.reason,
    }


ACTIONS_ARE_NAMES = "Actions are names, not numbers: one of those in the `actions` of the task, such as 'move_forward'."


def check_session(document: object, session_id: str) -> None:
    """An answer need not say which episode it is for; if it does, it is for the one that was asked about."""
    said = document.get("session_id", session_id) if isinstance(document, dict) else session_id
    if said != session_id:
        raise ProtocolError(
            f"The reply is for the session {show_document(said)}, but {session_id!r} was asked. "
            "Answer with the session_id of the question, or without one."
        )


def show_document(value: object) -> str:
    """What an agent sent, as JSON writes it."""
    try:
        return shorten(msgspec.json.encode(value).decode())
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return "something that JSON does not have"


def decode_actions(document: object, *, sequence: int, most: int) -> list[Action]:
    """The actions of a reply: one, by `action` and `action_args`, or several, by `actions`."""
    if not isinstance(document, dict):
        raise ProtocolError(f"The reply is {show_document(document)}. {EXAMPLE}")
    number = document.get("sequence", sequence)
    if isinstance(number, bool) or not isinstance(number, int):
        raise ProtocolError(f"`sequence` is {show_document(number)}; echo the number of the question, or leave it out.")
    if number not in (0, sequence):
        raise ProtocolError(f"The reply is to request {number!r:.40}, but the last one was {sequence}.")
    items = document.get("actions", [document])
    if not isinstance(items, list):
        raise ProtocolError(f'`actions` is {show_document(items)}; it must be a list, such as ["turn_left"].')
    if len(items) > most:
        raise ProtocolError(
            f"The reply has {len(items)} actions, and the agent may give {most} at once; say more in its description."
        )
    actions = [_decode_action(item) for item in items]
    if "action" in document and document["action"] != (actions[0].name if actions else None):
        raise ProtocolError(  # the SDK gives both: `action` for evaluators that take one at a time
            f"`action` is {show_document(document['action'])}, which is not the first of `actions`; give one of them."
        )
    return actions


def _decode_action(item: object) -> Action:
    if isinstance(item, str):
        return Action(name=item)
    if not isinstance(item, dict):
        raise ProtocolError(f"An action is {show_document(item)}. {ACTIONS_ARE_NAMES}")
    poses = item.get("poses") or []
    if not isinstance(poses, list):
        raise ProtocolError("`poses` must be a list.")
    camera = item.get("camera", "")
    if not isinstance(camera, str):
        raise ProtocolError("`camera` must be the name of a camera.")
    text = item.get("text", "")
    if not isinstance(text, str):
        raise ProtocolError(f"`text` is {show_document(text)}; it must be text.")
    if "action" not in item and not poses:
        keys = shorten(", ".join(map(str, item)))
        raise ProtocolError(f"The reply has no `action`{f', but {keys}' if keys else ''}. {EXAMPLE}")
    name = item.get("action", ANSWER)
    if isinstance(name, dict):
        raise ProtocolError(
            f"`action` is {show_document(name)}; it must be the name alone, such as 'move_forward'. "
            "Arguments stand beside it, in `action_args`."
        )
    if not isinstance(name, str):
        raise ProtocolError(f"`action` is {show_document(name)}. {ACTIONS_ARE_NAMES}")
    return Action(
        name=name,
        arguments=_decode_arguments(item.get("action_args") or {}),
        poses=tuple(_decode_pose(guess) for guess in poses[: MAX_TRAJECTORY + 1]),
        camera=camera,
        text=text,
    )


def _decode_arguments(arguments: object) -> dict[str, float]:
    if not isinstance(arguments, dict) or not all(isinstance(name, str) for name in arguments):
        raise ProtocolError(f"`action_args` is {show_document(arguments)}; it must be an object with numbers.")
    return {name: _decode_number(value, what=f"action_args.{shorten(name)}") for name, value in arguments.items()}


def _decode_pose(guess: object) -> Any:  # noqa: ANN401
    if not isinstance(guess, dict):
        raise ProtocolError("A pose must be an object with `position` and `rotation`.")
    return make_pose(position=_decode_numbers(guess, "position"), rotation=_decode_numbers(guess, "rotation"))


def _decode_numbers(guess: Mapping[str, object], key: str) -> list[float]:
    values = guess.get(key)
    if not isinstance(values, list) or len(values) > 4:
        raise ProtocolError(f"`{key}` of a pose must be a list of numbers.")
    return [_decode_number(value, what=key) for value in values]


def _decode_number(value: object, *, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ProtocolError(f"`{what}` must be a number, not {shorten(repr(value), limit=40)}.")
    try:
        return float(value)
    except OverflowError:
        raise ProtocolError(f"`{what}` is a number too large to be one.") from None


def _encode_instruction(episode: PublicEpisode) -> Document:
    told = episode.instruction
    if told is None:
        return {}
    language = {"language": told.language} if told.language else {}
    return {"text": told.text, "tokens": list(told.tokens), **language}


def _encode_tensor(array: Array, encodings: tuple[Encoding, ...]) -> Document:
    encoding = choose_encoding(array, encodings)
    raw = encoding is Encoding.RAW
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "encoding": encoding.value,
        "data": encode_raw(array) if raw else encode_image(array, encoding),
    }


def _encode_plain(observation: Observation, *, description: AgentDescription, episode: PublicEpisode) -> Document:
    document: Document = {"step": observation.step, "instruction": _encode_instruction(episode), **observation.texts}
    for name, array in observation.sensors.items():
        document[name] = _encode_plain_reading(array, description.encodings(name))
    return document


def _encode_plain_reading(array: Array, encodings: tuple[Encoding, ...]) -> object:
    if is_image(array):
        chosen = Encoding.JPEG if encodings[0] is Encoding.JPEG else Encoding.PNG
        return _encode_base64(encode_image(array, chosen))
    if array.ndim < 2 or array.size < 64:
        return array.tolist()
    if array.ndim == 2 and array.dtype.kind == "f":
        return _encode_base64(encode_16_bit_png(array * MILLIMETRES))
    if array.ndim == 2 and array.dtype.kind in "iu":
        return _encode_base64(encode_16_bit_png(array))
    return _encode_tensor(array, (Encoding.RAW,)) | {"data": _encode_base64(encode_raw(array))}


def _encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _decode_encodings(sensor: str, names: list[str]) -> tuple[Encoding, ...]:
    """Those that we know; an agent may be newer than we are, but it can read something of ours."""
    known = tuple(Encoding(name) for name in names if name in set(Encoding))
    if names and not known:
        raise ProtocolError(
            f"Describe wants {shorten(sensor)!r} as {shorten(', '.join(names))}, which nobody sends."
            f"{suggest_close_match(names[0][:100], map(str, Encoding))} There are: {', '.join(Encoding)}."
        )
    return known
