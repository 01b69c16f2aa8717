"""The messages of REST and WebSocket as the types that agents see, and back; and as the evaluator writes them.

JSON is always there; msgpack comes with the extra `nav-eval-sdk[websocket]`, and REST uses it where it is installed.
"""

from __future__ import annotations

import base64
import importlib.util
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from nav_eval_sdk.agent import Action, Array, Description, Episode, Observation, Outcome, SensorSpec, Task
from nav_eval_sdk.arrays import decode_image, decode_raw, encode_png
from nav_eval_sdk.errors import BadRequest, MissingExtra
from nav_eval_sdk.geometry import Body, Motion, decode_camera, encode_camera

Document = dict[str, Any]

JSON = "application/json"
MSGPACK = "application/msgpack"

_MOTION = ("forward_metres", "left_degrees", "up_degrees", "seconds")  #: what of a motion we know
_STATUSES = {"success": "completed", "timeout": "timeout", "error": "failed"}


def dump_document(document: Document, *, binary: bool) -> bytes:
    """The document as msgpack, or as JSON with bytes in base64."""
    if binary:
        packed: bytes = _import_msgpack().packb(document)
        return packed
    return json.dumps(document, default=_encode_base64).encode()


def load_document(data: bytes | str, *, binary: bool) -> Document:
    try:
        document = _import_msgpack().unpackb(data, ext_hook=_refuse_extension) if binary else json.loads(data)
    except (ValueError, TypeError, RecursionError) as error:
        form = "msgpack" if binary else "JSON"
        raise BadRequest(f"{len(data)} bytes are no {form}: {error}.") from error
    if not isinstance(document, dict):
        raise BadRequest("A message must be an object.")
    return document


def has_msgpack() -> bool:
    return importlib.util.find_spec("msgpack") is not None


def _import_msgpack() -> Any:  # noqa: ANN401
    try:
        import msgpack
    except ImportError:
        raise MissingExtra("msgpack", extra="websocket") from None
    return msgpack


def _refuse_extension(code: int, data: bytes) -> None:
    raise ValueError(f"msgpack extension {code} is not used in this protocol")


def encode_description(description: Description) -> Document:
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
        **({"rig": description.rig} if description.rig else {}),
        "observations": "tensor",
        "binary": has_msgpack(),
    }


def decode_episode(document: Document) -> Episode:
    told = _get_field(document, "episode", dict)
    instruction = told.get("instruction") or {}
    return Episode(
        episode_id=str(told.get("episode_id", "")),
        instruction=str(instruction.get("text", "")),
        tokens=tuple(instruction.get("tokens", ())),
        language=str(instruction.get("language", "")),
        object_category=told.get("object_category"),
        task=decode_task(document.get("task") or {}),
        session_id=_get_field(document, "session_id", str),
    )


def decode_task(document: Document) -> Task:
    return Task(
        name=str(document.get("name", "")),
        sensors={
            name: SensorSpec(
                str(spec["kind"]),
                str(spec["dtype"]),
                tuple(spec["shape"]),
                decode_camera(spec["camera"]) if spec.get("camera") else None,
            )
            for name, spec in document.get("sensors", {}).items()
        },
        actions={
            name: {key: (float(low), float(high)) for key, (low, high) in spec.get("arguments", {}).items()}
            for name, spec in document.get("actions", {}).items()
        },
        max_steps=int(document.get("max_steps", 0)),
        reset_seconds=float(document.get("reset_seconds", 0.0)),
        action_seconds=float(document.get("action_seconds", 0.0)),
        episode_seconds=float(document.get("episode_seconds", 0.0)),
        motions={
            name: Motion(**{key: float(value) for key, value in spec["motion"].items() if key in _MOTION})
            for name, spec in document.get("actions", {}).items()
            if spec.get("motion")
        },
        budgets={name: int(spec["budget"]) for name, spec in document.get("actions", {}).items() if spec.get("budget")},
        control_rate_hz=float(document.get("control_rate_hz", 0.0)),
        stop_meaning=str(document.get("stop_meaning", "unspecified")),
        success_metres=float(document.get("success_metres", 0.0)),
        body=_decode_body(document["body"]) if document.get("body") else None,
    )


def _decode_body(document: Document) -> Body:
    return Body(
        radius=float(document.get("radius", 0.0)),
        height=float(document.get("height", 0.0)),
        slides=bool(document.get("slides", False)),
        max_tilt_degrees=float(document.get("max_tilt_degrees", 0.0)),
    )


