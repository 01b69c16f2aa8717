"""The agent's end of the WebSocket protocol: it connects to the evaluator, again and again.

One connection per episode that may run at once. A connection that breaks in the middle of an episode is
opened anew under the same session_id, and the evaluator asks again. Documents travel as msgpack or JSON, whichever
sub-protocol was agreed on; both ends are here, because `check` plays the evaluator's. Needs `nav-eval-sdk[websocket]`.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Callable

from nav_eval_sdk.agent import Outcome
from nav_eval_sdk.errors import AgentError, Disconnected, MissingExtra, SdkError
from nav_eval_sdk.host import Host
from nav_eval_sdk.json_messages import (
    Document,
    decode_episode,
    decode_observation,
    decode_outcome,
    dump_document,
    encode_description,
    encode_reply,
    load_document,
)

try:
    import msgpack  # noqa: F401 (asked for here: without it an agent would fail in its first episode)
    from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
    from websockets.sync import client, server
    from websockets.sync.connection import Connection
    from websockets.typing import Subprotocol
except ImportError:
    raise MissingExtra("WebSocket", extra="websocket") from None

SUBPROTOCOLS = {"msgpack": Subprotocol("nav.msgpack.v1"), "json": Subprotocol("nav.json.v1")}  #: the best first
MAX_BYTES = 1 << 30
OPEN_TIMEOUT = 10.0
_OPTIONS: dict[str, Any] = {
    "compression": None,
    "ping_interval": None,  # heartbeats are messages here
    "open_timeout": OPEN_TIMEOUT,
    "close_timeout": 1.0,
    "max_size": MAX_BYTES,
}


class DocumentSocket:
    """An open connection; one thread may receive while others send."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._binary = connection.subprotocol == SUBPROTOCOLS["msgpack"]

    def send(self, document: Document) -> None:
        try:
            self._connection.send(dump_document(document, binary=self._binary), text=not self._binary)
        except (ConnectionClosed, OSError) as error:
            raise Disconnected(f"The connection broke: {error}.") from None

    def receive(self, timeout: float) -> Document:
        """The next message; raises Disconnected when there will be none, TimeoutError when none comes."""
        try:
            frame = self._connection.recv(timeout=timeout)
        except TimeoutError:
            raise TimeoutError("Nothing was heard in time.") from None
        except (ConnectionClosed, OSError) as error:
            raise Disconnected(f"The connection is closed: {error}.") from None
        return load_document(frame, binary=self._binary and isinstance(frame, bytes))

    def close(self) -> None:
        with suppress(ConnectionClosed, OSError):
            self._connection.close()


def connect(url: str, *, subprotocol: str) -> DocumentSocket:
    """Open a connection to `ws://host:port/path` or `wss://…`; never through a proxy."""
    try:
        opened = client.connect(url, subprotocols=[Subprotocol(subprotocol)], proxy=None, **_OPTIONS)
        return DocumentSocket(opened.__enter__())  # `close` leaves it
    except InvalidURI:
        raise SdkError(f"{url!r} is no WebSocket address; write ws://host:port.") from None
    except InvalidHandshake as error:
        raise Disconnected(f"{url} does not speak WebSocket: {error}.") from None
    except OSError as error:
        raise Disconnected(f"Cannot connect to {url}: {error}.") from None


def listen(handle: Callable[[DocumentSocket], None], host: str, port: int) -> server.Server:
    """A server that calls `handle` in a thread per connection; the connection ends with the call."""
    try:
        return server.serve(
            lambda connection: handle(DocumentSocket(connection)),
            host,
            port,
            select_subprotocol=_choose_subprotocol,
            **_OPTIONS,
        )
    except OSError as error:
        raise SdkError(f"Cannot listen on {host}:{port}: {error}.") from None


