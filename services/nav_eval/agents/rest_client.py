"""Agents that serve HTTP: POST /episode/reset, /episode/act, and a few optional paths.

One kept connection per episode, by the standard library's client: it takes a quarter of the CPU of the popular
ones. Redirects are not followed, and a reply is read up to the limit only.
"""

import http.client
import select
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from nav_eval.agents.client import AgentClient, AgentHealth, ClientSettings, EpisodeSession, Watchdog, retry
from nav_eval.agents.document_codecs import JSON, MSGPACK, Codec, Document, get_codec_of_content
from nav_eval.agents.failures import (
    AgentCrash,
    AgentFailure,
    AgentOutOfMemory,
    AgentStartTimeout,
    AgentTimeout,
    ConnectionLost,
    ProtocolError,
)
from nav_eval.agents.json_messages import (
    DescriptionDocument,
    check_session,
    decode_actions,
    decode_description,
    encode_episode,
    encode_observation,
    encode_outcome,
    encode_task,
)
from nav_eval.agents.messages import Action, AgentDescription, EpisodeEnd, Observation, TaskInterface, shorten
from nav_eval.dataset.episode import PublicEpisode

OUT_OF_MEMORY = 507


class HttpReply(NamedTuple):
    path: str  #: what was asked
    status: int
    content_type: str
    body: bytes

    def document(self) -> object:
        """What the agent answered; an error becomes the failure that it means."""
        if self.status == OUT_OF_MEMORY:
            raise AgentOutOfMemory(f"The agent ran out of memory: {self.text()}")
        if self.status >= 500:
            raise AgentCrash(f"The agent failed with status {self.status}{self._quote()}.")
        if self.status != 200:
            raise ProtocolError(
                f"The agent answered {self.path} with status {self.status}{self._quote()}. Answer with status 200."
            )
        return get_codec_of_content(self.content_type).decode(self.body)

    def _quote(self) -> str:
        text = self.text().strip().rstrip(".")
        return f": {text}" if text else ""

    def text(self) -> str:
        return shorten(self.body[:2000].decode(errors="replace"), limit=2000)


class HttpConnection:
    """One kept connection; a question and its answer at a time."""

    def __init__(self, url: str, *, watchdog: Watchdog, max_reply_bytes: int) -> None:
        parts = urlsplit(url)
        if parts.hostname is None:
            raise ValueError(f"{url!r} has no host.")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._http = kind(parts.hostname, parts.port)
        self._prefix = parts.path.rstrip("/")
        self._asked = ""  #: the path of the open question
        self._watchdog = watchdog
        self._limit = max_reply_bytes

    def ask(self, method: str, path: str, document: Document | None = None, *, seconds: float) -> HttpReply:
        self.send(method, path, document, codec=JSON, seconds=seconds)
        return self.receive(seconds)

    def send(self, method: str, path: str, document: Document | None, *, codec: Codec, seconds: float) -> None:
        body = codec.encode(document) if document is not None else None
        headers = {"Content-Type": codec.content_type, "Accept": f"{codec.content_type}, {JSON.content_type}"}
        self._request(method, path, body, headers=headers, seconds=seconds)

    def post(self, path: str, body: bytes, *, content_type: str, seconds: float) -> HttpReply:
        """A body of any type, and the answer to it."""
        self._request("POST", path, body, headers={"Content-Type": content_type}, seconds=seconds)
        return self.receive(seconds)

    def _request(self, method: str, path: str, body: bytes | None, *, headers: dict[str, str], seconds: float) -> None:
        self._asked = path
        if self._is_stale():
            self._http.close()
        with self._name_failures(), self._watchdog.watch(seconds, self._abort) as deadline:
            try:
                self._connect(seconds)
                self._http.request(method, self._prefix + path, body, headers)
            except OSError as error:
                if deadline.expired or isinstance(error, TimeoutError):
                    raise AgentTimeout(f"The agent did not take {path} within {seconds:g} s.") from None
                raise

    def receive(self, seconds: float) -> HttpReply:
        with self._name_failures(), self._watchdog.watch(seconds, self._abort) as deadline:
            try:
                reply = self._read()
            except (OSError, http.client.HTTPException) as error:
                if deadline.expired or isinstance(error, TimeoutError):
                    raise AgentTimeout(f"No reply to {self._asked} within {seconds:g} s.") from None
                raise
            if deadline.expired:  # what an unplugged socket still gave is not a reply
                raise AgentTimeout(f"No reply to {self._asked} within {seconds:g} s.")
            return reply

    def close(self) -> None:
        self._http.close()

    def _read(self) -> HttpReply:
        response = self._http.getresponse()
        announced = response.length or 0  # as it says itself: memory for so much is not asked for
        body = b"" if announced > self._limit else response.read(self._limit + 1)
        if max(announced, len(body)) > self._limit:
            self._http.close()
            raise ProtocolError(f"The reply is larger than {self._limit} bytes.")
        response.read()  # to the end of the message: the connection is used again
        return HttpReply(self._asked, response.status, response.headers.get("Content-Type", ""), body)

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

    def _abort(self) -> None:
        sock = self._http.sock
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def _name_failures(self) -> Iterator[None]:
        """Every way in which a connection can break has a name; what broke is not used again."""
        try:
            yield
        except AgentFailure:
            self._http.close()
            raise
        except (OSError, http.client.IncompleteRead) as error:
            self._http.close()
            raise ConnectionLost(f"The connection to the agent broke: {str(error) or repr(error):.200}") from None
        except (http.client.HTTPException, ValueError, OverflowError) as error:  # the library trusts sizes of chunks
            self._http.close()
            raise ProtocolError(f"The agent does not speak HTTP: {error!r:.200}") from None


