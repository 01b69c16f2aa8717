"""How `check` talks to an agent: like the evaluator, but it looks closer."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from nav_eval_sdk.agent import Action, Description, Observation, Task
from nav_eval_sdk.errors import SdkError


class ProbeError(SdkError):
    """The agent did not do what was asked; the message says what it did instead."""


class NotServed(ProbeError):
    """The agent does not serve this optional part."""


@dataclass(frozen=True)
class Readiness:
    """How an agent said that it is ready."""

    seconds: float
    has_health: bool


@dataclass(frozen=True)
class Described:
    """What the agent says about itself, and what only a checker wants to know."""

    description: Description
    protocol_versions: tuple[int, ...] = ()
    unknown_encodings: tuple[str, ...] = ()
    repeats_replies: bool = False
    proof_is_right: bool | None = None  #: None if it does not claim to see our memory
    raw: bytes = b""


@dataclass(frozen=True)
class Reply:
    """One answer to one observation."""

    sequence: int
    actions: tuple[Action, ...]
    seconds: float = 0.0


class ProbeEpisode(ABC):
    """One episode against the agent."""

    def __init__(self) -> None:
        self.session_id = uuid.uuid4().hex
        self.sequence = 0

    def act(self, observation: Observation) -> Reply:
        self.sequence += 1
        return self.ask(observation)

    @abstractmethod
    def ask(self, observation: Observation) -> Reply:
        """Send the observation under the present sequence number; calling it twice repeats the request."""

    @abstractmethod
    def end(self) -> bool:
        """Say that the episode is over; False if the agent does not care."""

    @abstractmethod
    def abandon(self) -> None:
        """Vanish, as an evaluator does that is killed."""


class Probe(ABC):
    """One agent under test."""

    protocol: str

    def __init__(self, *, timeout: float) -> None:
        self.timeout = timeout

    @abstractmethod
    def wait_until_ready(self, seconds: float) -> Readiness: ...

    @abstractmethod
    def describe(self, task: Task) -> Described:
        """Raises NotServed where the agent leaves it to the defaults."""

    @abstractmethod
    def open(self, task: Task, *, instruction: str, shared: bool = False) -> ProbeEpisode: ...

    @abstractmethod
    def is_serving(self) -> bool:
        """Whether the agent still answers."""

    def send_garbage(self) -> None:
        """Bytes that are no message; the agent may refuse them, and must live on."""
        raise NotServed("There is no garbage for this protocol.")

    def act_without_reset(self, observation: Observation) -> None:
        """An observation of an episode that never began: the agent must refuse it. Raises ProbeError if it does."""
        raise NotServed("This protocol has no such question.")

    @abstractmethod
    def close(self) -> None:
        """Let go."""


@dataclass
class Latencies:
    """How long the agent took, reply by reply."""

    seconds: list[float] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
