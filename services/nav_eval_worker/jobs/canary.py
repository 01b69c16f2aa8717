"""The first verdict: start the agent, let it answer, play the beginning of one episode; then plan the rest.

The episode is the first of the benchmark, cut short, and its result is thrown away. What the team gets to
know is whether the agent runs here and how fast it is. An agent that is slow but alive passes: the
verdict must not take longer than a minute.
"""

import time
from dataclasses import dataclass
from typing import Any

import msgspec

from nav_eval.agents.failures import FAILURES
from nav_eval.causes import Cause
from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.dataset import TaskDataset
from nav_eval.evaluation.episodes import load_episodes
from nav_eval_store import places, queueing, work
from nav_eval_store.tally import Outcome
from nav_eval_worker.holding import Hold
from nav_eval_worker.jobs.briefing import Brief, benchmark_of, brief_for
from nav_eval_worker.jobs.playing import Play, playing
from nav_eval_worker.planning import plan
from nav_eval_worker.workshop import Workshop

STEPS = 30
"""Actions of the canary's episode."""
SECONDS = 40.0
"""After which an agent that still plays has shown enough."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
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


def canary(shop: Workshop, hold: Hold) -> None:
    """Try the agent; `AgentFailure` says what is wrong with it."""
    brief = brief_for(shop, hold.lease.submission_id)
    benchmark = benchmark_of(shop, brief)
    episodes = load_episodes(benchmark)
    verdict = _try(shop, hold, brief, benchmark=benchmark, episode=episodes.episode_ids[0])
    shards = _shards(shop, brief, benchmark, episodes, verdict)
    scenes = {episode.episode_id: episode.scene_id for episode in episodes}
    shop.insist(
        lambda session: work.finish_canary(session, hold.lease, shards, scenes=scenes, verdict=verdict.document())
    )


def _try(shop: Workshop, hold: Hold, brief: Brief, *, benchmark: BenchmarkConfig, episode: str) -> Verdict:
    began = time.monotonic()
    with playing(shop, hold, brief, benchmark=shortened(benchmark), episode_ids=[episode]) as play:
        try:
            return _listen(play, began, patience=_patience(brief, benchmark))
        finally:
            if words := play.words + play.pair.take_log():
                shop.blobs.put(places.agent_log(brief.submission_id), words)


def _patience(brief: Brief, benchmark: BenchmarkConfig) -> float:
    """One answer may take as long as the phase allows; more than that is not waited for."""
    return max(SECONDS, (brief.phase.limits.step_seconds or benchmark.evaluation.step_timeout) + 5.0)


def _listen(play: Play, began: float, *, patience: float) -> Verdict:
    outcome: Outcome | None = None
    ready_at = ended_at = 0.0
    for finished in play.episodes():
        now = time.monotonic()
        if play.ready is not None and not ready_at:
            ready_at = now
        if finished is not None:
            outcome, ended_at = msgspec.json.decode(finished.line, type=Outcome), now
        elif ready_at and outcome is None and now - ready_at > patience:
            break
    if outcome is not None and outcome.cause is not None:
        raise FAILURES[outcome.cause](outcome.detail)
    if play.failure is not None:
        raise play.failure
    if play.ready is None:
        raise FAILURES[Cause.INFRASTRUCTURE]("the simulator ended before the agent was ready")
    return Verdict(
        agent=play.ready.agent,
        at_once=play.ready.at_once,
        start_seconds=ready_at - began,
        episode_seconds=(ended_at or time.monotonic()) - ready_at,
        steps=None if outcome is None else outcome.num_steps,
    )


def shortened(benchmark: BenchmarkConfig) -> BenchmarkConfig:
    """The same rules, over sooner."""
    evaluation = benchmark.evaluation
    shorter = evaluation.model_copy(update={"max_steps": min(evaluation.max_steps, STEPS)})
    return benchmark.model_copy(update={"evaluation": shorter})


def _shards(
    shop: Workshop, brief: Brief, benchmark: BenchmarkConfig, episodes: TaskDataset, verdict: Verdict
) -> list[list[str]]:
    """As many as the phase wants, or more where experience (or else the trial) says that they would last."""
    seconds = shop.insist(lambda session: queueing.seconds_per_episode(session, brief.phase_id))
    if seconds is None and verdict.seconds_per_step is not None:
        seconds = verdict.seconds_per_step * benchmark.evaluation.max_steps / 2 / verdict.at_once
    return plan(episodes.episode_ids, at_least=brief.phase.shards, seconds_per_episode=seconds)
