"""What a check is: a name, what is expected, what to fix when it is not so, and how to find out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from nav_eval_sdk.agent import Observation, Task
from nav_eval_sdk.checking.probe import Described, Latencies, Probe, ProbeEpisode, Reply
from nav_eval_sdk.checking.scene import moment

PROTOCOLS = ("grpc", "rest", "websocket")
STEPS = 30
INSTRUCTION = "Leave the bedroom, turn left at the sofa and wait by the kitchen table."


class Failed(Exception):
    """The agent does something wrong."""


class Doubtful(Exception):
    """The agent may do this, but it will probably be sorry."""


class NotApplicable(Exception):
    """There is nothing to check here."""


@dataclass
class Context:
    """What the checks share."""

    probe: Probe
    task: Task
    start_seconds: float
    described: Described | None = None
    latencies: Latencies = field(default_factory=Latencies)
    first: list[Reply] = field(default_factory=list)

    def see(self, step: int) -> Observation:
        wanted = self.described.description.sensors if self.described else ()
        return moment(self.task, step, wanted=wanted)

    def open(self, *, instruction: str = INSTRUCTION, shared: bool = False) -> ProbeEpisode:
        return self.probe.open(self.task, instruction=instruction, shared=shared)

    def act(self, episode: ProbeEpisode, step: int) -> Reply:
        reply = episode.act(self.see(step))
        self.latencies.seconds.append(reply.seconds)
        return reply

    def play(self, steps: int = 5, *, shared: bool = False) -> list[Reply]:
        episode = self.open(shared=shared)
        replies = [self.act(episode, step) for step in range(steps)]
        episode.end()
        return replies

    @property
    def max_actions(self) -> int:
        return self.described.description.max_actions if self.described else 1

    @property
    def max_episodes(self) -> int:
        return self.described.description.max_episodes if self.described else 1


Run = Callable[[Context], "str | None"]


@dataclass(frozen=True)
class Check:
    """One thing that an agent must do, or should."""

    name: str
    title: str  #: what is expected, in a few words
    fix: str  #: what to do when it is not so
    run: Run  #: returns a remark; raises when something is wrong
    protocols: tuple[str, ...] = PROTOCOLS
    essential: bool = False  #: without it the others mean nothing


class Checks(list[Check]):
    """Checks in the order in which they are written down."""

    def add(
        self, title: str, *, fix: str, protocols: Iterable[str] = PROTOCOLS, essential: bool = False
    ) -> Callable[[Run], Run]:
        """Decorator: the function's name is the check's."""

        def register(run: Run) -> Run:
            self.append(Check(run.__name__, title, fix, run, tuple(protocols), essential))
            return run

        return register


def said(context: Context) -> Described:
    if context.described is None:
        raise NotApplicable("no description")
    return context.described
