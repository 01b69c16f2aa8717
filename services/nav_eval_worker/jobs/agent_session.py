"""An agent and a simulator from their start to their end: the episodes that they bring home, and why they ended."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from nav_eval.agents.failures import FAILURES, EpisodeFailure, InfrastructureFailure
from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.shard_protocol import Beat, Ended, Message, Played, Ready
from nav_eval.records.results import Cause, ResultLine
from nav_eval_store.work.usage import AgentUsage
from nav_eval_worker.context import WorkerContext, make_run_folder
from nav_eval_worker.jobs.inbox import Inbox
from nav_eval_worker.jobs.submission import SubmissionDetails
from nav_eval_worker.jobs.validation import find_image, find_weights
from nav_eval_worker.lease_keeper import EndReason, LeaseKeeper
from nav_eval_worker.runtime.base import Pair, ShardWork

log = logging.getLogger(__name__)

LONGEST_OUTPUT = 1 << 20
END_SECONDS = 3.0
"""From an agent's last word to the end of its container: a sandbox's kernel, which ends with it, takes its time."""

_LOST_TOUCH = frozenset({Cause.AGENT_CRASH, Cause.AGENT_START_TIMEOUT, Cause.AGENT_TIMEOUT})
"""What a simulator says of an agent that is gone; the one who started the agent knows better why."""


@contextmanager
def open_session(
    context: WorkerContext,
    keeper: LeaseKeeper,
    details: SubmissionDetails,
    *,
    benchmark: BenchmarkConfig,
    episode_ids: Sequence[str],
) -> Iterator["AgentSession"]:
    """A pair at work; nothing is left of it when the block ends."""
    with make_run_folder(context, keeper.lease.id) as folder:
        work = ShardWork(
            run=str(keeper.lease.id),
            worker=context.settings.name,
            image=find_image(context, details),
            weights=find_weights(context, details),
            baseline=details.agent,
            benchmark=benchmark,
            episode_ids=tuple(episode_ids),
            run_seed=details.run_seed(benchmark),
            episode_seed=details.episode_seed,
            rig=details.canary.get("agent", {}).get("rig"),
            limits=details.phase.limits,
            folder=folder,
        )
        keeper.check()
        with context.runtime.run(work) as pair, keeper.watch(pair.stop, measure=lambda: measure_usage(pair)):
            session = AgentSession(pair, keeper)
            try:
                yield session
            finally:
                session.close()


def measure_usage(pair: Pair) -> AgentUsage:
    """What the agent has used so far, in the store's terms."""
    usage = pair.usage()
    return AgentUsage(usage.cpu_seconds, usage.memory_bytes)


class FinishedEpisode(NamedTuple):
    """An episode that has ended."""

    line: ResultLine
    """Of episodes.jsonl, decoded here and nowhere after."""
    output: bytes
    """What the agent printed meanwhile."""


class AgentSession:
    """A pair that is being listened to."""

    def __init__(self, pair: Pair, keeper: LeaseKeeper) -> None:
        self.pair = pair
        self.ready: Ready | None = None
        self.output = b""
        """All that the agent printed, as far as it was heard."""
        self.trailing_output = b""
        """What it printed after its last episode was told."""
        self.failure: EpisodeFailure | None = None
        """Why it ended, once `episodes` has; None if everything was played."""
        self._keeper = keeper
        self._inbox: Inbox[tuple[Message, bytes] | Exception] = Inbox()

    def episodes(self) -> Iterator[FinishedEpisode | None]:
        """Each episode as it ends; None is a sign of life. `LeaseLost` when it is not ours any more."""
        ended: Ended | None = None
        for message, output in self._receive():
            self.output = (self.output + output)[:LONGEST_OUTPUT]
            match message:
                case Ended():
                    ended, self.trailing_output = message, output
                case Played(line=line):
                    yield FinishedEpisode(self._correct_cause(ResultLine.from_bytes(bytes(line))), output)
                case _:
                    self._greet(message)
                    yield None
            if self.failure is not None:
                return
        self._keeper.check()
        self.failure = self._find_failure(ended)

    def _receive(self) -> Iterator[tuple[Message, bytes]]:
        """Messages with what the agent printed up to them.

        A thread takes them as they come, however long it takes to write down the one before: neither does
        the simulator wait for a database, nor is it thought silent because we were busy. One that says more than
        can be kept has to wait all the same.
        """
        threading.Thread(target=self._listen, name="simulator", daemon=True).start()
        for item in self._inbox:
            if isinstance(item, Exception):
                raise item
            yield item

    def _listen(self) -> None:
        heard = self._keeper.record_activity
        try:
            for message in self.pair.messages():
                heard()
                output = b"" if isinstance(message, Beat) else self.pair.take_log(whole_lines=True)
                size = len(msgspec.json.encode(message)) + len(output)
                if not self._inbox.put((message, output), size=size, while_waiting=heard):
                    return
        except Exception as error:  # noqa: BLE001 - raised again where it can be answered
            self._inbox.put(error, size=0)
        finally:
            self._inbox.close()

    def close(self) -> None:
        """Nobody listens any more: who waits to be heard waits no longer."""
        self._inbox.close()

    def _greet(self, message: Message) -> None:
        """An agent that dies before it ever answered is not waited for."""
        if isinstance(message, Ready):
            self.ready = message
        elif isinstance(message, Beat) and self.ready is None and (end := self.pair.agent_end()) is not None:
            self.failure = FAILURES[end.cause](end.detail)

    def _find_failure(self, ended: Ended | None) -> EpisodeFailure | None:
        if ended is not None and ended.cause is None:
            return None
        if ended is None or ended.cause is None or ended.cause.is_ours:
            sabotage = self.pair.find_sabotage("" if ended is None else ended.detail)
            return self._report_our_failure(ended) if sabotage is None else FAILURES[sabotage.cause](sabotage.detail)
        end = self.pair.agent_end(patience=END_SECONDS) if ended.cause in _LOST_TOUCH else None
        return FAILURES[ended.cause](ended.detail) if end is None else FAILURES[end.cause](end.detail)

    def _report_our_failure(self, ended: Ended | None) -> InfrastructureFailure:
        """The details are for our log: they may name files of the test set."""
        what = "ended without a word" if ended is None else "failed"
        if self._keeper.reason is EndReason.SILENT:
            what = "hung"
        said = self.pair.simulator_log().decode(errors="replace")
        log.error("The simulator of lease %s %s: %s\n%s", self._keeper.lease.id, what, ended and ended.detail, said)
        return InfrastructureFailure(f"the simulator {what} (lease {self._keeper.lease.id})")

    def _correct_cause(self, line: ResultLine) -> ResultLine:
        """To the simulator an agent that was ended for its memory has just hung up."""
        if line.cause is not Cause.AGENT_CRASH:
            return line
        end = self.pair.agent_end(patience=END_SECONDS)
        if end is None:
            return line
        if end.cause.is_ours:  # then the episode is played again
            raise FAILURES[end.cause](end.detail)
        return line.with_cause(end.cause, end.detail)
