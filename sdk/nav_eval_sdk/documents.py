"""The messages of REST and WebSocket as the types that agents see, and back."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

from nav_eval_sdk.agent import Action, Array, Description, Episode, Observation, Outcome, SensorSpec, Task
from nav_eval_sdk.errors import BadRequest
from nav_eval_sdk.packing import pack, unpack
from nav_eval_sdk.tensors import picture, raw_array

Document = dict[str, Any]

JSON = "application/json"
MSGPACK = "application/msgpack"

_STATUSES = {"success": "completed", "timeout": "timeout", "error": "failed"}


def encode(document: Document, *, binary: bool) -> bytes:
    """The document as msgpack, or as JSON with bytes in base64."""
    return pack(document) if binary else json.dumps(document, default=_base64).encode()


def decode(data: bytes, *, binary: bool) -> Document:
    try:
        document = unpack(data) if binary else json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"{len(data)} bytes are no JSON: {error}.") from error
    if not isinstance(document, dict):
        raise BadRequest("A message must be an object.")
    return document


def description_document(description: Description) -> Document:
    return {
        "name": description.name,
        "version": description.version,
        "protocol_versions": [1],
        "sensors": {name: list(encodings) for name, encodings in description.sensors.items()},
        "max_episodes": description.max_episodes,
        "max_actions": description.max_actions,
        "wants_between": description.wants_between,
        "repeats_replies": True,
        "metadata": dict(description.metadata),
        "observations": "tensor",
        "binary": True,
    }


def episode_of(document: Document) -> Episode:
    told = _field(document, "episode", dict)
    instruction = told.get("instruction") or {}
    return Episode(
        episode_id=str(told.get("episode_id", "")),
        instruction=str(instruction.get("text", "")),
        tokens=tuple(instruction.get("tokens", ())),
        language=str(instruction.get("language", "")),
        object_category=told.get("object_category"),
        task=task_of(document.get("task") or {}),
        session_id=_field(document, "session_id", str),
    )


def task_of(document: Document) -> Task:
    return Task(
        name=str(document.get("name", "")),
        sensors={
            name: SensorSpec(str(spec["kind"]), str(spec["dtype"]), tuple(spec["shape"]))
            for name, spec in document.get("sensors", {}).items()
        },
        actions={
            name: {key: (float(low), float(high)) for key, (low, high) in spec.get("arguments", {}).items()}
            for name, spec in document.get("actions", {}).items()
        },
        max_steps=int(document.get("max_steps", 0)),
        reset_seconds=float(document.get("reset_seconds", 0.0)),
        action_seconds=float(document.get("action_seconds", 0.0)),
    )


def observation_of(document: Document, episode: Episode) -> Observation:
    between = tuple(_moment(seen, episode) for seen in document.get("between", ()))
    return _moment(_field(document, "observation", dict), episode, between)


def reply_document(sequence: int, actions: Iterable[Action]) -> Document:
    items = [_action_document(action) for action in actions]
    several = {} if len(items) == 1 else {"actions": items}
    return {"sequence": sequence, **items[0], **several}


def outcome_of(document: Document) -> Outcome:
    return Outcome(
        status=_STATUSES.get(str(document.get("status")), "completed"),
        steps=int(document.get("num_steps", 0)),
        reason=str(document.get("reason", "")),
        metrics=dict(document.get("metrics") or {}),
    )


def _base64(value: object) -> str:
    if isinstance(value, (bytes, memoryview)):
        return base64.b64encode(value).decode("ascii")
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _moment(document: Document, episode: Episode, between: tuple[Observation, ...] = ()) -> Observation:
    sensors = _field(document, "sensors", dict)
    return Observation(
        step=int(document.get("step", 0)),
        sensors={name: _array(tensor) for name, tensor in sensors.items()},
        texts=dict(document.get("texts") or {}),
        between=between,
        episode=episode,
    )


def _array(tensor: Mapping[str, Any]) -> Array:
    try:
        data, dtype, shape = tensor["data"], tensor["dtype"], tuple(tensor["shape"])
    except (KeyError, TypeError):
        raise BadRequest("A tensor needs dtype, shape and data.") from None
    raw = base64.b64decode(data) if isinstance(data, str) else data
    if tensor.get("encoding", "raw") == "raw":
        return raw_array(raw, dtype, shape)
    return picture(bytes(raw), shape)


def _action_document(action: Action) -> Document:
    document: Document = {
        "action": action.name,
        "action_args": {name: float(value) for name, value in action.arguments.items()},
    }
    if action.poses:
        document["poses"] = [
            {"position": [float(x) for x in pose.position], "rotation": [float(x) for x in pose.rotation]}
            for pose in action.poses
        ]
    return document


def _field(document: Document, name: str, kind: type) -> Any:  # noqa: ANN401
    value = document.get(name)
    if not isinstance(value, kind):
        raise BadRequest(f"The message has no {name!r}, or not as {kind.__name__}.")
    return value
