"""How observations and actions of a task look to an openpi-style policy server: one YAML file.

    observation:
      observation/image: {sensor: rgb, resize: [224, 224]}   # padded, never stretched
      observation/state: {concat: [gps, compass]}
      prompt: {text: instruction}                            # or session_id, episode_id, object_category
      step: {number: step}
    action:
      key: actions            # where the reply has them: (horizon, dim), or a list of names
      decode: argmax          # argmax | index | velocity | name
      names: [stop, move_forward, turn_left, turn_right]     # argmax, index: what each number means
      execute: 4              # of a chunk, only the first so many
    reset: auto               # auto: if the server's metadata says needs_session_id or supports_reset | always | never

With `velocity` the columns are forward speed, turn rate and, if there is a third, whether to stop
(above `stop_above`); they become arguments of the action `velocity`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from nav_eval.agents.failures import ProtocolError
from nav_eval.agents.messages import Action, Array, Observation
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.errors import ConfigError

MAX_FILE = 1 << 20


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FromSensor(_Model):
    """A sensor's array, perhaps as a picture of another size."""

    sensor: str
    resize: tuple[Annotated[int, Field(gt=0, le=4096)], Annotated[int, Field(gt=0, le=4096)]] | None = None


class FromSeveral(_Model):
    """Small readings, one after the other, as one float32 vector."""

    concat: list[str]


class FromText(_Model):
    text: Literal["instruction", "session_id", "episode_id", "object_category"]


class FromNumber(_Model):
    number: Literal["step"]


Source: TypeAlias = FromSensor | FromSeveral | FromText | FromNumber


class ActionMapping(_Model):
    """How to read the server's reply."""

    key: str = "actions"
    decode: Literal["argmax", "index", "velocity", "name"] = "argmax"
    names: list[str] = []
    execute: Annotated[int, Field(gt=0, le=1000)] | None = None
    velocity: str = "velocity_control"  # the name of the action
    arguments: tuple[str, str] = ("linear_velocity", "angular_velocity")
    stop_above: float = 0.5

    @model_validator(mode="after")
    def _names_where_needed(self) -> "ActionMapping":
        if self.decode in ("argmax", "index") and not self.names:
            raise ValueError(f"`decode: {self.decode}` needs `names`: what each number means")
        return self


class Mapping(_Model):
    """The whole file."""

    observation: dict[str, Source]
    action: ActionMapping
    reset: Literal["auto", "always", "never"] = "auto"

    def sensors(self) -> frozenset[str]:
        """Which sensors the server gets to see."""
        sources = self.observation.values()
        single = {source.sensor for source in sources if isinstance(source, FromSensor)}
        return frozenset(single.union(*(source.concat for source in sources if isinstance(source, FromSeveral))))


def read_mapping(path: Path) -> Mapping:
    try:
        text = path.read_bytes()[: MAX_FILE + 1]
    except OSError as error:
        raise ConfigError(f"Cannot read the mapping {path}: {error.strerror}.") from None
    try:
        return Mapping.model_validate(yaml.safe_load(text))
    except (ValidationError, yaml.YAMLError) as error:
        raise ConfigError(f"The mapping {path} is not usable: {error}") from None


def request(mapping: Mapping, observation: Observation, *, episode: PublicEpisode, session_id: str) -> dict[str, Any]:
    """What the server is sent for this observation."""
    words = {
        "instruction": episode.instruction.text if episode.instruction else "",
        "session_id": session_id,
        "episode_id": episode.episode_id,
        "object_category": episode.object_category or "",
    }
    return {key: _value(source, observation, words) for key, source in mapping.observation.items()}


def actions(mapping: ActionMapping, reply: object) -> list[Action]:
    """The actions in the server's reply."""
    if not isinstance(reply, dict) or mapping.key not in reply:
        raise ProtocolError(f"The policy server's reply has no {mapping.key!r}.")
    chunk = reply[mapping.key]
    if mapping.decode == "name":
        return _named(chunk)[: mapping.execute]
    rows = np.asarray(chunk)
    if rows.dtype.kind not in "biuf" or rows.ndim > 2 or rows.size > 1 << 20:
        raise ProtocolError(f"{mapping.key!r} is {rows.dtype} of shape {rows.shape}; it must be (horizon, dim).")
    if mapping.decode == "index":
        return [_by_number(mapping, number) for number in rows.reshape(-1)[: mapping.execute]]
    rows = rows.reshape(1, -1) if rows.ndim < 2 else rows
    decode = _best if mapping.decode == "argmax" else _velocity
    return [decode(mapping, row) for row in rows[: mapping.execute]]


def _value(source: Source, observation: Observation, words: dict[str, str]) -> object:
    if isinstance(source, FromSensor):
        array = observation.sensors[source.sensor]
        return array if source.resize is None else padded(array, *source.resize)
    if isinstance(source, FromSeveral):
        return np.concatenate([np.ravel(observation.sensors[name]).astype(np.float32) for name in source.concat])
    return words[source.text] if isinstance(source, FromText) else observation.step


def padded(picture: Array, height: int, width: int) -> Array:
    """The picture, as large as fits, in the middle of black."""
    from PIL import Image

    scale = min(height / picture.shape[0], width / picture.shape[1])
    size = max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale))
    small = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BILINEAR))
    canvas = np.zeros((height, width, *picture.shape[2:]), picture.dtype)
    top, left = (height - size[1]) // 2, (width - size[0]) // 2
    canvas[top : top + size[1], left : left + size[0]] = small
    return canvas


def _named(chunk: object) -> list[Action]:
    names = [chunk] if isinstance(chunk, str) else chunk
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ProtocolError("The policy server's actions are no names.")
    return [Action(name=name) for name in names]


def _by_number(mapping: ActionMapping, number: float) -> Action:
    if not np.isfinite(number) or not 0 <= int(number) < len(mapping.names):
        raise ProtocolError(f"The policy server's action {number} has no name; there are {len(mapping.names)}.")
    return Action(name=mapping.names[int(number)])


def _best(mapping: ActionMapping, row: Array) -> Action:
    if row.shape != (len(mapping.names),) or np.isnan(row).any():
        raise ProtocolError(
            f"The policy server scores {row.shape} actions and the mapping names {len(mapping.names)}; "
            "they must be as many, and no score NaN."
        )
    return Action(name=mapping.names[int(np.argmax(row))])


def _velocity(mapping: ActionMapping, row: Array) -> Action:
    if row.shape not in ((2,), (3,)) or not np.isfinite(row).all():
        raise ProtocolError("The policy server's action must be forward speed, turn rate and perhaps stop, all finite.")
    numbers: Sequence[float] = [float(number) for number in row]
    if len(numbers) == 3 and numbers[2] > mapping.stop_above:
        return Action(name="stop")
    return Action(name=mapping.velocity, arguments=dict(zip(mapping.arguments, numbers[:2], strict=True)))
