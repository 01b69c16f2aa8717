"""Agents that serve HTTP: POST /episode/reset, /episode/act, and a few optional paths."""

import time
from collections.abc import Sequence

from nav_eval.agents.client import AgentClient, EpisodeSession, Health
from nav_eval.agents.codecs import JSON, MSGPACK
from nav_eval.agents.description import AgentDescription
from nav_eval.agents.documents import (
    DescriptionDocument,
    Document,
    actions_of,
    described,
    episode_document,
    observation_document,
    outcome_document,
    task_document,
)
from nav_eval.agents.failures import (
    AgentFailure,
    AgentStartTimeout,
    AgentTimeout,
    ConnectionLost,
    ProtocolError,
)
from nav_eval.agents.http_connection import Connection, Reply
from nav_eval.agents.interface import TaskInterface
from nav_eval.agents.messages import Action, Observation, Outcome
from nav_eval.agents.retrying import retrying
from nav_eval.agents.settings import ClientSettings
from nav_eval.agents.watchdog import Watchdog
from nav_eval.dataset.episode import PublicEpisode

NOT_THERE = (404, 405, 501)  #: an optional path that the agent does not serve
ONE_TRY = 2.0  #: seconds for a sign of life


class RestAgentClient(AgentClient):
    """The evaluator's end of the REST protocol."""

    def __init__(self, url: str, settings: ClientSettings) -> None:
        super().__init__(settings)
        self._url = url
        self._watchdog = Watchdog()
        self._said = DescriptionDocument()
        self._idle: list[Connection] = []

    def health_check(self) -> Health:
        connection = self._connection()
        try:
            reply = connection.ask("GET", "/health", seconds=ONE_TRY)
        except ProtocolError:
            return Health.STARTING
        except AgentFailure:
            return Health.UNREACHABLE
        finally:
            connection.close()
        return Health.SERVING if reply.status == 200 or reply.status in NOT_THERE else Health.STARTING

    def close(self) -> None:
        for connection in self._idle:
            connection.close()
        self._watchdog.close()

    def _describe(self, task: TaskInterface) -> AgentDescription:
        self._wait_until_ready()
        document = {"protocol_versions": [1], "task": task_document(task, self.settings)}
        reply = retrying(lambda: self._once("/describe", document), on=ConnectionLost, settings=self.settings)
        description, self._said = described({} if reply.status in NOT_THERE else reply.document())
        return description

    def _once(self, path: str, document: Document) -> Reply:
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
        retrying(session.reset, on=ConnectionLost, settings=self.settings)
        return session

    def _connection(self) -> Connection:
        return Connection(self._url, watchdog=self._watchdog, max_reply_bytes=self.settings.max_reply_bytes)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + self.settings.connect_timeout
        while (health := self.health_check()) is not Health.SERVING:
            if time.monotonic() >= deadline:
                state = "says that it is not ready" if health is Health.STARTING else "does not answer"
                raise AgentStartTimeout(
                    f"The agent at {self._url} still {state} after {self.settings.connect_timeout:g} s."
                )
            time.sleep(0.05)


class RestSession(EpisodeSession):
    """One episode over one kept connection."""

    def __init__(
        self,
        connection: Connection,
        *,
        give_back: list[Connection],
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
            "episode": episode_document(self._episode),
            "task": task_document(self._task, self._settings),
        }
        reply = self._connection.ask("POST", "/episode/reset", document, seconds=self._settings.reset_timeout)
        if reply.status != 204:
            reply.document()

    def end(self, outcome: Outcome) -> None:
        document = {"session_id": self.session_id, **outcome_document(outcome)}
        if self._failure is None:
            try:
                self._connection.ask("POST", "/episode/end", document, seconds=self._settings.end_timeout)
            except AgentFailure:
                self._connection.close()  # the episode is over either way
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
                reply = retrying(self._answer, on=ConnectionLost, settings=self._settings)
            else:
                reply = self._answer()
        except AgentTimeout:
            raise self._too_slow() from None
        return actions_of(reply.document(), sequence=self._sequence, most=self._settings.max_actions)

    def _answer(self) -> Reply:
        if not self._asked:
            self._ask()
        self._asked = False
        return self._connection.receive(self._seconds_left())

    def _observation(self, observation: Observation) -> Document:
        return observation_document(observation, form=self._form, description=self._description, episode=self._episode)
