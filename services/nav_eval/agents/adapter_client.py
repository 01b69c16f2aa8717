"""Published models as they are served: what their adapters share.

A model's own server knows nothing of our protocol. Its adapter keeps what the model's own evaluation loop keeps
(frames, a queue of actions), asks in the model's words and reads the answer by the model's rules. Each model is one
module beside this one and one page in docs/adapters. `AdapterSession` is the loop: every observation is seen; while
actions of the last reply are left they come first; then the model is asked.
"""

import base64
import http.client
import math
import time
import uuid
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self, TypeVar
from urllib.parse import parse_qsl, urlsplit

from nav_eval.agents.client import AgentClient, AgentHealth, ClientSettings, EpisodeSession, Watchdog
from nav_eval.agents.failures import (
    AgentFailure,
    AgentStartTimeout,
    AgentTimeout,
    ConnectionLost,
    ProtocolError,
)
from nav_eval.agents.image_codecs import encode_image
from nav_eval.agents.messages import Action, AgentDescription, Array, Encoding, EpisodeEnd, Observation, TaskInterface
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.errors import ConfigError

ACTION_NAMES = ("stop", "move_forward", "turn_left", "turn_right", "look_up", "look_down")
"""What the whole numbers of Habitat's discrete actions mean, which most models answer with."""

PAUSE = 0.1  #: seconds between two looks whether a server has come up


@dataclass(frozen=True, kw_only=True, slots=True)
class AdapterAddress:
    """`scheme://host:port?option=value`."""

    host: str
    port: int
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, address: str, *, default_port: int, known: Sequence[str]) -> "AdapterAddress":
        """The address with its options; a word that nobody reads is refused, because it would change nothing."""
        parts = urlsplit(address)
        try:
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise ConfigError(f"{address!r} has no usable port: {error}.") from None
        if not host:
            raise ConfigError(f"{address!r} has no host, as in {parts.scheme}://localhost:{default_port}.")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise ConfigError(f"{address!r} has the option {unknown[0]!r}; {parts.scheme} has: {', '.join(known)}.")
        return cls(host=host, port=default_port if port is None else port, options=options)

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def get_count(self, name: str, default: int) -> int:
        """A whole number above 0 among the options."""
        text = self.options.get(name, str(default))
        if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 1024:
            raise ConfigError(f"The option {name}={text!r} must be a whole number from 1 to 1024.")
        return int(text)


def choose_camera(task: TaskInterface, kind: str, *, wanted: str | None = None) -> str:
    """The camera of this kind that looks most straight ahead, unless one is named."""
    cameras = {name: spec for name, spec in task.sensors.items() if spec.kind == kind}
    if wanted is not None and wanted not in cameras:
        raise ConfigError(f"The task has no {kind} camera {wanted!r}; it has: {', '.join(cameras) or 'none'}.")
    if not cameras:
        raise ConfigError(f"This model needs an {kind} camera, and the task has none: take a rig that has one.")
    return wanted or min(cameras, key=lambda name: (_measure_turn(task, name), name))


def _measure_turn(task: TaskInterface, name: str) -> float:
    """How far a camera looks to the side; 0 straight ahead."""
    camera = task.sensors[name].camera
    if camera is None:
        return 0.0
    _, y, _, w = camera.pose.rotation
    return round(abs(math.atan2(y, w)), 9)


def get_told_instruction(episode: PublicEpisode) -> str:
    """The words that a model is asked with."""
    if episode.instruction is not None:
        return episode.instruction.text
    return episode.object_category or ""


def encode_jpeg_text(picture: Array) -> str:
    """A picture as base64 JPEG."""
    return base64.b64encode(encode_image(picture, Encoding.JPEG)).decode("ascii")


def encode_multipart(files: Mapping[str, tuple[str, str, bytes]], fields: Mapping[str, str]) -> tuple[bytes, str]:
    """A form with files (name, content type, bytes) and text fields; and its content type."""
    boundary = uuid.uuid4().hex
    parts = [
        f'Content-Disposition: form-data; name="{key}"; filename="{name}"\r\nContent-Type: {kind}\r\n\r\n'.encode()
        + data
        for key, (name, kind, data) in files.items()
    ]
    parts += [f'Content-Disposition: form-data; name="{key}"\r\n\r\n{text}'.encode() for key, text in fields.items()]
    body = b"".join(b"--" + boundary.encode() + b"\r\n" + part + b"\r\n" for part in parts)
    return body + b"--" + boundary.encode() + b"--\r\n", f"multipart/form-data; boundary={boundary}"


def decode_numbers(chunk: object, *, names: Sequence[str] = ACTION_NAMES) -> list[str]:
    """The names of a model's whole numbers. None at all means that it has nothing more to do: stop."""
    numbers = chunk if isinstance(chunk, list) else [chunk]
    return [_decode_number(number, names) for number in numbers] or ["stop"]