def decode_observation(document: Document, episode: Episode) -> Observation:
    between = tuple(_decode_moment(seen, episode) for seen in document.get("between", ()))
    return _decode_moment(_get_field(document, "observation", dict), episode, between)


def encode_reply(sequence: int, actions: Iterable[Action]) -> Document:
    items = [_encode_action(action) for action in actions]
    several = {} if len(items) == 1 else {"actions": items}
    return {"sequence": sequence, **items[0], **several}


def decode_outcome(document: Document) -> Outcome:
    return Outcome(
        status=_STATUSES.get(str(document.get("status")), "completed"),
        steps=int(document.get("num_steps", 0)),
        reason=str(document.get("reason", "")),
        metrics=dict(document.get("metrics") or {}),
    )


def encode_task(task: Task) -> Document:
    return {
        "name": task.name,
        "sensors": {
            name: {
                "kind": spec.kind,
                "dtype": spec.dtype,
                "shape": list(spec.shape),
                **({} if spec.camera is None else {"camera": encode_camera(spec.camera)}),
            }
            for name, spec in task.sensors.items()
        },
        "actions": {
            name: {"arguments": {key: list(span) for key, span in takes.items()}}
            for name, takes in task.actions.items()
        },
        "max_steps": task.max_steps,
        "reset_seconds": task.reset_seconds,
        "action_seconds": task.action_seconds,
    }


def encode_end(steps: int) -> Document:
    """How an evaluator says that an episode came to its end."""
    return {"status": "success", "metrics": {}, "num_steps": steps, "reason": ""}


def encode_reset(session_id: str, task: Task, instruction: str) -> Document:
    return {
        "session_id": session_id,
        "episode": {"episode_id": "check", "instruction": {"text": instruction, "tokens": []}},
        "task": encode_task(task),
    }


def encode_observation(observation: Observation, plain: bool) -> Document:
    if plain:
        shown = {name: _encode_plain(array) for name, array in observation.sensors.items()}
        told = {"text": observation.instruction, "tokens": []}
        return {"step": observation.step, "instruction": told, **shown, **observation.texts}
    return {
        "step": observation.step,
        "sensors": {
            name: {"dtype": array.dtype.name, "shape": list(array.shape), "encoding": "raw", "data": array.tobytes()}
            for name, array in observation.sensors.items()
        },
        "texts": dict(observation.texts),
    }


def _encode_plain(array: Array) -> Any:  # noqa: ANN401
    """As the specification has it: pictures as base64 PNG, depth in millimetres, small readings as numbers."""
    if array.ndim < 2 or array.size < 64:
        return array.tolist()
    deep = array if array.dtype.kind in "iu" else array * 1000.0
    pixels = array if array.dtype == np.uint8 else np.clip(np.rint(deep), 0, 65535).astype(np.uint16)
    return base64.b64encode(encode_png(pixels)).decode("ascii")


def _encode_base64(value: object) -> str:
    if isinstance(value, (bytes, memoryview)):
        return base64.b64encode(value).decode("ascii")
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _decode_moment(document: Document, episode: Episode, between: tuple[Observation, ...] = ()) -> Observation:
    sensors = _get_field(document, "sensors", dict)
    return Observation(
        step=int(document.get("step", 0)),
        sensors={name: _decode_array(tensor) for name, tensor in sensors.items()},
        texts=dict(document.get("texts") or {}),
        between=between,
        episode=episode,
    )


def _decode_array(tensor: Mapping[str, Any]) -> Array:
    try:
        data, dtype, shape = tensor["data"], tensor["dtype"], tuple(tensor["shape"])
    except (KeyError, TypeError):
        raise BadRequest("A tensor needs dtype, shape and data.") from None
    raw = base64.b64decode(data) if isinstance(data, str) else data
    if tensor.get("encoding", "raw") == "raw":
        return decode_raw(raw, dtype, shape)
    return decode_image(bytes(raw), shape)


def _encode_action(action: Action) -> Document:
    document: Document = {
        "action": action.name,
        "action_args": {name: float(value) for name, value in action.arguments.items()},
    }
    if action.text:
        document["text"] = action.text
    if action.camera:
        document["camera"] = action.camera
    if action.poses:
        document["poses"] = [
            {"position": [float(x) for x in pose.position], "rotation": [float(x) for x in pose.rotation]}
            for pose in action.poses
        ]
    return document


def _get_field(document: Document, name: str, kind: type) -> Any:  # noqa: ANN401
    value = document.get(name)
    if not isinstance(value, kind):
        raise BadRequest(f"The message has no {name!r}, or not as {kind.__name__}.")
    return value
