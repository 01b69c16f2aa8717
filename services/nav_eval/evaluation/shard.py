"""The simulator's process: plays the episodes of one order against one agent and tells each result at once.

    python -m nav_eval.evaluation.shard ORDER.json     (or - for standard input)

Every runtime starts this same program, in a container or not. It knows no database, no queue and no
secret: what it is given is the order, what it gives back are messages on standard output
(`shard_protocol`). Private parts of the episodes stay here; agents get `PublicEpisode`s.

An agent that is gone or hangs ends the program, because whoever started the agent may start it again; what
was in hand is told as the agent's failure first.
"""

import os
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import msgspec

from nav_eval.agents.client import AgentClient, AgentHealth, ClientSettings
from nav_eval.agents.failures import ProtocolError
from nav_eval.agents.messages import AgentDescription
from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.loader import TaskDataset
from nav_eval.evaluation.episodes import EpisodeManager, load_episodes
from nav_eval.evaluation.executor import make_aliases, make_client_settings, open_agent
from nav_eval.evaluation.run_folder import make_manifest
from nav_eval.evaluation.runner import ConcurrentExecutor
from nav_eval.evaluation.shard_protocol import (
    LONGEST_MESSAGE,
    BadOrder,
    Ended,
    MessageWriter,
    Played,
    Ready,
    ShardOrder,
    read_order,
)
from nav_eval.evaluation.task_interface import make_task_interface
from nav_eval.records.results import UNSCORED, Cause, EpisodeResult, EpisodeStatus, encode_result
from nav_eval.simulator.base import SimulatorSetup

LONGEST_LINE = LONGEST_MESSAGE - 4096
"""Bytes of a result, so that the message around it is read."""
_MAYBE_GONE = frozenset({Cause.AGENT_CRASH, Cause.AGENT_OOM})
"""Failures after which the agent's process may have ended; or it was an error in the agent's code, and it goes on."""


class Shard:
    """The episodes of one order."""

    def __init__(self, order: ShardOrder, benchmark: BenchmarkConfig, writer: MessageWriter) -> None:
        self._order, self._benchmark, self._writer = order, benchmark, writer
        self._began = time.monotonic()
        self._instructions: dict[str, str] = {}
        self._failed: EpisodeResult | None = None  # by our fault, as often as we may try
        self._gone: EpisodeResult | None = None  # its episode was the agent's last

    def play(self, leaving: ExitStack) -> Ended:
        """Play all; says how it ended. The agent is left with the stack: what came of it is told before."""
        episodes = load_episodes(self._benchmark)
        mine = self._chosen(episodes)
        self._instructions = {each.episode_id: each.instruction.text for each in mine if each.instruction is not None}
        client = leaving.enter_context(open_agent(self._order.agent, self._benchmark, episodes, self._settings()))
        description = client.describe(make_task_interface(self._benchmark))
        if self._order.rig not in (None, description.rig):
            raise ProtocolError(
                f"Describe chose the rig {self._order.rig!r} when the agent was tried, and {description.rig!r} now; "
                "a submission has one rig."
            )
        aliases = make_aliases(client, self._order.episode_seed)
        executor = ConcurrentExecutor(self._setup(), client, description, aliases=aliases)
        self._writer.write(self._ready(description, episodes, at_once=executor.at_once))
        self._play(executor, client, EpisodeManager(mine))
        last = self._gone or self._failed
        return Ended() if last is None else Ended(cause=Cause(str(last.cause)), detail=last.detail or "")

    def _play(self, executor: ConcurrentExecutor, client: AgentClient, manager: EpisodeManager) -> None:
        def next_episode() -> Episode | None:
            return None if self._gone is not None else manager.take(wait=True)

        def emit(result: EpisodeResult) -> None:
            if manager.finish(result):
                self._tell(result, client)

        executor.play(next_episode, emit)

    def _tell(self, result: EpisodeResult, client: AgentClient) -> None:
        """A result is told; a failure of ours is none, and the episode is left to somebody else."""
        if result.cause in UNSCORED:
            self._failed = self._failed or result
            return
        told = self._instructions.get(
            result.episode_id
        )  # the hub knows who may read it; files at home state its length
        result = msgspec.structs.replace(result, instruction=told)
        self._writer.write(Played(line=msgspec.Raw(_encode_bounded(result))))
        if self._is_gone(result, client):
            self._gone = self._gone or result

    @staticmethod
    def _is_gone(result: EpisodeResult, client: AgentClient) -> bool:
        """Whether the agent cannot be asked to play the next episode; one that did not answer may never answer."""
        if result.cause == Cause.AGENT_TIMEOUT:
            return True
        return result.cause in _MAYBE_GONE and client.health_check() is AgentHealth.UNREACHABLE

    def _ready(self, description: AgentDescription, episodes: TaskDataset, *, at_once: int) -> Ready:
        about = description.to_record()
        manifest = make_manifest(self._benchmark, episodes, agent=about, run_seed=self._order.run_seed)
        seconds = time.monotonic() - self._began
        return Ready(agent=about, at_once=at_once, seconds=seconds, digests=manifest.digests)

    def _chosen(self, episodes: TaskDataset) -> list[Episode]:
        known = set(episodes.episode_ids)
        for wanted in self._order.episode_ids:
            if wanted not in known:
                raise BadOrder(f"The episode {wanted!r} is not in the benchmark {self._benchmark.name!r}.")
        return [episodes.by_id(wanted) for wanted in self._order.episode_ids]

    def _setup(self) -> SimulatorSetup:
        return SimulatorSetup(benchmark=self._benchmark, cache=Path(self._order.cache), run_seed=self._order.run_seed)

    def _settings(self) -> ClientSettings:
        settings, time_limits = make_client_settings(self._benchmark), self._order.time_limits
        directory = self._order.shared_memory_dir
        return replace(
            settings,
            connect_timeout=time_limits.start or settings.connect_timeout,
            action_timeout=time_limits.step or settings.action_timeout,
            episode_timeout=time_limits.episode or settings.episode_timeout,
            shared_memory_dir=None if directory is None else Path(directory),
        )


def _encode_bounded(result: EpisodeResult) -> bytes:
    """A line of the result. One that nobody would read is the agent's doing: it ends as its protocol error."""
    line = encode_result(result)
    if len(line) <= LONGEST_LINE:
        return line
    refused = msgspec.structs.replace(
        result,
        status=EpisodeStatus.FAILED,
        cause=Cause.PROTOCOL_ERROR,
        detail=f"The agent's replies make a result of {len(line):,} bytes; at most {LONGEST_LINE:,} are kept.",
        metrics={},
        num_steps=0,
        subtasks=(),
        actions=(),
        trajectory=None,
        action_digest=None,
        randomization=None,
        groups={},
    )
    return encode_result(refused)


def run(data: bytes, writer: MessageWriter) -> int:
    """Carry out an order; the program's exit code."""
    with ExitStack() as leaving:
        return writer.run(lambda: Shard(*read_order(data), writer).play(leaving))


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m nav_eval.evaluation.shard ORDER.json|-\n")
        return 2
    writer = MessageWriter.on_stdout()
    data = sys.stdin.buffer.read() if arguments[0] == "-" else Path(arguments[0]).read_bytes()
    return run(data, writer)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # threads of a channel whose peer reads nothing would keep the interpreter from ending
