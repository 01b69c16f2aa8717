"""What a worker asks of whatever runs agents: local processes, Docker, a Kubernetes pod.

    image = runtime.find(image_id) or runtime.admit(archive, limits=…)   cached by digest
    with runtime.run(work) as pair:                                      agent and simulator, started
        for message in pair.messages():                                  as each episode ends
            …
            pair.take_log()                                              what the agent printed meanwhile
        pair.agent_end(), pair.usage()                                   before the block is left
    with runtime.replay(work) as simulation:                             a simulator alone: a finished run, again
        for message in simulation.messages(): …

The simulator side is the same program everywhere: `python -m nav_eval.evaluation.shard` or `nav_eval.replay.process`,
which gets an order and answers on standard output (`nav_eval.evaluation.shard_protocol`). It has no
network, no credentials and no database; and the worker has no simulator. What the runtime cannot do is
`RuntimeUnavailable`: our fault, retried.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from nav_eval.agents.failures import InfrastructureFailure
from nav_eval.config import BenchmarkConfig
from nav_eval.config.schema.competition import LimitsConfig
from nav_eval.evaluation.shard_protocol import Message, Purpose, ReplayOrder, ShardOrder, TimeLimits, order_for
from nav_eval_worker.archives import IMAGE_LIMITS, WEIGHTS_LIMITS, ArchiveLimits, ImageSummary
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.runtime.agent_end import AgentEnd

SOCKET_NAME = "agent.sock"
"""What the agent's socket is called, in the folder that both sides share."""
WEIGHTS_VARIABLE = "NAV_EVAL_WEIGHTS"
"""Tells the agent where its weights are, when it has uploaded some."""


class RuntimeUnavailable(InfrastructureFailure):
    """Agents cannot be started here: the engine does not answer, or the disk is full."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentImage:
    """An image that this runtime can start."""

    id: str  #: `ImageSummary.image_id`: the same on every host and engine, and the key of every cache
    handle: str  #: what the runtime itself calls it: an engine's id, a folder
    summary: ImageSummary | None = None  #: when it was just checked


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """Model weights that an agent gets beside its image, read-only."""

    digest: str  #: sha256 of the uploaded archive, the key of the cache
    handle: str  #: a folder, a volume


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """Something that a simulator is started for."""

    run: str  #: the id of the lease it is done under: label of everything that is started for it
    worker: str  #: who holds that lease


@dataclass(frozen=True, kw_only=True, slots=True)
class CellWork(Work):
    """What the walls around an agent depend on."""

    weights: Weights | None = None
    limits: LimitsConfig = field(default_factory=LimitsConfig)  #: of the phase: processor, memory, time, log


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardWork(CellWork):
    """Some episodes, and who plays them."""

    image: AgentImage | None = None  #: the team's agent…
    baseline: str | None = None  #: …or an organiser's, which plays inside the simulator's process
    benchmark: BenchmarkConfig
    episode_ids: tuple[str, ...]
    run_seed: int = 0
    episode_seed: str | None = None  #: what the agent's names of the episodes are drawn from
    rig: str | None = None  #: that the agent chose when it was tried
    folder: Path  #: an empty one for this pair alone: order, socket, logs; the worker removes it


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayWork(Work):
    """A finished run that is played again without its agent."""

    folder: Path  #: as `nav-eval evaluate` leaves it; the worker removes it
    purpose: Purpose
    episodes: int | None = None  #: so many, from the first; None is all
    episode_ids: tuple[str, ...] | None = None  #: these alone; None is all


def make_shard_order(
    work: ShardWork, *, socket: Path, cache: Path, shared_memory_dir: Path | None = None
) -> ShardOrder:
    """The simulator's order. Paths are those that the simulator sees."""
    return order_for(
        work.benchmark,
        episode_ids=work.episode_ids,
        agent=work.baseline or f"unix:{socket}",
        cache=cache,
        run_seed=work.run_seed,
        episode_seed=work.episode_seed,
        time_limits=TimeLimits(
            start=work.limits.start_seconds, step=work.limits.step_seconds, episode=work.limits.episode_seconds
        ),
        shared_memory_dir=shared_memory_dir,
        rig=work.rig,
    )


