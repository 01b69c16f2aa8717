"""openpi-style policy servers: WebSocket, msgpack with arrays, the policy is the server.

The server speaks first, with a dictionary about itself. A text frame from it is a traceback. Existing
policies are reached as they are; what they see and what their numbers mean stands in a mapping.
"""

import math
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from nav_eval.agents.client import AgentClient, AgentHealth, ClientSettings, EpisodeSession, Watchdog, retry
from nav_eval.agents.failures import (
    AgentCrash,
    AgentFailure,
    AgentStartTimeout,
    AgentTimeout,
    ConnectionLost,
    ProtocolError,
)
from nav_eval.agents.messages import (
    Action,
    AgentDescription,
    Array,
    Encoding,
    EpisodeEnd,
    Observation,
    TaskInterface,
    shorten,
)
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.errors import ConfigError

_ARRAY = b"__ndarray__"
_SCALAR = b"__npgeneric__"
_KINDS = "biuf"


def pack(document: dict[str, Any]) -> bytes:
    return msgspec.msgpack.encode(document, enc_hook=_encode)


def unpack(data: bytes) -> Any:  # noqa: ANN401
    """What a policy server sent, with arrays as read-only views of `data`."""
    try:
        return _revive(msgspec.msgpack.decode(data))
    except (msgspec.MsgspecError, RecursionError, TypeError, ValueError) as error:
        raise ProtocolError(f"The policy server sent {len(data)} bytes that are no msgpack: {error}.") from None