NOT_THERE = (404, 405, 501)  #: an optional path that the agent does not serve
ONE_TRY = 2.0  #: seconds for a sign of life


class RestAgentClient(AgentClient):
    """The evaluator's end of the REST protocol."""

    def __init__(self, url: str, settings: ClientSettings) -> None:
        super().__init__(settings)
        self._url = url
        self._watchdog = Watchdog()
        self._said = DescriptionDocument()
        self._idle: list[HttpConnection] = []

    def health_check(self) -> AgentHealth:
        connection = self._connection()
        try:
            reply = connection.ask("GET", "/health", seconds=ONE_TRY)
        except ProtocolError:
            return AgentHealth.STARTING
        except AgentFailure:
            return AgentHealth.UNREACHABLE
        finally:
            connection.close()
        return AgentHealth.SERVING if reply.status == 200 or reply.status in NOT_THERE else AgentHealth.STARTING

    def close(self) -> None:
        for connection in self._idle:
            connection.close()
        self._watchdog.close()

    def _describe(self, task: TaskInterface) -> AgentDescription:
        self._wait_until_ready()
        document = {"protocol_versions": [1], "task": encode_task(task, self.settings)}
        reply = retry(lambda: self._once("/describe", document), on=ConnectionLost, settings=self.settings)
        description, self._said = decode_description({} if reply.status in NOT_THERE else reply.document())
        return description

    def _once(self, path: str, document: Document) -> HttpReply:
        connection = self._connection()
        try:
            return connection.ask("POST", path, document, seconds=self.settings.connect_timeout)
        finally:
            connection.close()

    def _open(self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription) -> "RestSession":
        session = RestSession(
            self._idle.pop() if self._idle else self._connection(),
            give_back=self._idle,
            said=self._said,
            episode=episode,
            task=task,
            description=description,
            settings=self.settings,
        )
        try:
            retry(session.reset, on=ConnectionLost, settings=self.settings)
        except AgentFailure as failure:
            session.give_up(failure)
            raise
        return session

    def _connection(self) -> HttpConnection:
        return HttpConnection(self._url, watchdog=self._watchdog, max_reply_bytes=self.settings.max_reply_bytes)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + self.settings.connect_timeout
        while (health := self.health_check()) is not AgentHealth.SERVING:
            if time.monotonic() >= deadline:
                state = "says that it is not ready" if health is AgentHealth.STARTING else "does not answer"
                raise AgentStartTimeout(
                    f"The agent at {self._url} still {state} after {self.settings.connect_timeout:g} s."
                )
            time.sleep(0.05)


class RestSession(EpisodeSession):
    """One episode over one kept connection."""

    def __init__(
        self,
        connection: HttpConnection,
        *,
        give_back: list[HttpConnection],
        said: DescriptionDocument,
        episode: PublicEpisode,
        task: TaskInterface,
        description: AgentDescription,
        settings: ClientSettings,
    ) -> None:
        super().__init__(task=task, description=description, settings=settings)
        self._connection = connection
        self._give_back = give_back
        self._form = said.observations
        self._codec = MSGPACK if said.binary and said.observations == "tensor" else JSON
        self._episode = episode
        self._document: Document = {}
        self._asked = False

    def reset(self) -> None:
        document = {
            "session_id": self.session_id,
            "episode": encode_episode(self._episode),
            "task": encode_task(self._task, self._settings),
        }
        reply = self._connection.ask("POST", "/episode/reset", document, seconds=self._settings.reset_timeout)
        if reply.status != 204:
            reply.document()

    def end(self, outcome: EpisodeEnd) -> None:
        document = {"session_id": self.session_id, **encode_outcome(outcome)}
        if self._failure is not None:
            self._connection.close()  # a late reply may still be on it: the agent is told on a new one
        try:
            self._connection.ask("POST", "/episode/end", document, seconds=self._get_end_seconds())
        except AgentFailure:
            self._connection.close()  # the episode is over either way
        if self._failure is None:
            self._give_back.append(self._connection)
        else:
            self._connection.close()

    def _transmit(self, observation: Observation) -> None:
        self._document = {
            "session_id": self.session_id,
            "sequence": self._sequence,
            "observation": self._observation(observation),
        }
        if observation.between:
            self._document["between"] = [self._observation(seen) for seen in observation.between]
        self._asked = False
        try:
            self._ask()
        except ConnectionLost:
            if not self._description.repeats_replies:
                raise  # what `_collect` then sends again is known to the agent by its number

    def _ask(self) -> None:
        self._connection.send("POST", "/episode/act", self._document, codec=self._codec, seconds=self._seconds_left())
        self._asked = True

    def _collect(self, seconds: float) -> Sequence[Action]:
        try:
            if self._description.repeats_replies:
                reply = retry(self._answer, on=ConnectionLost, settings=self._settings)
            else:
                reply = self._answer()
        except AgentTimeout:
            raise self._too_slow() from None
        document = reply.document()
        check_session(document, self.session_id)
        return decode_actions(document, sequence=self._sequence, most=self._settings.max_actions)

    def _answer(self) -> HttpReply:
        if not self._asked:
            self._ask()
        self._asked = False
        return self._connection.receive(self._seconds_left())

    def _observation(self, observation: Observation) -> Document:
        return encode_observation(observation, form=self._form, description=self._description, episode=self._episode)
