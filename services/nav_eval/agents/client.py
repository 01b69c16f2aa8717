"""How the evaluator sees an agent, whatever it speaks: describe it, open episodes, act, end.

    client.describe(task)                  once; says what to render and how many episodes at once
    session = client.open_episode(episode) one per episode, several at once if the agent can
    session.buffers()                      where to draw the next observation, if the agent reads our memory
    session.send(observation)              returns at once, so that another episode can be rendered meanwhile
    session.receive()                      the checked actions; `act` is both in one
    session.end(outcome)                   never fails

Whatever goes wrong is an `AgentFailure` with one named cause, within the deadline of `ClientSettings`.
A session belongs to one thread at a time; different sessions of a client may be used by different threads.

The deadlines are kept by each session and, for calls that cannot be given one, by the `Watchdog`: when the time is up,
it pulls the plug. It is one sleeping thread per client, which wakes only for a deadline that comes before all others,
so a step with the usual 30 s costs it nothing.
"""

import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self, TypeVar

from nav_eval.agents.failures import AgentFailure, AgentStartTimeout, AgentTimeout, ProtocolError, blame_reply
from nav_eval.agents.messages import (
    Action,
    AgentDescription,
    Array,
    EpisodeEnd,
    Observation,
    TaskInterface,
    check_actions,
)
from nav_eval.dataset.episode import PublicEpisode

MAX_REPLY_BYTES = 1 << 20
"""What agent.proto says: the evaluator refuses more."""
MAX_BETWEEN_BYTES = 1 << 30
"""Of what is seen between the actions of one reply: half of what a message can hold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientSettings:
    """How patient the evaluator is with an agent, and how much it takes from it. Times are seconds."""

    connect_timeout: float = 60.0  #: until the agent must be ready
    reset_timeout: float = 60.0  #: for the start of an episode
    action_timeout: float = 30.0  #: for one reply to an observation
    episode_timeout: float | None = None  #: for all answers of an episode; what we take in between does not count
    end_timeout: float = 5.0  #: to say goodbye at the end of an episode
    retries: int = 3  #: further attempts where asking again is safe
    backoff: float = 0.1  #: before the first further attempt; doubles each time
    heartbeat_interval: float = 30.0  #: between signs of life (WebSocket)
    heartbeat_timeout: float = 60.0  #: without one, the connection counts as lost
    reconnect_timeout: float = 5.0  #: to come back after a broken connection (WebSocket)
    max_reply_bytes: int = MAX_REPLY_BYTES  #: no reply may be larger; an action needs about a hundred bytes
    max_actions: int = 100  #: no agent gets to answer more actions at once than this
    shared_memory: bool = True  #: offer it to agents on this host
    shared_memory_dir: Path | None = None  #: a tmpfs that both containers see; anonymous memory when not given


T = TypeVar("T")


def retry(operation: Callable[[], T], *, on: type[Exception], settings: ClientSettings) -> T:
    """The result of `operation`; up to `settings.retries` further attempts when it raises `on`."""
    pause = settings.backoff
    for _ in range(settings.retries):
        try:
            return operation()
        except on:
            time.sleep(pause)
            pause *= 2
    return operation()


class Deadline:
    """When a block must be left, and whether it was late. No generator, because every step passes here."""

    def __init__(self, watchdog: "Watchdog", when: float, pull_the_plug: Callable[[], object]) -> None:
        self.when = when
        self.expired = False
        self._pull_the_plug = pull_the_plug
        self._watchdog = watchdog

    def expire(self) -> None:
        self.expired = True
        self._pull_the_plug()

    def __enter__(self) -> Self:
        self._watchdog.arm(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.disarm(self)


class Watchdog:
    """Calls back what is not done in time."""

    def __init__(self) -> None:
        self._armed: set[Deadline] = set()
        self._changed = threading.Condition()
        self._wakes_at = float("inf")
        self._closed = False
        self._thread: threading.Thread | None = None

    def watch(self, seconds: float, pull_the_plug: Callable[[], object]) -> Deadline:
        """Call `pull_the_plug` from another thread if the block takes longer than `seconds`."""
        return Deadline(self, time.monotonic() + seconds, pull_the_plug)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def arm(self, deadline: Deadline) -> None:
        with self._changed:
            self._armed.add(deadline)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="nav-eval-watchdog", daemon=True)
                self._thread.start()
            elif deadline.when < self._wakes_at:
                self._changed.notify()

    def disarm(self, deadline: Deadline) -> None:
        self._armed.discard(deadline)

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                now = time.monotonic()
                armed = list(self._armed)  # a copy in one step: disarming does not take the lock
                due = [deadline for deadline in armed if deadline.when <= now]
                if not due:
                    self._wakes_at = min((deadline.when for deadline in armed), default=float("inf"))
                    self._changed.wait(None if self._wakes_at == float("inf") else self._wakes_at - now)
                    continue
            for deadline in due:
                if deadline in self._armed:
                    self._armed.discard(deadline)
                    deadline.expire()


FAREWELL = 1.0  #: seconds in which an agent that failed is told so
READING_TIME = 0.5  #: seconds to take a reply that came in time while the evaluator was busy elsewhere


class AgentHealth(StrEnum):
    """Whether an agent can be asked for actions now."""

    SERVING = "serving"  #: it is ready
    STARTING = "starting"  #: it answers, but is not ready yet
    UNREACHABLE = "unreachable"  #: nobody answers


class EpisodeSession(ABC):
    """One episode of one agent. One that failed once fails for good, with the same failure."""

    def __init__(self, *, task: TaskInterface, description: AgentDescription, settings: ClientSettings) -> None:
        self.session_id = uuid.uuid4().hex
        self._task = task
        self._description = description
        self._settings = settings
        self._sequence = 0
        self._sent_at = 0.0
        self._failure: AgentFailure | None = None
        self._spent = 0.0  #: seconds that the agent took for its answers so far

    def buffers(self) -> dict[str, Array]:
        """Memory that the agent reads, for one observation yet to be sent: what is drawn there is not copied again.

        By sensor; empty where everything travels in messages. Every call gives other arrays, so that what is seen
        between two questions can be drawn as well.
        """
        return {}

    def send(self, observation: Observation) -> None:
        """Ask for the next actions. At most one question is open at a time."""
        if self._failure is not None:
            raise self._failure
        self._sequence += 1
        self._sent_at = time.monotonic()
        try:
            self._transmit(observation)
        except AgentFailure as failure:
            self._failure = failure
            raise

    def receive(self) -> list[Action]:
        """The answer to what was sent last."""
        if self._failure is not None:
            raise self._failure
        try:
            with blame_reply(f"it answered observation {self._sequence}"):
                actions = self._collect(self._seconds_left())
                most = min(self._description.max_actions, self._settings.max_actions)
                checked = check_actions(actions, task=self._task, most=most)
        except AgentFailure as failure:
            self._failure = failure
            raise
        self._spent += time.monotonic() - self._sent_at
        return checked

    def act(self, observation: Observation) -> list[Action]:
        self.send(observation)
        return self.receive()

    @abstractmethod
    def end(self, outcome: EpisodeEnd) -> None:
        """Tell the agent that the episode is over and let go of it. Does not raise for an agent that is gone."""

    def give_up(self, failure: AgentFailure) -> None:
        """The episode could not begin; the agent hears why."""
        self._failure = failure
        self.end(EpisodeEnd.from_failure(failure))

    @abstractmethod
    def _transmit(self, observation: Observation) -> None: ...

    @abstractmethod
    def _collect(self, seconds: float) -> Sequence[Action]: ...

    def _get_end_seconds(self) -> float:
        """How long the agent may take to hear the end; one that is stuck in an action gets a moment only."""
        return min(self._settings.end_timeout, FAREWELL) if self._failure is not None else self._settings.end_timeout

    def _seconds_left(self) -> float:
        deadline = min(self._sent_at + self._settings.action_timeout, self._find_episode_deadline())
        return max(deadline - time.monotonic(), READING_TIME)

    def _find_episode_deadline(self) -> float:
        """When the agent has used up its time. What the simulator takes between two answers is not the agent's."""
        limit = self._settings.episode_timeout
        return float("inf") if limit is None else self._sent_at + limit - self._spent

    def _too_slow(self) -> AgentTimeout:
        if time.monotonic() >= self._find_episode_deadline():
            return AgentTimeout(
                f"The episode took longer than {self._settings.episode_timeout:g} s of the agent's time."
            )
        return AgentTimeout(f"No reply to observation {self._sequence} within {self._settings.action_timeout:g} s.")


