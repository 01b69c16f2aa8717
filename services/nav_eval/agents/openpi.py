"""openpi-style policy servers: WebSocket, msgpack with arrays, the policy is the server.

The server speaks first, with a dictionary about itself. A text frame from it is a traceback. Existing
policies are reached as they are; what they see and what their numbers mean stands in a mapping.
"""

import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress

from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from nav_eval.agents import openpi_mapping
from nav_eval.agents.client import AgentClient, EpisodeSession, Health
from nav_eval.agents.description import AgentDescription, Encoding, short
from nav_eval.agents.failures import (
    AgentCrash,
    AgentFailure,
    AgentStartTimeout,
    AgentTimeout,
    ConnectionLost,
    ProtocolError,
)
from nav_eval.agents.interface import TaskInterface
from nav_eval.agents.messages import Action, Observation, Outcome
from nav_eval.agents.msgpack_numpy import pack, unpack
from nav_eval.agents.openpi_mapping import Mapping
from nav_eval.agents.retrying import retrying
from nav_eval.agents.settings import ClientSettings
from nav_eval.agents.watchdog import Watchdog
from nav_eval.dataset.episode import PublicEpisode

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
        self.metadata = self._first_words(settings.connect_timeout)

    def send(self, document: dict[str, object], seconds: float) -> None:
        with self._watchdog.watch(seconds, self._unplug):
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

    def _first_words(self, seconds: float) -> dict[str, object]:
        words = self.receive(seconds)
        metadata = unpack(words) if isinstance(words, bytes) else None
        if not isinstance(metadata, dict):
            raise ProtocolError("The policy server did not begin with a dictionary about itself.")
        return metadata

    def _unplug(self) -> None:
        with suppress(OSError):
            self._socket.socket.shutdown(socket.SHUT_RDWR)


class OpenPiAgentClient(AgentClient):
    """The evaluator as a policy server's client."""

    def __init__(self, url: str, mapping: Mapping, settings: ClientSettings) -> None:
        super().__init__(settings)
        self._url = url
        self._mapping = mapping
        self._watchdog = Watchdog()

    def health_check(self) -> Health:
        try:
            self._connection().close()
        except AgentFailure:
            return Health.UNREACHABLE
        return Health.SERVING

    def close(self) -> None:
        self._watchdog.close()

    def _describe(self, task: TaskInterface) -> AgentDescription:
        connection = self._first_connection()
        connection.close()
        metadata = {short(str(key)): short(str(value)) for key, value in list(connection.metadata.items())[:50]}
        return AgentDescription(
            name=metadata.get("name", "openpi policy"),
            sensors=dict.fromkeys(sorted(self._mapping.sensors()), (Encoding.RAW,)),
            max_actions=self.settings.max_actions,
            metadata=metadata,
        )

    def _open(self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription) -> "OpenPiSession":
        connection = retrying(self._connection, on=ConnectionLost, settings=self.settings)
        session = OpenPiSession(
            connection,
            self._mapping,
            episode=episode,
            task=task,
            description=description,
            settings=self.settings,
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
        mapping: Mapping,
        *,
        episode: PublicEpisode,
        task: TaskInterface,
        description: AgentDescription,
        settings: ClientSettings,
    ) -> None:
        super().__init__(task=task, description=description, settings=settings)
        self._connection = connection
        self._mapping = mapping
        self._episode = episode
        says_so = any(connection.metadata.get(key) for key in SAYS_RESET)
        self._resets = mapping.reset == "always" or (mapping.reset == "auto" and says_so)

    def reset(self) -> None:
        if self._resets:
            seconds = self._settings.reset_timeout
            self._connection.send({"endpoint": "reset", "session_id": self.session_id}, seconds)
            self._connection.receive(seconds)  # whatever it says: text or a dictionary

    def end(self, outcome: Outcome) -> None:
        self._connection.close()

    def _transmit(self, observation: Observation) -> None:
        request = openpi_mapping.request(self._mapping, observation, episode=self._episode, session_id=self.session_id)
        if self._resets:
            request = {"endpoint": "infer", "session_id": self.session_id, **request}
        self._connection.send(request, self._seconds_left())

    def _collect(self, seconds: float) -> Sequence[Action]:
        try:
            reply = self._connection.receive(seconds)
        except AgentTimeout:
            raise self._too_slow() from None
        if isinstance(reply, str):
            raise AgentCrash(f"The policy server failed: {short(reply[-1000:], limit=1000)}")
        return openpi_mapping.actions(self._mapping.action, unpack(reply))