def make_replay_order(work: ReplayWork, *, run: Path, cache: Path) -> ReplayOrder:
    """The order of a simulator that plays a run again. Paths are those that the simulator sees."""
    return ReplayOrder(
        run=str(run), purpose=work.purpose, episodes=work.episodes, episode_ids=work.episode_ids, cache=str(cache)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What the agent used; None where the runtime cannot tell."""

    cpu_seconds: float | None = None
    memory_bytes: int | None = None  #: at most, so far


class Simulation(ABC):
    """A simulator at work."""

    @abstractmethod
    def messages(self) -> Iterator[Message]:
        """What the simulator says, as it says it; ends when the simulator has ended or `stop` was called.

        Whether it ended well, only an `Ended` says: a stream without one is a simulator that died.
        """

    @abstractmethod
    def simulator_log(self) -> bytes:
        """The end of what the simulator printed on standard error; for us, never for the team."""

    @abstractmethod
    def stop(self) -> None:
        """End everything for good, within seconds. Callable from any thread, and more than once.

        The simulator goes first: to it, an agent that is ended first would be an agent that crashed.
        """


class Pair(Simulation):
    """An agent and a simulator that play."""

    @abstractmethod
    def agent_end(self, *, patience: float = 1.0) -> AgentEnd | None:
        """How the agent ended; None for a baseline, after `stop`, and while it lives.

        Its end may become known a little after its last word: so many seconds it is waited for.
        """

    def find_sabotage(self, said: str) -> AgentEnd | None:
        """How the agent brought down the simulator, which last said SAID; only where they share limits, as in a pod."""
        return None

    @abstractmethod
    def take_log(self, *, whole_lines: bool = False) -> bytes:
        """What the agent printed since the last call, cut to `limits.log_kb` (`output.CappedLog`)."""

    @abstractmethod
    def usage(self) -> Usage:
        """What the agent has used so far; also after its end."""


class Runtime(ABC):
    """Starts agents and simulators on this host."""

    name: str
    """As in `NAV_EVAL_RUNTIME`."""

    @abstractmethod
    def check(self) -> None:
        """Raise `RuntimeUnavailable` unless agents can be started here; cheap enough for a health check."""

    def probe(self) -> None:
        """Raise `RuntimeUnavailable` unless the walls around agents hold, by measurement; when a worker starts."""
        self.check()

    @abstractmethod
    def find(self, image_id: str) -> AgentImage | None:
        """An image that was admitted on this host before; None if it has to be admitted (again)."""

    @abstractmethod
    def admit(self, archive: Path | Readable, *, limits: ArchiveLimits = IMAGE_LIMITS) -> AgentImage:
        """Check an uploaded archive and make its image ready to start; `ArchiveInvalid` says why not."""

    @abstractmethod
    def admit_weights(
        self, archive: Path | Readable, *, digest: str, limits: ArchiveLimits = WEIGHTS_LIMITS
    ) -> Weights:
        """Unpack weights, once per `digest` (the sha256 of the archive); `ArchiveInvalid` says why not."""

    @abstractmethod
    def find_weights(self, digest: str) -> Weights | None:
        """Weights that were admitted on this host before."""

    @abstractmethod
    def run(self, work: ShardWork) -> AbstractContextManager[Pair]:
        """Start both sides; leaving the block stops them and leaves nothing behind.

        An agent that cannot be started at all (no such program) is an `AgentCrash`.
        """

    @abstractmethod
    def replay(self, work: ReplayWork) -> AbstractContextManager[Simulation]:
        """Start a simulator alone; leaving the block stops it and leaves nothing behind."""

    @abstractmethod
    def sweep(self, is_active: Callable[[str], bool]) -> int:
        """Remove what dead workers left: everything of runs that are not active any more; how many runs.

        List first and ask then: a run is active before anything of it is started. Also drops images and
        weights that were not used for long, when the disk gets full.
        """
