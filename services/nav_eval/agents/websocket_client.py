"""Agents that connect to the evaluator: the specification's WebSocket protocol (docs/protocol.md has every message).

Each episode has its own connection. The evaluator opens a port and waits; an agent that wants to do
several episodes at once connects several times. A connection that breaks in the middle of an episode
may be replaced by a new one which names the `session_id`; the open question is then asked again, with
the same sequence number.
"""

import hmac
import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from http import HTTPStatus

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from nav_eval.agents.client import AgentClient, AgentHealth, ClientSettings, EpisodeSession, Watchdog
from nav_eval.agents.document_codecs import CODECS, JSON, Document, decode_frame, get_codec_of_subprotocol
from nav_eval.agents.failures import (
    AgentCrash,
    AgentFailure,
    AgentOutOfMemory,
    AgentStartTimeout,
    AgentTimeout,
    ConnectionLost,
    InfrastructureFailure,
    ProtocolError,
)
from nav_eval.agents.json_messages import (
    check_session,
    decode_actions,
    encode_episode,
    encode_observation,
    encode_outcome,
    encode_task,
)
from nav_eval.agents.messages import Action, AgentDescription, EpisodeEnd, Observation, TaskInterface, shorten
from nav_eval.agents.websocket_connection import INBOX, AgentConnection, Heartbeat
from nav_eval.agents.websocket_handshake import Introduction, make_refusal, make_welcome
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.records.results import Cause

MAX_CONNECTIONS = 256  #: connections at once


