"""The first verdict: start the agent, let it answer, play the beginning of one episode; then plan the shards.

The episode is the first in the order drawn for the submission, cut short, and its result is thrown away. What the team
gets to know is whether the agent runs here and how fast it is. An agent that is slow but alive passes: the verdict must
not take longer than a minute.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from nav_eval.agents.failures import FAILURES
from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.loader import TaskDataset
from nav_eval.evaluation.aliases import draw_order
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.records.results import Cause, ResultLine
from nav_eval_store import blob_keys
from nav_eval_store.work import fairness, jobs
from nav_eval_worker.context import WorkerContext
from nav_eval_worker.jobs.agent_session import AgentSession, open_session
from nav_eval_worker.jobs.submission import SubmissionDetails, load_details, open_benchmark
from nav_eval_worker.lease_keeper import LeaseKeeper

STEPS = 30
"""Actions of the canary's episode."""
SECONDS = 40.0
"""After which an agent that still plays has shown enough."""
LONGEST_SHARD = 600.0
"""Seconds that a shard should take at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CanaryVerdict:
    """How the trial went."""

    agent: dict[str, str]  #: as it describes itself
    at_once: int  #: episodes that it plays at the same time
    start_seconds: float  #: until it had answered
    episode_seconds: float  #: of playing
    steps: int | None  #: actions in that time; None when it was not waited for

    @property
    def seconds_per_step(self) -> float | None:
        return self.episode_seconds / self.steps if self.steps else None

    def document(self) -> dict[str, Any]:
        return {
            "agent": self.agent,
            "at_once": self.at_once,
            "start_seconds": round(self.start_seconds, 2),
            "episode_seconds": round(self.episode_seconds, 2),
            "steps": self.steps,
            "seconds": round(self.start_seconds + self.episode_seconds, 2),
        }


def run_canary(context: WorkerContext, keeper: LeaseKeeper) -> None:
    """Try the agent; `EpisodeFailure` says what is wrong with it."""
    details = load_details(context, keeper.lease.submission_id)
    benchmark = open_benchmark(context, details)
    episodes = load_episodes(benchmark)
    order = _choose_order(details, benchmark, episodes)
    verdict = _try_agent(context, keeper, details, benchmark=benchmark, episode=order[0])
    shards = _choose_shards(context, details, benchmark, order, verdict)
    scenes = {episode.episode_id: episode.scene_id for episode in episodes}
    context.transact(
        lambda session: jobs.finish_canary(session, keeper.lease, shards, scenes=scenes, verdict=verdict.document())
    )


def _choose_order(details: SubmissionDetails, benchmark: BenchmarkConfig, episodes: TaskDataset) -> Sequence[str]:
    """Drawn for this submission, so that no agent can tell an episode by its place."""
    if details.episode_seed is None:  # validated by an older version
        return episodes.episode_ids
    return draw_order(list(episodes), details.episode_seed, benchmark.evaluation)


def _try_agent(
    context: WorkerContext, keeper: LeaseKeeper, details: SubmissionDetails, *, benchmark: BenchmarkConfig, episode: str
) -> CanaryVerdict:
    began = time.monotonic()
    shorter = shorten_benchmark(benchmark)
    with open_session(context, keeper, details, benchmark=shorter, episode_ids=[episode]) as session:
        try:
            return _listen(session, began, timeout=_compute_timeout(details, benchmark))
        finally:
            if output := session.output + session.pair.take_log():
                context.blobs.put(blob_keys.make_agent_log_key(details.submission_id), output)


def _compute_timeout(details: SubmissionDetails, benchmark: BenchmarkConfig) -> float:
    """One answer may take as long as the phase allows; more than that is not waited for."""
    return max(SECONDS, (details.phase.limits.step_seconds or benchmark.evaluation.step_timeout) + 5.0)


def _listen(session: AgentSession, began: float, *, timeout: float) -> CanaryVerdict:
    line: ResultLine | None = None
    ready_at = ended_at = 0.0
    for finished in session.episodes():
        now = time.monotonic()
        if session.ready is not None and not ready_at:
            ready_at = now
        if finished is not None:
            line, ended_at = finished.line, now
        elif ready_at and line is None and now - ready_at > timeout:
            break
    if line is not None and line.cause is not None:
        raise FAILURES[line.cause](line.outcome.detail)
    if session.failure is not None:
        raise session.failure
    if session.ready is None:
        raise FAILURES[Cause.INFRASTRUCTURE]("the simulator ended before the agent was ready")
    return CanaryVerdict(
        agent=session.ready.agent,
        at_once=session.ready.at_once,
        start_seconds=ready_at - began,
        episode_seconds=(ended_at or time.monotonic()) - ready_at,
        steps=None if line is None else line.outcome.num_steps,
    )


def shorten_benchmark(benchmark: BenchmarkConfig) -> BenchmarkConfig:
    """The same rules, over sooner."""
    evaluation = benchmark.evaluation
    shorter = evaluation.model_copy(update={"max_steps": min(evaluation.max_steps, STEPS)})
    return benchmark.model_copy(update={"evaluation": shorter})


def _choose_shards(
    context: WorkerContext,
    details: SubmissionDetails,
    benchmark: BenchmarkConfig,
    order: Sequence[str],
    verdict: CanaryVerdict,
) -> list[list[str]]:
    """As many as the phase wants, or more where experience (or else the trial) says that they would last."""
    seconds = context.transact(lambda session: fairness.measure_seconds_per_episode(session, details.phase_id))
    if seconds is None and verdict.seconds_per_step is not None:
        seconds = verdict.seconds_per_step * benchmark.evaluation.max_steps / 2 / verdict.at_once
    return plan_shards(order, at_least=details.phase.shards, seconds_per_episode=seconds)


def plan_shards(episode_ids: Sequence[str], *, at_least: int, seconds_per_episode: float | None) -> list[list[str]]:
    """How the episodes of a submission are cut into shards.

    A shard is what a team can lose to a restart and what a newcomer may have to wait for, so it should not last
    long; but each one starts the agent anew, so it should not be tiny either. Neighbours stay together (they share a
    scene); sizes differ by one at most.
    """
    expected = len(episode_ids) * (seconds_per_episode or 0.0)
    wanted = max(at_least, -int(-expected // LONGEST_SHARD))
    count = max(1, min(wanted, len(episode_ids)))
    size, rest = divmod(len(episode_ids), count)
    edges = [index * size + min(index, rest) for index in range(count + 1)]
    return [list(episode_ids[first:last]) for first, last in pairwise(edges)]
