"""NaVILA's `vlm_server`: one TCP connection per question, eight frames and the instruction, a sentence back.

Request and reply are framed alike: eight bytes of length, most significant first, then JSON. The server keeps nothing:
the history is ours, so asking again after a broken connection is safe. docs/adapters/navila.md.
"""

import json
import socket
import struct
from collections.abc import Mapping

import numpy as np

from nav_eval.agents.adapter_client import (
    AdapterAddress,
    AdapterClient,
    AdapterSession,
    choose_camera,
    encode_jpeg_text,
    name_connection_failures,
)
from nav_eval.agents.client import ClientSettings, Watchdog, retry
from nav_eval.agents.failures import AgentTimeout, ConnectionLost, ProtocolError
from nav_eval.agents.messages import Action, AgentDescription, Array, Observation, TaskInterface, shorten
from nav_eval.agents.sentences import parse_sentence
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.errors import ConfigError

FRAMES = 8
STEP_METRES, TURN_DEGREES = 0.25, 15.0  #: what one action is in NaVILA's sentences


def sample_frames(frames: list[str], black: str) -> list[str]:
    """Eight of the frames: black in front while there are fewer; evenly spaced ones and the last otherwise."""
    padded = [black] * (FRAMES - len(frames)) + frames
    span = len(padded) - 1
    return [padded[index * span // (FRAMES - 1)] for index in range(FRAMES - 1)] + [padded[-1]]


class NavilaClient(AdapterClient):
    """`navila://host:54321?camera=rgb&episodes=4`."""

    model = "navila"
    rig = "navila"
    port = 54321
    options = ("rig", "camera", "episodes")

    def _probe(self, seconds: float) -> None:
        address = (self._address.host, self._address.port)
        name_connection_failures(lambda: socket.create_connection(address, timeout=seconds).close())

    def _describe(self, task: TaskInterface) -> AgentDescription:
        task = self._choose_rig(task)
        _check_motion(task)
        self._camera = choose_camera(task, "rgb", wanted=self._address.options.get("camera"))
        self._wait_until_served()
        return self._make_description(
            [self._camera], wants_between=True, max_episodes=self._address.get_count("episodes", 1)
        )

    def _open(self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription) -> "NavilaSession":
        return NavilaSession(
            episode,
            address=self._address,
            camera=self._camera,
            watchdog=self._watchdog,
            task=task,
            description=description,
            settings=self.settings,
        )


def _check_motion(task: TaskInterface) -> None:
    """Its sentences count in 25 cm and 15°: with other steps they would be read wrongly, and nobody would notice."""
    for name, attribute, amount in (
        ("move_forward", "forward_metres", STEP_METRES),
        ("turn_left", "left_degrees", TURN_DEGREES),
        ("turn_right", "left_degrees", -TURN_DEGREES),
    ):
        spec = task.actions.get(name)
        if spec is not None and spec.motion is not None and getattr(spec.motion, attribute) != amount:
            raise ConfigError(
                f"NaVILA counts in steps of 0.25 m and turns of 15°, but {name} of this task does "
                f"{abs(getattr(spec.motion, attribute)):g}; take the rig `navila`."
            )


class NavilaSession(AdapterSession):
    """One episode of NaVILA: it is shown what was seen before each action."""

    def __init__(
        self,
        episode: PublicEpisode,
        *,
        address: AdapterAddress,
        camera: str,
        watchdog: Watchdog,
        task: TaskInterface,
        description: AgentDescription,
        settings: ClientSettings,
    ) -> None:
        super().__init__(episode, task=task, description=description, settings=settings)
        self._address, self._camera, self._watchdog = address, camera, watchdog
        self._frames: list[str] = []
        self._black = ""

    def _see(self, observation: Observation) -> None:
        picture: Array = observation.sensors[self._camera]
        self._black = self._black or encode_jpeg_text(np.zeros_like(picture))
        self._frames.append(encode_jpeg_text(picture))

    def _decide(self, seconds: float) -> list[Action]:
        question = {"images": sample_frames(self._frames, self._black), "query": self._instruction}
        reply = retry(lambda: self._ask(question), on=ConnectionLost, settings=self._settings)
        if not isinstance(reply, str):
            raise ProtocolError(f"NaVILA's server answered {shorten(repr(reply), limit=80)}; it answers a sentence.")
        return [Action(name=name) for name in parse_sentence(reply)]

    def _ask(self, question: Mapping[str, object]) -> object:
        seconds = self._seconds_left()
        data = name_connection_failures(lambda: self._exchange(json.dumps(question).encode(), seconds))
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise ProtocolError(f"NaVILA's server sent {len(data)} bytes that are no JSON.") from None

    def _exchange(self, data: bytes, seconds: float) -> bytes:
        with socket.create_connection((self._address.host, self._address.port), timeout=seconds) as connection:
            connection.settimeout(None)
            with self._watchdog.watch(seconds, lambda: _unplug(connection)) as deadline:
                try:
                    connection.sendall(struct.pack(">Q", len(data)) + data)
                    (size,) = struct.unpack(">Q", _receive_exactly(connection, 8))
                    if size > self._settings.max_reply_bytes:
                        raise ProtocolError(f"NaVILA's server announces a reply of {size} bytes, which is too large.")
                    return _receive_exactly(connection, size)
                except (OSError, EOFError):
                    if deadline.expired:
                        raise AgentTimeout("No reply in time.") from None
                    raise


def _unplug(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is gone already


def _receive_exactly(connection: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = connection.recv(min(size, 1 << 16))
        if not part:
            raise EOFError(f"the server hung up, {size} bytes before the end of its reply")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