def _encode(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, np.ndarray) and value.dtype.kind in _KINDS:
        return {_ARRAY: True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
    if isinstance(value, np.generic) and value.dtype.kind in _KINDS:
        return {_SCALAR: True, b"data": value.tobytes(), b"dtype": value.dtype.str}
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _revive(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [_revive(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get(_ARRAY):
        return _decode_array(value[b"data"], value[b"dtype"], tuple(value[b"shape"]))
    if value.get(_SCALAR):
        return _decode_array(value[b"data"], value[b"dtype"], ())[()]
    return {key: _revive(item) for key, item in value.items()}


def _decode_array(data: bytes, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    element = np.dtype(dtype)
    if element.kind not in _KINDS or not isinstance(data, bytes):
        raise ValueError(f"arrays of {dtype!r} are refused")
    if any(not isinstance(extent, int) or extent < 0 for extent in shape):
        raise ValueError(f"{shape} is no shape")
    if math.prod(shape) * element.itemsize != len(data):
        raise ValueError(f"{len(data)} bytes are no {dtype} array of shape {shape}")
    return np.frombuffer(data, element).reshape(shape)


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


class PolicyMapping(_Model):
    """The whole file."""

    observation: dict[str, Source]
    action: ActionMapping
    reset: Literal["auto", "always", "never"] = "auto"

    def sensors(self) -> frozenset[str]:
        """Which sensors the server gets to see."""
        sources = self.observation.values()
        single = {source.sensor for source in sources if isinstance(source, FromSensor)}
        return frozenset(single.union(*(source.concat for source in sources if isinstance(source, FromSeveral))))


def read_mapping(path: Path) -> PolicyMapping:
    try:
        text = path.read_bytes()[: MAX_FILE + 1]
    except OSError as error:
        raise ConfigError(f"Cannot read the mapping {path}: {error.strerror}.") from None
    try:
        return PolicyMapping.model_validate(yaml.safe_load(text))
    except (ValidationError, yaml.YAMLError) as error:
        raise ConfigError(f"The mapping {path} is not usable: {error}") from None


def make_request(
    mapping: PolicyMapping, observation: Observation, *, episode: PublicEpisode, session_id: str
) -> dict[str, Any]:
    """What the server is sent for this observation."""
    words = {
        "instruction": episode.instruction.text if episode.instruction else "",
        "session_id": session_id,
        "episode_id": episode.episode_id,
        "object_category": episode.object_category or "",
    }
    return {key: _get_value(source, observation, words) for key, source in mapping.observation.items()}


def decode_actions(mapping: ActionMapping, reply: object) -> list[Action]:
    """The actions in the server's reply."""
    if not isinstance(reply, dict) or mapping.key not in reply:
        raise ProtocolError(f"The policy server's reply has no {mapping.key!r}.")
    chunk = reply[mapping.key]
    if mapping.decode == "name":
        return _decode_names(chunk)[: mapping.execute]
    rows = np.asarray(chunk)
    if rows.dtype.kind not in "biuf" or rows.ndim > 2 or rows.size > 1 << 20:
        raise ProtocolError(f"{mapping.key!r} is {rows.dtype} of shape {rows.shape}; it must be (horizon, dim).")
    if mapping.decode == "index":
        return [_decode_index(mapping, number) for number in rows.reshape(-1)[: mapping.execute]]
    rows = rows.reshape(1, -1) if rows.ndim < 2 else rows
    decode = _decode_argmax if mapping.decode == "argmax" else _decode_velocity
    return [decode(mapping, row) for row in rows[: mapping.execute]]


def _get_value(source: Source, observation: Observation, words: dict[str, str]) -> object:
    if isinstance(source, FromSensor):
        array = observation.sensors[source.sensor]
        return array if source.resize is None else resize_with_padding(array, *source.resize)
    if isinstance(source, FromSeveral):
        return np.concatenate([np.ravel(observation.sensors[name]).astype(np.float32) for name in source.concat])
    return words[source.text] if isinstance(source, FromText) else observation.step


def resize_with_padding(picture: Array, height: int, width: int) -> Array:
    """The picture, as large as fits, in the middle of black."""
    from PIL import Image

    scale = min(height / picture.shape[0], width / picture.shape[1])
    size = max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale))
    small = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BILINEAR))
    canvas = np.zeros((height, width, *picture.shape[2:]), picture.dtype)
    top, left = (height - size[1]) // 2, (width - size[0]) // 2
    canvas[top : top + size[1], left : left + size[0]] = small
    return canvas


def _decode_names(chunk: object) -> list[Action]:
    names = [chunk] if isinstance(chunk, str) else chunk
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ProtocolError("The policy server's actions are no names.")
    return [Action(name=name) for name in names]


def _decode_index(mapping: ActionMapping, number: float) -> Action:
    if not np.isfinite(number) or not 0 <= int(number) < len(mapping.names):
        raise ProtocolError(f"The policy server's action {number} has no name; there are {len(mapping.names)}.")
    return Action(name=mapping.names[int(number)])


def _decode_argmax(mapping: ActionMapping, row: Array) -> Action:
    if row.shape != (len(mapping.names),) or np.isnan(row).any():
        raise ProtocolError(
            f"The policy server scores {row.shape} actions and the mapping names {len(mapping.names)}; "
            "they must be as many, and no score NaN."
        )
    return Action(name=mapping.names[int(np.argmax(row))])


def _decode_velocity(mapping: ActionMapping, row: Array) -> Action:
    if row.shape not in ((2,), (3,)) or not np.isfinite(row).all():
        raise ProtocolError("The policy server's action must be forward speed, turn rate and perhaps stop, all finite.")
    numbers: Sequence[float] = [float(number) for number in row]
    if len(numbers) == 3 and numbers[2] > mapping.stop_above:
        return Action(name="stop")
    return Action(name=mapping.velocity, arguments=dict(zip(mapping.arguments, numbers[:2], strict=True)))


SAYS_RESET = ("needs_session_id", "supports_reset")  #: metadata by which a server says that it keeps state


class PolicyConnection:
    """One connection to the server: a question and its answer at a time."""

    def __init__(self, url: str, settings: ClientSettings, watchdog: Watchdog) -> None:
        self._watchdog = watchdog
        self._open = ExitStack()
        try:
            self._socket: ClientConnection = self._open.enter_context(
                connect(
                    url,
                    compression=None,
                    max_size=settings.max_reply_bytes,
                    open_timeout=settings.connect_timeout,
                    ping_interval=None,
                    proxy=None,
                    close_timeout=1.0,
                )
            )
        except (OSError, InvalidHandshake, ConnectionClosed) as error:
            raise ConnectionLost(f"Cannot connect to the policy server: {error!r:.200}") from None
        words = self.receive(settings.connect_timeout)
        metadata = unpack(words) if isinstance(words, bytes) else None
        if not isinstance(metadata, dict):
            raise ProtocolError("The policy server did not begin with a dictionary about itself.")
        self.metadata: dict[str, object] = metadata

    def send(self, document: dict[str, object], seconds: float) -> None:
        with self._watchdog.watch(seconds, self._abort):
            try:
                self._socket.send(pack(document))
            except (ConnectionClosed, OSError) as error:
                raise ConnectionLost(f"The connection to the policy server broke: {error!r:.200}") from None

    def receive(self, seconds: float) -> bytes | str:
        try:
            return self._socket.recv(timeout=seconds)
        except TimeoutError:
            raise AgentTimeout(f"No reply within {seconds:g} s.") from None
        except ConnectionClosed as error:
            if error.sent is not None and error.sent.code == 1009:
                raise ProtocolError(f"The policy server's reply is too large: {error.sent.reason}.") from None
            raise ConnectionLost(f"The policy server closed the connection: {error!r:.200}") from None

    def close(self) -> None:
        with suppress(ConnectionClosed, OSError):
            self._open.close()

    def _abort(self) -> None:
        with suppress(OSError):
            self._socket.socket.shutdown(socket.SHUT_RDWR)


class OpenPiAgentClient(AgentClient):
    """The evaluator as a policy server's client."""

    def __init__(self, url: str, mapping: PolicyMapping, settings: ClientSettings) -> None:
        super().__init__(settings)
        self._url, self._mapping = url, mapping
        self._watchdog = Watchdog()

    def health_check(self) -> AgentHealth:
        try:
            self._connection().close()
        except AgentFailure:
            return AgentHealth.UNREACHABLE
        return AgentHealth.SERVING

    def close(self) -> None:
        self._watchdog.close()

    def _describe(self, task: TaskInterface) -> AgentDescription:
        connection = self._first_connection()
        connection.close()
        metadata = {shorten(str(key)): shorten(str(value)) for key, value in list(connection.metadata.items())[:50]}
        return AgentDescription(
            name=metadata.get("name", "openpi policy"),
            sensors=dict.fromkeys(sorted(self._mapping.sensors()), (Encoding.RAW,)),
            max_actions=self.settings.max_actions,
            metadata=metadata,
        )

    def _open(self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription) -> "OpenPiSession":
        connection = retry(self._connection, on=ConnectionLost, settings=self.settings)
        session = OpenPiSession(
            connection, self._mapping, episode=episode, task=task, description=description, settings=self.settings
        )
        session.reset()
        return session

    def _connection(self) -> PolicyConnection:
        return PolicyConnection(self._url, self.settings, self._watchdog)

    def _first_connection(self) -> PolicyConnection:
        deadline = time.monotonic() + self.settings.connect_timeout
        while True:
            try:
                return self._connection()
            except (ConnectionLost, AgentTimeout) as failure:
                if time.monotonic() >= deadline:
                    raise AgentStartTimeout(f"{failure} Waited {self.settings.connect_timeout:g} s.") from None
                time.sleep(0.1)


class OpenPiSession(EpisodeSession):
    """One episode, over a connection of its own."""

    def __init__(
        self,
        connection: PolicyConnection,
        mapping: PolicyMapping,
        *,
        episode: PublicEpisode,
        task: TaskInterface,
        description: AgentDescription,
        settings: ClientSettings,
    ) -> None:
        super().__init__(task=task, description=description, settings=settings)
        self._connection, self._mapping, self._episode = connection, mapping, episode
        says_so = any(connection.metadata.get(key) for key in SAYS_RESET)
        self._resets = mapping.reset == "always" or (mapping.reset == "auto" and says_so)

    def reset(self) -> None:
        if self._resets:
            seconds = self._settings.reset_timeout
            self._connection.send({"endpoint": "reset", "session_id": self.session_id}, seconds)
            self._connection.receive(seconds)  # whatever it says: text or a dictionary

    def end(self, outcome: EpisodeEnd) -> None:
        self._connection.close()

    def _transmit(self, observation: Observation) -> None:
        request = make_request(self._mapping, observation, episode=self._episode, session_id=self.session_id)
        if self._resets:
            request = {"endpoint": "infer", "session_id": self.session_id, **request}
        self._connection.send(request, self._seconds_left())

    def _collect(self, seconds: float) -> Sequence[Action]:
        try:
            reply = self._connection.receive(seconds)
        except AgentTimeout:
            raise self._too_slow() from None
        if isinstance(reply, str):
            raise AgentCrash(f"The policy server failed: {shorten(reply[-1000:], limit=1000)}")
        return decode_actions(self._mapping.action, unpack(reply))
