"""Play the episodes of a shard, and write down each one the moment it ends.

An agent that dies is started again for the next episode: its fault costs the episode, not the run. One
that dies again and again without finishing anything is given up, and the rest of the shard counts as failed.
"""

import time
from typing import Any

import msgspec

from nav_eval.agents.failures import EpisodeFailure
from nav_eval.config import BenchmarkConfig
from nav_eval_store import blob_keys
from nav_eval_store.work import jobs
from nav_eval_worker.context import WorkerContext
from nav_eval_worker.jobs.agent_session import AgentSession, FinishedEpisode, measure_usage, open_session
from nav_eval_worker.jobs.submission import SubmissionDetails, load_details, open_benchmark
from nav_eval_worker.lease_keeper import JobReturned, LeaseKeeper

MOST_UNANSWERED_STARTS = 3
"""Starts in a row after which the agent never answered, until it is given up."""
MOST_FRUITLESS_STARTS = 10
"""Starts in a row that bring no completed episode, until it is given up."""
USAGE = "usage"


def run_shard(context: WorkerContext, keeper: LeaseKeeper) -> None:
    """All episodes have a result afterwards; `EpisodeFailure` says why the rest has none."""
    details = load_details(context, keeper.lease.submission_id)
    benchmark = open_benchmark(context, details)
    fruitless = unanswered = 0
    while left := context.transact(lambda session: jobs.list_unfinished_episodes(session, keeper.lease.job_id)):
        attempt = _ShardAttempt(context, keeper, details)
        failure = attempt.play(benchmark, left)
        if failure is None:
            break
        fruitless = 0 if attempt.completed else fruitless + 1
        unanswered = 0 if attempt.answered else unanswered + 1
        if failure.cause.is_ours or fruitless == MOST_FRUITLESS_STARTS or unanswered == MOST_UNANSWERED_STARTS:
            raise failure
    context.transact(lambda session: jobs.finish_shard(session, keeper.lease))


class _ShardAttempt:
    """One pair, as long as it lasts."""

    def __init__(self, context: WorkerContext, keeper: LeaseKeeper, details: SubmissionDetails) -> None:
        self._context, self._keeper, self._details = context, keeper, details
        self.answered = False  #: the agent was ready to play
        self.completed = 0  #: episodes that came to their end
        self._last: tuple[str, bytes] | None = None  # the newest episode and its log

    def play(self, benchmark: BenchmarkConfig, episode_ids: list[str]) -> EpisodeFailure | None:
        """Why it ended; None when everything was played."""
        began = time.monotonic()
        try:
            with open_session(
                self._context, self._keeper, self._details, benchmark=benchmark, episode_ids=episode_ids
            ) as session:
                self._listen(session)
        except EpisodeFailure as failure:  # it could not even be started
            return failure
        self._keep_usage(session, time.monotonic() - began)
        return session.failure

    def _listen(self, session: AgentSession) -> None:
        for finished in session.episodes():
            self.answered = session.ready is not None
            if finished is not None:
                self._record(finished)
                self._stop_if_asked()
        output = session.trailing_output + session.pair.take_log()
        if session.failure is not None and session.ready is None:  # how it starts otherwise, the canary has shown
            self._context.blobs.put(blob_keys.make_agent_log_key(self._details.submission_id), output)
        elif output and self._last is not None:  # printed in its last episode, but read a moment late
            self._context.blobs.put(
                blob_keys.make_episode_log_key(self._details.submission_id, self._last[0]), self._last[1] + output
            )

    def _record(self, finished: FinishedEpisode) -> None:
        """Blobs first: a row that names one can be trusted."""
        line, output = finished
        submission, episode = self._details.submission_id, line.outcome.episode_id
        replay = self._context.blobs.put(blob_keys.make_replay_key(submission, episode), line.to_bytes())
        if output:
            self._context.blobs.put(blob_keys.make_episode_log_key(submission, episode), output)
        self._context.transact(
            lambda session: jobs.record_episode(session, self._keeper.lease, line, replay_key=replay.key)
        )
        self.completed += line.cause is None
        self._last = episode, output

    def _stop_if_asked(self) -> None:
        if self._context.stopping.is_set():
            raise JobReturned

    def _keep_usage(self, session: AgentSession, seconds: float) -> None:
        used = measure_usage(session.pair)
        notes: dict[str, Any] = {"seconds": round(seconds, 3), **used._asdict()}
        lease = self._keeper.lease
        key = blob_keys.make_artifact_key(self._details.submission_id, USAGE, f"{lease.id}-{time.monotonic_ns()}.json")
        self._context.blobs.put(key, msgspec.json.encode(notes))
        self._keeper.add_usage(used)