def _decode_number(number: object, names: Sequence[str]) -> str:
    if isinstance(number, bool) or not isinstance(number, int | float) or number != number // 1:
        raise ProtocolError(f"The model answered {number!r:.60}; its actions are whole numbers.")
    if not 0 <= number < len(names):
        raise ProtocolError(f"The model answered action {number:g}; known are 0 to {len(names) - 1}.")
    return names[int(number)]


class AdapterClient(AgentClient):
    """A model's server, as an agent."""

    model: ClassVar[str]  #: its name in records
    rig: ClassVar[str]  #: the rig that it was made for, taken wherever it is offered
    port: ClassVar[int]  #: where its server usually is
    options: ClassVar[tuple[str, ...]]  #: what its address may say after the question mark

    @classmethod
    def open(cls, address: str, settings: ClientSettings) -> Self:
        """The client for `model://host:port?option=value`."""
        return cls(AdapterAddress.parse(address, default_port=cls.port, known=cls.options), settings)

    def __init__(self, address: AdapterAddress, settings: ClientSettings) -> None:
        super().__init__(settings)
        self._address = address
        self._rig = ""
        self._watchdog = Watchdog()

    def health_check(self) -> AgentHealth:
        try:
            self._probe(min(2.0, self.settings.connect_timeout))
        except AgentFailure:
            return AgentHealth.UNREACHABLE
        return AgentHealth.SERVING

    def close(self) -> None:
        self._watchdog.close()

    @abstractmethod
    def _probe(self, seconds: float) -> None:
        """Fail unless somebody answers."""

    def _wait_until_served(self) -> None:
        """Servers load weights for minutes: look again until the time is up."""
        deadline = time.monotonic() + self.settings.connect_timeout
        while True:
            try:
                return self._probe(max(0.1, deadline - time.monotonic()))
            except (ConnectionLost, AgentTimeout) as failure:
                if time.monotonic() >= deadline:
                    raise AgentStartTimeout(
                        f"{failure} Waited {self.settings.connect_timeout:g} s for the {self.model} server."
                    ) from None
                time.sleep(PAUSE)

    def _choose_rig(self, task: TaskInterface) -> TaskInterface:
        """The task with the rig that the address names, or that the model was made for; the first one otherwise."""
        wanted = self._address.options.get("rig")
        if wanted is not None and wanted not in task.rigs:
            raise ConfigError(f"There is no rig {wanted!r} to choose; the task has: {', '.join(task.rigs) or 'none'}.")
        self._rig = wanted or (self.rig if self.rig in task.rigs else "")
        return task.rigs[self._rig] if self._rig else task

    def _make_description(
        self, cameras: Sequence[str], *, wants_between: bool = False, max_episodes: int = 1
    ) -> AgentDescription:
        return AgentDescription(
            name=self.model,
            rig=self._rig,
            sensors=dict.fromkeys(cameras, (Encoding.RAW,)),
            max_episodes=max_episodes,
            max_actions=self.settings.max_actions,
            wants_between=wants_between,
            metadata={"adapter": self.model, "server": f"{self._address.host}:{self._address.port}"},
        )


class AdapterSession(EpisodeSession):
    """One episode: sees every observation, works off the queue, asks when it is empty."""

    def __init__(
        self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription, settings: ClientSettings
    ) -> None:
        super().__init__(task=task, description=description, settings=settings)
        self._instruction = get_told_instruction(episode)
        self._queue: list[Action] = []

    def end(self, outcome: EpisodeEnd) -> None:
        """Most servers are not told: the next episode resets them."""

    @abstractmethod
    def _see(self, observation: Observation) -> None:
        """Take one observation into the history, whether the model is asked about it or not."""

    @abstractmethod
    def _decide(self, seconds: float) -> list[Action]:
        """Ask the model about what was seen last."""

    def _transmit(self, observation: Observation) -> None:
        for earlier in observation.between:
            self._see(earlier)
        self._see(observation)

    def _collect(self, seconds: float) -> Sequence[Action]:
        if not self._queue:
            try:
                self._queue = self._decide(seconds)
            except AgentTimeout:
                raise self._too_slow() from None
        most = min(self._description.max_actions, self._settings.max_actions)
        chunk, self._queue = self._queue[:most], self._queue[most:]
        return chunk


T = TypeVar("T")


def name_connection_failures(operation: Callable[[], T]) -> T:
    """The result of a request, or the failure that its error means."""
    try:
        return operation()
    except TimeoutError:
        raise AgentTimeout("The server did not answer in time.") from None
    except (OSError, EOFError, http.client.HTTPException) as error:
        raise ConnectionLost(f"The connection to the server broke: {error!r:.200}") from None
