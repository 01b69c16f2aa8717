"""One WebSocket connection that an agent opened to us.

The agent introduces itself with `connect`; from then on a thread reads what it sends. What belongs to an
episode goes to the inbox of the session that the connection is bound to. Heartbeats keep it alive while the
agent thinks, or while we render.
"""

import queue
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from websockets.exceptions import ConnectionClosed, ConnectionClosedError
from websockets.sync.server import ServerConnection

from nav_eval.agents.document_codecs import Codec, Document, decode_frame
from nav_eval.agents.failures import AgentFailure, ConnectionLost, ProtocolError
from nav_eval.agents.json_messages import show_document
from nav_eval.agents.messages import shorten
from nav_eval.agents.websocket_handshake import Introduction


class Heartbeat:
    """When to send the next sign of life, and when to stop waiting for theirs."""

    def __init__(self, *, interval: float, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = interval
        self._timeout = timeout
        self._clock = clock
        self._sent = self._heard = clock()

    def sent(self) -> None:
        """Anything we send is a sign of life."""
        self._sent = self._clock()

    def heard(self) -> None:
        """Anything they send is one, too."""
        self._heard = self._clock()

    @property
    def due(self) -> bool:
        """Nothing was sent for an interval."""
        return self._clock() - self._sent >= self._interval

    @property
    def lost(self) -> bool:
        """Nothing was heard for so long that nobody can be there."""
        return self._clock() - self._heard > self._timeout


TOO_LARGE = 1009  #: the close code for a message over the limit
NO_WEBSOCKET = (1002, 1007)  #: those for frames that there are none of, and for text that is no UTF-8
INBOX = 16  #: messages that may wait; an agent that sends more does not listen


class AgentConnection:
    """The connection, once the agent has introduced itself."""

    def __init__(
        self,
        connection: ServerConnection,
        introduction: Introduction,
        *,
        session_id: str,
        codec: Codec,
        heartbeat: Heartbeat,
    ) -> None:
        self.introduction = introduction
        self.session_id = session_id
        self.inbox: queue.Queue[Document | AgentFailure] | None = None  #: of the session that it is bound to
        self.lost: AgentFailure | None = None
        self._connection = connection
        self._codec = codec
        self._heartbeat = heartbeat
        self._sending = threading.Lock()

    def send(self, document: Document) -> None:
        with self._sending:
            try:
                self._connection.send(self._codec.encode(document), text=self._codec.name == "JSON")
            except (ConnectionClosed, OSError) as error:
                raise _to_failure(error) from None
            self._heartbeat.sent()

    def beat(self) -> None:
        """A sign of life if one is due; an end to the connection if theirs do not come."""
        if self._heartbeat.lost:
            self.abort()
        elif self._heartbeat.due and self._sending.acquire(blocking=False):  # a long message is a sign in itself
            self._sending.release()
            with suppress(AgentFailure):
                self.send({"type": "heartbeat"})

    def read_until_closed(self) -> None:
        """Pass on what comes; returns when nothing more can come."""
        try:
            for message in self._connection:
                self._heartbeat.heard()
                self._take(decode_frame(message, self._codec))
            self.lost = ConnectionLost("The agent closed the connection.")
        except ConnectionClosedError as error:
            self.lost = _to_failure(error)
        except AgentFailure as failure:
            self.lost = failure
            if self.inbox is None:
                self.refuse(failure)
            else:
                self._explain(failure)
        if self.inbox is not None:
            self._pass_on(self.inbox, self.lost)
            self._discard_until_closed()

    def _pass_on(self, inbox: "queue.Queue[Document | AgentFailure]", failure: AgentFailure) -> None:
        """To the session, even if the agent has filled its inbox."""
        try:
            inbox.put_nowait(failure)
        except queue.Full:
            inbox.get_nowait()
            inbox.put_nowait(failure)

    def _discard_until_closed(self) -> None:
        """The session still says how the episode ended, and hangs up; what comes meanwhile is for nobody."""
        with suppress(ConnectionClosed, OSError):
            for _ in self._connection:
                pass

    def refuse(self, failure: AgentFailure) -> None:
        """Tell the agent what was wrong, and end."""
        self._explain(failure)
        self.close()

    def _explain(self, failure: AgentFailure) -> None:
        with suppress(AgentFailure):
            self.send({"type": "error", "code": failure.cause.value, "message": str(failure)})

    def close(self) -> None:
        with suppress(ConnectionClosed, OSError):
            self._connection.close()

    def abort(self) -> None:
        """End at once, whatever is being sent or awaited."""
        with suppress(OSError):
            self._connection.socket.shutdown(socket.SHUT_RDWR)

    def _take(self, document: object) -> None:
        if not isinstance(document, dict) or not isinstance(document.get("type"), str):
            raise ProtocolError(
                f"A message is {show_document(document)}; it must be an object with a `type`, such as "
                '{"type": "action", "action": "move_forward"}.'
            )
        kind = document["type"]
        if kind in ("heartbeat", "reset_episode") or (kind == "disconnect" and self.inbox is None):
            return  # `reset_episode` from an agent asks for what it gets anyway
        if kind not in ("action", "error", "disconnect"):
            raise ProtocolError(f"An agent does not send {kind!r:.40}; it sends action, heartbeat and disconnect.")
        if self.inbox is None:
            raise ProtocolError(f"The agent sent {shorten(repr(kind))} while no episode was running.")
        try:
            self.inbox.put_nowait(document)
        except queue.Full:
            raise ProtocolError("The agent sends messages that nobody asked for.") from None


def _to_failure(error: Exception) -> AgentFailure:
    if isinstance(error, ConnectionClosed) and error.sent is not None and error.sent.code == TOO_LARGE:
        return ProtocolError(f"The agent's message is too large: {error.sent.reason}.")
    if isinstance(error, ConnectionClosed) and error.sent is not None and error.sent.code in NO_WEBSOCKET:
        return ProtocolError(f"The agent does not speak WebSocket: {error.sent.reason}.")
    if isinstance(error, ConnectionClosed) and error.rcvd is None:
        return ConnectionLost("The connection to the agent broke without a close frame: it ended, or it hung up.")
    return ConnectionLost(f"The connection to the agent broke: {error!r:.200}")
