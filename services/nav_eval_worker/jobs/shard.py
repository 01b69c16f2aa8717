"""Play the episodes of a shard, and write down each one the moment it ends.

An agent that dies is started again for the next episode: its fault costs the episode, not the run. One
that dies again and again without finishing anything is given up, and the rest of the shard counts as failed.
"""

import time
from typing import Any

import msgspec

from nav_eval.agents.failures import AgentFailure
from nav_eval.config import BenchmarkConfig
from nav_eval_store import places, work
from nav_eval_store.tally import Outcome
from nav_eval_worker.holding import GivenBack, Hold
from nav_eval_worker.jobs.briefing import Brief, benchmark_of, brief_for
from nav_eval_worker.jobs.playing import Finished, Play, playing, used_by
from nav_eval_worker.workshop import Workshop

FALSE_STARTS = 3
"""Starts in a row after which the agent never answered, until it is given up."""
SETBACKS = 10
"""Starts in a row that bring no completed episode, until it is given up."""
USAGE = "usage"


def run_shard(shop: Workshop, hold: Hold) -> None:
    """All episodes have a result afterwards; `AgentFailure` says why the rest has none."""
    brief = brief_for(shop, hold.lease.submission_id)
    benchmark = benchmark_of(shop, brief)
    setbacks = false_starts = 0
    while left := shop.insist(lambda session: work.unfinished(session, hold.lease.job_id)):
        sitting = _Sitting(shop, hold, brief)
        failure = sitting.play(benchmark, left)
        if failure is None:
            break
        setbacks = 0 if sitting.completed else setbacks + 1
        false_starts = 0 if sitting.answered else false_starts + 1
        if failure.cause.is_ours or setbacks == SETBACKS or false_starts == FALSE_STARTS:
            raise failure
    shop.insist(lambda session: work.finish_shard(session, hold.lease))


class _Sitting:
    """One pair, as long as it lasts."""

    def __init__(self, shop: Workshop, hold: Hold, brief: Brief) -> None:
        self._shop, self._hold, self._brief = shop, hold, brief
        self.answered = False  #: the agent was ready to play
        self.completed = 0  #: episodes that came to their end
        self._last: tuple[str, bytes] | None = None  # the newest episode and its log

    def play(self, benchmark: BenchmarkConfig, episode_ids: list[str]) -> AgentFailure | None:
        """Why it ended; None when everything was played."""
        began = time.monotonic()
        try:
            with playing(self._shop, self._hold, self._brief, benchmark=benchmark, episode_ids=episode_ids) as play:
                self._listen(play)
        except AgentFailure as failure:  # it could not even be started
            return failure
        self._keep_usage(play, time.monotonic() - began)
        return play.failure

    def _listen(self, play: Play) -> None:
        for finished in play.episodes():
            self.answered = play.ready is not None
            if finished is not None:
                self._record(finished)
                self._stop_if_asked()
        words = play.last_words + play.pair.take_log()
        if play.failure is not None and play.ready is None:  # how it starts otherwise, the canary has shown
            self._shop.blobs.put(places.agent_log(self._brief.submission_id), words)
        elif words and self._last is not None:  # printed in its last episode, but read a moment late
            self._shop.blobs.put(places.episode_log(self._brief.submission_id, self._last[0]), self._last[1] + words)

    def _record(self, finished: Finished) -> None:
        """Blobs first: a row that names one can be trusted."""
        line, words = finished
        outcome = msgspec.json.decode(line, type=Outcome)
        submission, episode = self._brief.submission_id, outcome.episode_id
        replay = self._shop.blobs.put(places.replay(submission, episode), line)
        if words:
            self._shop.blobs.put(places.episode_log(submission, episode), words)
        self._shop.insist(lambda session: work.record_episode(session, self._hold.lease, line, replay_key=replay.key))
        self.completed += outcome.cause is None
        self._last = episode, words

    def _stop_if_asked(self) -> None:
        if self._shop.stopping.is_set():
            raise GivenBack

    def _keep_usage(self, play: Play, seconds: float) -> None:
        used = used_by(play.pair)
        notes: dict[str, Any] = {"seconds": round(seconds, 3), **used._asdict()}
        lease = self._hold.lease
        key = places.artifact(self._brief.submission_id, USAGE, f"{lease.id}-{time.monotonic_ns()}.json")
        self._shop.blobs.put(key, msgspec.json.encode(notes))
        self._hold.spend(used)
