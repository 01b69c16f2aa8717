"""One pair from its start to its end: the lines that it brings home, and why it ended."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from typing import NamedTuple

import msgspec

from nav_eval.agents.failures import FAILURES, AgentFailure, InfrastructureFailure
from nav_eval.causes import Cause
from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.shard_protocol import Beat, Ended, Message, Played, Ready
from nav_eval_store.using import Used
from nav_eval_worker.holding import Hold, Reason
from nav_eval_worker.jobs.briefing import Brief
from nav_eval_worker.jobs.images import image_of, weights_of
from nav_eval_worker.runtime.base import Pair, ShardWork
from nav_eval_worker.workshop import Workshop, run_folder

log = logging.getLogger(__name__)

MOST_WORDS = 1 << 20

_LOST_TOUCH = frozenset({Cause.AGENT_CRASH, Cause.AGENT_START_TIMEOUT, Cause.AGENT_TIMEOUT})
"""What a simulator says of an agent that is gone; the one who started the agent knows better why."""


@contextmanager
def playing(
    shop: Workshop, hold: Hold, brief: Brief, *, benchmark: BenchmarkConfig, episode_ids: Sequence[str]
) -> Iterator["Play"]:
    """A pair at work; nothing is left of it when the block ends."""
    with run_folder(shop, hold.lease.id) as folder:
        work = ShardWork(
            run=str(hold.lease.id),
            worker=shop.settings.name,
            image=image_of(shop, brief),
            weights=weights_of(shop, brief),
            baseline=brief.agent,
            benchmark=benchmark,
            episode_ids=tuple(episode_ids),
            run_seed=brief.run_seed(benchmark),
            limits=brief.phase.limits,
            folder=folder,
        )
        hold.check()
        with shop.runtime.run(work) as pair, hold.guarding(pair.stop, measure=lambda: used_by(pair)):
            yield Play(pair, hold)


def used_by(pair: Pair) -> Used:
    """What the agent has used so far, in the store's words."""
    usage = pair.usage()
    return Used(usage.cpu_seconds, usage.memory_bytes)


class Finished(NamedTuple):
    """An episode that has ended."""

    line: bytes
    """Of episodes.jsonl."""
    words: bytes
    """What the agent printed meanwhile."""


class Play:
    """A pair that is being listened to."""

    def __init__(self, pair: Pair, hold: Hold) -> None:
        self.pair = pair
        self.ready: Ready | None = None
        self.words = b""
        """All that the agent printed, as far as it was heard."""
        self.last_words = b""
        """What it printed after its last episode was told."""
        self.failure: AgentFailure | None = None
        """Why it ended, once `episodes` has; None if everything was played."""
        self._hold = hold

    def episodes(self) -> Iterator[Finished | None]:
        """Each episode as it ends; None is a sign of life. `LeaseLost` when it is not ours any more."""
        ended: Ended | None = None
        for message, words in self._heard():
            self.words = (self.words + words)[:MOST_WORDS]
            match message:
                case Ended():
                    ended, self.last_words = message, words
                case Played(line=line):
                    yield Finished(self._with_true_cause(bytes(line)), words)
                case _:
                    self._greet(message)
                    yield None
            if self.failure is not None:
                return
        self._hold.check()
        self.failure = self._failure(ended)

    def _heard(self) -> Iterator[tuple[Message, bytes]]:
        """Messages with what the agent printed up to them.

        A thread takes them as they come, however long it takes to write down the one before: neither does
        the simulator wait for a database, nor is it thought silent because we were busy.
        """
        inbox: SimpleQueue[tuple[Message, bytes] | Exception | None] = SimpleQueue()

        def listen() -> None:
            try:
                for message in self.pair.messages():
                    self._hold.heard()
                    inbox.put((message, b"" if isinstance(message, Beat) else self.pair.take_log()))
                inbox.put(None)
            except Exception as error:  # noqa: BLE001 - raised again where it can be answered
                inbox.put(error)

        threading.Thread(target=listen, name="simulator", daemon=True).start()
        while (item := inbox.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item

    def _greet(self, message: Message) -> None:
        """An agent that dies before it ever answered is not waited for."""
        if isinstance(message, Ready):
            self.ready = message
        elif isinstance(message, Beat) and self.ready is None and (end := self.pair.agent_end()) is not None:
            self.failure = FAILURES[end.cause](end.detail)

    def _failure(self, ended: Ended | None) -> AgentFailure | None:
        if ended is not None and ended.cause is None:
            return None
        if ended is None or ended.cause is None or ended.cause.is_ours:
            return self._ours(ended)
        end = self.pair.agent_end() if ended.cause in _LOST_TOUCH else None
        return FAILURES[ended.cause](ended.detail) if end is None else FAILURES[end.cause](end.detail)

    def _ours(self, ended: Ended | None) -> InfrastructureFailure:
        """The details are for our log: they may name files of the test set."""
        what = "ended without a word" if ended is None else "failed"
        if self._hold.reason is Reason.SILENT:
            what = "hung"
        said = self.pair.simulator_log().decode(errors="replace")
        log.error("The simulator of lease %s %s: %s\n%s", self._hold.lease.id, what, ended and ended.detail, said)
        return InfrastructureFailure(f"the simulator {what} (lease {self._hold.lease.id})")

    def _with_true_cause(self, line: bytes) -> bytes:
        """To the simulator an agent that was ended for its memory has just hung up."""
        if msgspec.json.decode(line, type=_Verdict).cause != Cause.AGENT_CRASH:
            return line
        end = self.pair.agent_end()
        if end is None:
            return line
        if end.cause.is_ours:  # then the episode is played again
            raise FAILURES[end.cause](end.detail)
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        fields["cause"] = msgspec.Raw(msgspec.json.encode(end.cause))
        fields["detail"] = msgspec.Raw(msgspec.json.encode(end.detail))
        return msgspec.json.encode(fields)


class _Verdict(msgspec.Struct):
    cause: str | None = None
