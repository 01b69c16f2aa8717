"""How the evaluator sees an agent, whatever it speaks: describe it, open episodes, act, end.

    client.describe(task)                  once; says what to render and how many episodes at once
    session = client.open_episode(episode) one per episode, several at once if the agent can
    session.send(observation)              returns at once, so that another episode can be rendered meanwhile
    session.receive()                      the checked actions; `act` is both in one
    session.end(outcome)                   never fails

Whatever goes wrong is an `AgentFailure` with one named cause, within the deadline of `ClientSettings`.
A session belongs to one thread at a time; different sessions of a client may be used by different threads.
"""

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Self

import numpy as np

from nav_eval.agents.description import AgentDescription
from nav_eval.agents.failures import AgentFailure, AgentTimeout
from nav_eval.agents.interface import TEXT, TaskInterface
from nav_eval.agents.messages import Action, Array, Observation, Outcome
from nav_eval.agents.replies import checked_actions
from nav_eval.agents.settings import ClientSettings
from nav_eval.dataset.episode import PublicEpisode

READING_TIME = 0.5  #: seconds to take a reply that came in time while the evaluator was busy elsewhere


class Health(StrEnum):
    """Whether an agent can be asked for actions now."""

    SERVING = "serving"  #: it is ready
    STARTING = "starting"  #: it answers, but is not ready yet
    UNREACHABLE = "unreachable"  #: nobody answers


class EpisodeSession(ABC):
    """One episode of one agent."""

    def __init__(self, *, task: TaskInterface, description: AgentDescription, settings: ClientSettings) -> None:
        self.session_id = uuid.uuid4().hex
        self._task = task
        self._description = description
        self._settings = settings
        self._sequence = 0
        self._sent_at = 0.0
        self._failure: AgentFailure | None = None
        limit = settings.episode_timeout
        self._episode_deadline = float("inf") if limit is None else time.monotonic() + limit

    def buffers(self) -> dict[str, Array]:
        """Arrays for one observation yet to be sent. Sensors that are drawn into these are not copied again.

        Every call gives other arrays, so that what is seen between two questions can be drawn as well.
        """
        sensors = self._task.sensors.items()
        return {name: np.empty(spec.shape, spec.dtype) for name, spec in sensors if spec.dtype != TEXT and spec.nbytes}

    def send(self, observation: Observation) -> None:
        """Ask for the next actions. At most one question is open at a time."""
        if self._failure is not None:
            raise self._failure
        self._sequence += 1
        self._sent_at = time.monotonic()
        with self._remembering_failure():
            self._transmit(observation)

    def receive(self) -> list[Action]:
        """The answer to what was sent last."""
        if self._failure is not None:
            raise self._failure
        with self._remembering_failure():
            actions = self._collect(self._seconds_left())
            most = min(self._description.max_actions, self._settings.max_actions)
            return checked_actions(actions, task=self._task, most=most)

    def act(self, observation: Observation) -> list[Action]:
        self.send(observation)
        return self.receive()

    @abstractmethod
    def end(self, outcome: Outcome) -> None:
        """Tell the agent that the episode is over and let go of it. Does not raise for an agent that is gone."""

    @abstractmethod
    def _transmit(self, observation: Observation) -> None: ...

    @abstractmethod
    def _collect(self, seconds: float) -> Sequence[Action]: ...

    def _seconds_left(self) -> float:
        deadline = min(self._sent_at + self._settings.action_timeout, self._episode_deadline)
        return max(deadline - time.monotonic(), READING_TIME)

    def _too_slow(self) -> AgentTimeout:
        if time.monotonic() >= self._episode_deadline:
            return AgentTimeout(f"The episode took longer than {self._settings.episode_timeout:g} s.")
        return AgentTimeout(f"No reply to observation {self._sequence} within {self._settings.action_timeout:g} s.")

    @contextmanager
    def _remembering_failure(self) -> Iterator[None]:
        """A session that failed once fails for good, with the same failure."""
        try:
            yield
        except AgentFailure as failure:
            self._failure = failure
            raise


class AgentClient(ABC):
    """One agent, reachable."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self._known: tuple[TaskInterface, AgentDescription] | None = None
        self._single: EpisodeSession | None = None

    def describe(self, task: TaskInterface) -> AgentDescription:
        """Wait until the agent is ready and ask what it wants. Must come before any episode."""
        description = self._describe(task)
        self._known = description.wanted(task), description
        return description

    @property
    def task(self) -> TaskInterface:
        """The task with what the agent wants of it: render this."""
        return self._described()[0]

    def open_episode(self, episode: PublicEpisode) -> EpisodeSession:
        """Start an episode; returns when the agent is ready to act."""
        if not isinstance(episode, PublicEpisode):
            raise TypeError(f"An agent may see a PublicEpisode only, not a {type(episode).__name__}.")
        task, description = self._described()
        return self._open(episode, task=task, description=description)

    @abstractmethod
    def health_check(self) -> Health:
        """Ask once, for at most a few seconds."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the agent; ends what was started for it."""

    def reset_episode(self, episode: PublicEpisode) -> None:
        """One episode at a time, as the seeds have it: start it…"""
        if self._single is not None:
            self._single.end(Outcome())
        self._single = self.open_episode(episode)

    def get_action(self, observation: Observation) -> list[Action]:
        """…and act in it."""
        if self._single is None:
            raise RuntimeError("Call reset_episode before get_action.")
        return self._single.act(observation)

    @abstractmethod
    def _describe(self, task: TaskInterface) -> AgentDescription: ...

    @abstractmethod
    def _open(
        self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription
    ) -> EpisodeSession: ...

    def _described(self) -> tuple[TaskInterface, AgentDescription]:
        if self._known is None:
            raise RuntimeError("Call describe before anything else: it says what the agent wants to see.")
        return self._known

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
