"""One kept HTTP connection to an agent.

The standard library's client: it takes a quarter of the CPU of the popular ones. Redirects are not
followed, and a reply is read up to the limit only.
"""

import http.client
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from nav_eval.agents.codecs import JSON, Codec, by_content_type
from nav_eval.agents.description import short
from nav_eval.agents.documents import Document
from nav_eval.agents.failures import (
    AgentCrash,
    AgentFailure,
    AgentOutOfMemory,
    AgentTimeout,
    ConnectionLost,
    ProtocolError,
)
from nav_eval.agents.watchdog import Watchdog

OUT_OF_MEMORY = 507


class Reply(NamedTuple):
    status: int
    content_type: str
    body: bytes

    def document(self) -> object:
        """What the agent answered; an error becomes the failure that it means."""
        if self.status == OUT_OF_MEMORY:
            raise AgentOutOfMemory(f"The agent ran out of memory: {self.text()}")
        if self.status >= 500:
            raise AgentCrash(f"The agent failed with status {self.status}: {self.text()}")
        if self.status != 200:
            raise ProtocolError(f"The agent refused with status {self.status}: {self.text()}")
        return by_content_type(self.content_type).decode(self.body)

    def text(self) -> str:
        return short(self.body[:2000].decode(errors="replace"), limit=2000)


class Connection:
    """One kept connection; a question and its answer at a time."""

    def __init__(self, url: str, *, watchdog: Watchdog, max_reply_bytes: int) -> None:
        parts = urlsplit(url)
        if parts.hostname is None:
            raise ValueError(f"{url!r} has no host.")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._http = kind(parts.hostname, parts.port)
        self._prefix = parts.path.rstrip("/")
        self._watchdog = watchdog
        self._limit = max_reply_bytes

    def ask(self, method: str, path: str, document: Document | None = None, *, seconds: float) -> Reply:
        self.send(method, path, document, codec=JSON, seconds=seconds)
        return self.receive(seconds)

    def send(self, method: str, path: str, document: Document | None, *, codec: Codec, seconds: float) -> None:
        body = codec.encode(document) if document is not None else None
        headers = {"Content-Type": codec.content_type, "Accept": f"{codec.content_type}, {JSON.content_type}"}
        if self._is_stale():
            self._http.close()
        with self._named_failures(), self._watchdog.watch(seconds, self._unplug) as deadline:
            try:
                self._connect(seconds)
                self._http.request(method, self._prefix + path, body, headers)
            except OSError as error:
                if deadline.expired or isinstance(error, TimeoutError):
                    raise AgentTimeout(f"The agent did not take {path} within {seconds:g} s.") from None
                raise

    def receive(self, seconds: float) -> Reply:
        with self._named_failures(), self._watchdog.watch(seconds, self._unplug) as deadline:
            try:
                reply = self._read()
            except (OSError, http.client.HTTPException) as error:
                if deadline.expired or isinstance(error, TimeoutError):
                    raise AgentTimeout(f"No reply within {seconds:g} s.") from None
                raise
            if deadline.expired:  # what an unplugged socket still gave is not a reply
                raise AgentTimeout(f"No reply within {seconds:g} s.")
            return reply

    def close(self) -> None:
        self._http.close()

    def _read(self) -> Reply:
        response = self._http.getresponse()
        body = response.read(self._limit + 1)
        if len(body) > self._limit:
            self._http.close()
            raise ProtocolError(f"The reply is larger than {self._limit} bytes.")
        response.read()  # to the end of the message: the connection is used again
        return Reply(response.status, response.headers.get("Content-Type", ""), body)

    def _connect(self, seconds: float) -> None:
        """With a timeout of its own: there is no socket yet that could be unplugged."""
        unconnected = self._http.sock is None
        if unconnected:
            self._http.timeout = seconds
            self._http.connect()
            self._http.sock.settimeout(None)

    def _is_stale(self) -> bool:
        """The agent closed the connection while nobody was asking: a new one is safe."""
        sock = self._http.sock
        return sock is not None and bool(select.select([sock], [], [], 0)[0])

    def _unplug(self) -> None:
        sock = self._http.sock
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        """Every way in which a connection can break has a name; what broke is not used again."""
        try:
            yield
        except AgentFailure:
            self._http.close()
            raise
        except (OSError, http.client.IncompleteRead) as error:
            self._http.close()
            raise ConnectionLost(f"The connection to the agent broke: {error!r:.200}") from None
        except http.client.HTTPException as error:
            self._http.close()
            raise ProtocolError(f"The agent does not speak HTTP: {error!r:.200}") from None