class AgentClient(ABC):
    """One agent, reachable."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self._known: tuple[TaskInterface, AgentDescription] | None = None

    def describe(self, task: TaskInterface) -> AgentDescription:
        """Wait until the agent is ready and ask what it wants. Must come before any episode."""
        with blame_reply("it described itself"):
            try:
                description, task = self._describe(task).choose_rig(task)
            except AgentTimeout as failure:  # it is not its `act` that is slow
                raise AgentStartTimeout(str(failure)) from failure
            wanted = description.keep_wanted(task)
            self._refuse_heavy_chunks(wanted, description)
        self._known = wanted, description
        return description

    def _refuse_heavy_chunks(self, task: TaskInterface, description: AgentDescription) -> None:
        """All that is seen between the actions of a reply is held until the last of them is done, and sent at once."""
        chunk = min(description.max_actions, self.settings.max_actions)
        each = sum(spec.nbytes for spec in task.sensors.values())
        if description.wants_between and chunk * each > MAX_BETWEEN_BYTES:
            raise ProtocolError(
                f"Describe asks to see what is between {chunk} actions, which is {chunk * each >> 20:,} MB at once; "
                f"at most {MAX_BETWEEN_BYTES >> 20:,} MB are sent. "
                f"Say max_actions = {max(1, MAX_BETWEEN_BYTES // each)}, or ask for fewer sensors."
            )

    @property
    def task(self) -> TaskInterface:
        """The task with what the agent wants of it: render this."""
        return self._get_description()[0]

    @property
    def description(self) -> AgentDescription:
        """What the agent said about itself."""
        return self._get_description()[1]

    def open_episode(self, episode: PublicEpisode, *, task: TaskInterface | None = None) -> EpisodeSession:
        """Start an episode; returns when the agent is ready to act. `task` is given where it is not the usual one."""
        if not isinstance(episode, PublicEpisode):
            raise TypeError(f"An agent may see a PublicEpisode only, not a {type(episode).__name__}.")
        usual, description = self._get_description()
        with blame_reply("it answered Reset"):
            return self._open(episode, task=task or usual, description=description)

    @abstractmethod
    def health_check(self) -> AgentHealth:
        """Ask once, for at most a few seconds."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the agent; ends what was started for it."""

    @abstractmethod
    def _describe(self, task: TaskInterface) -> AgentDescription: ...

    @abstractmethod
    def _open(
        self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription
    ) -> EpisodeSession: ...

    def _get_description(self) -> tuple[TaskInterface, AgentDescription]:
        if self._known is None:
            raise RuntimeError("Call describe before anything else: it says what the agent wants to see.")
        return self._known

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