def _choose_subprotocol(connection: server.ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """msgpack if the agent offers it; one that offers nothing speaks JSON."""
    return next((name for name in SUBPROTOCOLS.values() if name in offered), None)


FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0


class WebSocketAgent:
    """Serves an evaluator until it says goodbye, or until it is stopped."""

    def __init__(self, host: Host, url: str, *, encoding: str = "msgpack") -> None:
        self._host = host
        self._url = url
        self._subprotocol = SUBPROTOCOLS[encoding]
        self._stopped = threading.Event()
        self._connections: list[_Connection] = []

    def wait(self) -> None:
        """Start as many connections as there may be episodes, and wait for their end."""
        self._connections = [
            _Connection(self._host, self._url, self._subprotocol, self._stopped)
            for _ in range(self._host.describe().max_episodes)
        ]
        for connection in self._connections:
            connection.start()
        for connection in self._connections:
            while connection.is_alive():
                connection.join(0.2)  # a little at a time: signals are handled in between

    def stop(self) -> None:
        self._stopped.set()
        for connection in self._connections:
            connection.hang_up()


class _Connection(threading.Thread):
    """One connection after another."""

    def __init__(self, host: Host, url: str, subprotocol: str, stopped: threading.Event) -> None:
        super().__init__(name="nav-eval-websocket", daemon=True)
        self._host = host
        self._url = url
        self._subprotocol = subprotocol
        self._stopped = stopped
        self._socket: DocumentSocket | None = None
        self._session = ""

    def run(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopped.is_set():
            try:
                if self._serve():
                    return
                pause = FIRST_PAUSE
            except (Disconnected, TimeoutError) as error:
                if pause == FIRST_PAUSE:
                    print(f"nav-eval-sdk: {error} Trying again.", file=sys.stderr)
            except SdkError as error:
                print(f"nav-eval-sdk: {error}", file=sys.stderr)
                return
            self._stopped.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def hang_up(self) -> None:
        if self._socket is not None:
            with suppress(SdkError):
                self.send({"type": "disconnect", "session_id": self._session})
            self._socket.close()

    def _serve(self) -> bool:
        """Talk over one connection; True when the evaluator needs nothing more."""
        self._socket = connect(self._url, subprotocol=self._subprotocol)
        try:
            connected = self._introduce()
            timeout = float(connected.get("heartbeat_timeout", 60.0))
            with _Heartbeat(self, float(connected.get("heartbeat_interval", 30.0))):
                return self._converse(timeout)
        finally:
            self._socket.close()

    def _introduce(self) -> Document:
        description = encode_description(self._host.describe())
        resumed = {"session_id": self._session} if self._session else {}
        self.send(
            {
                **description,
                **resumed,
                "type": "connect",
                "agent_id": description["name"],
                "protocol_version": "1.0",
                "first_action": "episode_ready",
                "keep_alive": True,
            }
        )
        answer = self._receive(10.0)
        if answer.get("type") != "connected":
            raise SdkError(f"The evaluator refused the connection: {answer.get('message', answer)}")
        if answer.get("session_id") != self._session:
            self._forget()
        return answer

    def _converse(self, timeout: float) -> bool:
        while True:
            message = self._receive(timeout)
            kind = message.get("type")
            if kind == "reset_episode":
                self._session = str(message.get("session_id", ""))
                self._report_errors(lambda message=message: self._host.reset(decode_episode(message)))
            elif kind in ("episode_ready", "get_action"):
                self._report_errors(lambda message=message: self._act(message))
            elif kind == "episode_end":
                session, self._session = self._session, ""
                self._report_errors(
                    lambda message=message, session=session: self._host.end(session, decode_outcome(message))
                )
            elif kind == "disconnect":
                return True
            elif kind == "error":
                print(f"nav-eval-sdk: the evaluator says: {message.get('message')}", file=sys.stderr)

    def _act(self, message: Document) -> None:
        sequence = int(message.get("sequence", 0))
        observation = decode_observation(message, self._host.session(self._session).episode)
        actions = self._host.act(self._session, sequence, observation)
        self.send({"type": "action", "session_id": self._session, **encode_reply(sequence, actions)})

    def _report_errors(self, work: Any) -> None:  # noqa: ANN401
        """Tell the evaluator of what went wrong; the next episode is another one."""
        try:
            work()
        except Disconnected:
            raise
        except SdkError as error:
            memory = isinstance(error, AgentError) and error.out_of_memory
            code = "agent_oom" if memory else "agent_crash"
            self.send({"type": "error", "session_id": self._session, "code": code, "message": str(error)})

    def _forget(self) -> None:
        session, self._session = self._session, ""
        if session:
            with suppress(SdkError):
                self._host.end(session, Outcome(status="cancelled", reason="the connection was lost"))

    def send(self, document: Document) -> None:
        if self._socket is not None:
            self._socket.send(document)

    def _receive(self, timeout: float) -> Document:
        if self._socket is None:
            raise Disconnected("There is no connection.")
        return self._socket.receive(timeout)


class _Heartbeat:
    """A sign of life in every interval, also while the agent thinks."""

    def __init__(self, connection: _Connection, interval: float) -> None:
        self._connection = connection
        self._interval = interval
        self._over = threading.Event()

    def __enter__(self) -> None:
        threading.Thread(target=self._beat, name="nav-eval-heartbeat", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _beat(self) -> None:
        while not self._over.wait(self._interval):
            with suppress(SdkError):
                self._connection.send({"type": "heartbeat", "timestamp": time.time()})