class WebSocketAgentClient(AgentClient):
    """The evaluator's end, which is the server."""

    def __init__(
        self,
        host: str,
        port: int,
        settings: ClientSettings,
        *,
        path: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`path`, if given, is a word that agents must know: they connect to `ws://host:port/path`."""
        super().__init__(settings)
        self._path = path.strip("/")
        self._clock = clock
        self._watchdog = Watchdog()
        self._connections: set[AgentConnection] = set()
        self._idle: deque[AgentConnection] = deque()
        self._unnamed = False  #: somebody came who may not have said `connect`
        self._refused: AgentFailure | None = None  #: why whoever came first was sent away
        self._sessions: dict[str, WebSocketSession] = {}  #: episodes under way
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._server = self._listen(host, port)
        self.port: int = self._server.socket.getsockname()[1]
        threading.Thread(target=self._server.serve_forever, name="nav-eval-websocket", daemon=True).start()
        threading.Thread(target=self._beat, name="nav-eval-heartbeat", daemon=True).start()

    def health_check(self) -> AgentHealth:
        return AgentHealth.SERVING if self._connections else AgentHealth.UNREACHABLE

    def close(self) -> None:
        self._closed.set()
        for connection in list(self._connections):
            with suppress(AgentFailure):
                connection.send(
                    {"type": "disconnect", "session_id": connection.session_id, "reason": "the evaluation is over"}
                )
            connection.close()
        self._server.shutdown()
        self._watchdog.close()

    def _listen(self, host: str, port: int) -> Server:
        try:
            return serve(
                self._serve_connection,
                host,
                port,
                select_subprotocol=_choose_subprotocol,
                process_request=self._check_path,
                compression=None,
                ping_interval=None,  # heartbeats are messages here
                close_timeout=1.0,
                max_size=self.settings.max_reply_bytes,
            )
        except OSError as error:
            raise InfrastructureFailure(f"Cannot listen on {host}:{port}: {error}. Choose another port.") from None

    def describe(self, task: TaskInterface) -> AgentDescription:
        try:
            return super().describe(task)
        except AgentFailure as failure:
            for connection in list(self._connections):
                connection.refuse(failure)
            raise

    def _describe(self, task: TaskInterface) -> AgentDescription:
        with self._changed:
            self._changed.wait_for(lambda: self._connections or self._refused, timeout=self.settings.connect_timeout)
            if self._refused is not None and not self._connections:
                raise self._refused
            if not self._connections:
                raise AgentStartTimeout(self._tell_absence())
            return next(iter(self._connections)).introduction.description

    def _tell_absence(self) -> str:
        within = f"within {self.settings.connect_timeout:g} s"
        if self._unnamed:
            return f"An agent opened port {self.port}, but did not say who it is {within}; send `connect` first."
        return f"No agent connected to port {self.port} {within}."

    def _open(
        self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription
    ) -> "WebSocketSession":
        deadline = time.monotonic() + self.settings.reset_timeout
        while True:
            session = WebSocketSession(
                self._take_connection(deadline - time.monotonic()),
                self,
                episode=episode,
                task=task,
                description=description,
                settings=self.settings,
            )
            with suppress(ConnectionLost):  # it was idle: another connection will do
                session.reset()
                with self._changed:
                    self._sessions[session.session_id] = session
                return session

    def _take_connection(self, seconds: float) -> AgentConnection:
        with self._changed:
            if not self._changed.wait_for(lambda: self._idle, timeout=max(seconds, 0.0)):
                raise AgentTimeout(
                    "The agent has no free connection for another episode; connect again after each episode_end."
                )
            return self._idle.popleft()

    def wait_for_return(self, session: "WebSocketSession", seconds: float) -> AgentConnection | None:
        """The connection by which the agent came back to this session; None if it does not come back in time."""
        with self._changed:
            self._changed.wait_for(lambda: session.resumed_by is not None, timeout=seconds)
            connection, session.resumed_by = session.resumed_by, None
            return connection

    def release(self, session: "WebSocketSession", connection: AgentConnection) -> None:
        """An episode is over; its connection may serve another one."""
        with self._changed:
            self._sessions.pop(session.session_id, None)
        if session.failed:
            connection.close()
        elif connection.introduction.connect.keep_alive and connection.lost is None:
            connection.inbox, connection.session_id = None, uuid.uuid4().hex
            with self._changed:
                self._idle.append(connection)
                self._changed.notify_all()
        else:
            connection.close()

    def abort_after(self, seconds: float, connection: AgentConnection) -> AbstractContextManager[object]:
        return self._watchdog.watch(seconds, connection.abort)

    def _serve_connection(self, websocket: ServerConnection) -> None:
        """The life of one connection, in a thread of its own."""
        connection = self._introduce(websocket)
        if connection is None:
            return
        with self._changed:
            self._connections.add(connection)
            session = self._sessions.get(connection.session_id)
            if session is not None:
                connection.inbox, session.resumed_by = session.inbox, connection
            else:
                self._idle.append(connection)
            self._changed.notify_all()
        connection.read_until_closed()
        with self._changed:
            self._connections.discard(connection)
            with suppress(ValueError):
                self._idle.remove(connection)

    def _check_path(self, websocket: ServerConnection, request: Request) -> Response | None:
        known = hmac.compare_digest(request.path.strip("/").encode(), self._path.encode())
        return None if known or not self._path else websocket.respond(HTTPStatus.NOT_FOUND, "Wrong path.\n")

    def _introduce(self, websocket: ServerConnection) -> AgentConnection | None:
        codec = get_codec_of_subprotocol(websocket.subprotocol)
        self._unnamed = True
        try:
            introduction = Introduction(decode_frame(websocket.recv(timeout=self.settings.connect_timeout), codec))
            if len(self._connections) >= MAX_CONNECTIONS:
                raise ProtocolError(f"There are {MAX_CONNECTIONS} connections already.")
            heartbeat = Heartbeat(
                interval=self.settings.heartbeat_interval, timeout=self.settings.heartbeat_timeout, clock=self._clock
            )
            asked = introduction.connect.session_id
            connection = AgentConnection(
                websocket,
                introduction,
                session_id=asked if asked in self._sessions else uuid.uuid4().hex,
                codec=codec,
                heartbeat=heartbeat,
            )
            connection.send(make_welcome(connection.session_id, self.settings))
            return connection
        except AgentFailure as failure:
            with self._changed:
                self._refused = failure  # whoever waits for an agent hears why this one was sent away
                self._changed.notify_all()
            with suppress(ConnectionClosed, OSError):
                websocket.send(codec.encode(make_refusal(failure)), text=codec is JSON)
        except (ConnectionClosed, TimeoutError, OSError):
            pass  # whoever it was, it never said a word
        return None

    def _beat(self) -> None:
        pause = min(1.0, self.settings.heartbeat_interval / 4)
        while not self._closed.wait(pause):
            for connection in list(self._connections):
                connection.beat()


class WebSocketSession(EpisodeSession):
    """One episode over one connection; over the next one if that breaks."""

    def __init__(
        self,
        connection: AgentConnection,
        client: WebSocketAgentClient,
        *,
        episode: PublicEpisode,
        task: TaskInterface,
        description: AgentDescription,
        settings: ClientSettings,
    ) -> None:
        super().__init__(task=task, description=description, settings=settings)
        self.session_id = connection.session_id
        self.inbox: queue.Queue[Document | AgentFailure] = queue.Queue(INBOX)
        self.resumed_by: AgentConnection | None = None
        self._client = client
        self._episode = episode
        self._question: Document = {}
        self._connection = connection
        connection.inbox = self.inbox

    @property
    def failed(self) -> bool:
        return self._failure is not None

    def reset(self) -> None:
        self._say(
            {
                "type": "reset_episode",
                "session_id": self.session_id,
                "episode": encode_episode(self._episode),
                "task": encode_task(self._task, self._settings),
            },
            self._settings.reset_timeout,
        )

    def end(self, outcome: EpisodeEnd) -> None:
        with suppress(AgentFailure):
            self._say(
                {"type": "episode_end", "session_id": self.session_id, **encode_outcome(outcome)},
                self._settings.end_timeout,
            )
        self._client.release(self, self._connection)

    def _seconds_left(self) -> float:
        """The seeds have no reply to reset_episode: the first action may take the time of both."""
        extra = self._settings.reset_timeout if self._sequence == 1 else 0.0
        deadline = min(self._sent_at + self._settings.action_timeout + extra, self._find_episode_deadline())
        return max(deadline - time.monotonic(), 0.0)

    def _transmit(self, observation: Observation) -> None:
        self._refuse_unrequested()
        said = self._connection.introduction
        content: Document = {"observation": self._observation(observation)}
        if observation.between:
            content["between"] = [self._observation(seen) for seen in observation.between]
        answers_ready = said.connect.first_action == "episode_ready"
        self._question = {
            "type": "episode_ready" if answers_ready and self._sequence == 1 else "get_action",
            "session_id": self.session_id,
            "sequence": self._sequence,
            **content,
        }
        with suppress(ConnectionLost):  # `_collect` waits for the agent to come back
            if self._sequence == 1 and not answers_ready:
                self._say(self._question | {"type": "episode_ready"}, self._seconds_left())
            self._say(self._question, self._seconds_left())

    def _collect(self, seconds: float) -> Sequence[Action]:
        while True:
            try:
                message = self.inbox.get(timeout=self._seconds_left())
            except queue.Empty:
                raise self._too_slow() from None
            if isinstance(message, ConnectionLost):
                self._wait_for_return(message)
            elif isinstance(message, AgentFailure):
                raise message
            elif not self._is_old(message):
                return self._answer(message)

    def _answer(self, message: Document) -> Sequence[Action]:
        if message["type"] == "action":
            check_session(message, self.session_id)
            return decode_actions(message, sequence=self._sequence, most=self._settings.max_actions)
        reason = shorten(str(message.get("message") or message.get("reason") or ""), limit=2000)
        if message["type"] == "disconnect":
            raise AgentCrash(f"The agent disconnected in the middle of the episode: {reason}")
        if message.get("code") == Cause.AGENT_OOM:
            raise AgentOutOfMemory(f"The agent ran out of memory: {reason}")
        raise AgentCrash(f"The agent failed: {reason}")

    def _is_old(self, message: Document) -> bool:
        """The answer to an earlier question, given twice because the connection broke."""
        number = message.get("sequence")
        return message["type"] == "action" and isinstance(number, int) and 0 < number < self._sequence

    def _wait_for_return(self, failure: ConnectionLost) -> None:
        connection = self._client.wait_for_return(self, min(self._settings.reconnect_timeout, self._seconds_left()))
        if connection is None:
            raise failure
        self._connection = connection
        self._say(self._question, self._seconds_left())

    def _say(self, document: Document, seconds: float) -> None:
        with self._client.abort_after(seconds, self._connection):
            self._connection.send(document)

    def _observation(self, observation: Observation) -> Document:
        return encode_observation(
            observation,
            form=self._connection.introduction.document.observations,
            description=self._description,
            episode=self._episode,
        )

    def _refuse_unrequested(self) -> None:
        try:
            message = self.inbox.get_nowait()
        except queue.Empty:
            return
        if isinstance(message, AgentFailure):
            self.inbox.put_nowait(message)  # `_collect` deals with it
        elif not self._is_old(message):
            raise ProtocolError("The agent sent a second action for one observation; answer each get_action once.")


def _choose_subprotocol(websocket: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """The best that the agent offers; one that offers nothing speaks JSON."""
    return next((Subprotocol(codec.subprotocol) for codec in CODECS if codec.subprotocol in offered), None)
