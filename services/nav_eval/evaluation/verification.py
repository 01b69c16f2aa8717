"""Is a run what it says it is? Every action log is played again, without the agent and without pictures.

A run passes if its configuration and its episodes have the digests it states, if every pose along every
episode comes out bit for bit, and if the metrics, the raw quantities and the report follow from them. The
clock is the one thing that is not compared.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

import nav_eval
from nav_eval.config import BenchmarkConfig, config_digest, rules_digest
from nav_eval.dataset.dataset import TaskDataset
from nav_eval.dataset.episode import Episode
from nav_eval.errors import NavEvalError
from nav_eval.evaluation.action_log import ActionLog, logged, logged_poses, same_place
from nav_eval.evaluation.aggregation import FinalAggregator, is_scored, metric_names
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.report import Counts
from nav_eval.evaluation.results import EpisodeResult
from nav_eval.evaluation.run_folder import Manifest, RunFolder
from nav_eval.evaluation.runs import REPORT_FILE
from nav_eval.evaluation.scoring.board import long_horizon_scores
from nav_eval.jsonl import read_document
from nav_eval.simulator.backends import open_simulator
from nav_eval.simulator.base import Simulator, SimulatorSetup
from nav_eval.tasks import Moved, Progress, Task
from nav_eval.tasks.build import build_task
from nav_eval.tasks.localization import LocalizationProgress

NOT_COMPARED = frozenset({"time"})
"""Metrics of the clock."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One thing that did not come out the same."""

    where: str  #: "run", or an episode
    what: str  #: which quantity
    stated: str
    found: str
    step: int | None = None  #: the first step that differs

    def __str__(self) -> str:
        at = "" if self.step is None else f" at step {self.step}"
        return f"{self.where}{at}: {self.what} is {self.stated}, replayed {self.found}"


@dataclass(kw_only=True, slots=True)
class VerificationReport:
    """What was checked, and what differs."""

    episodes: int = 0
    missing: int = 0  #: episodes of the run that have no result: it was cut off, or somebody left them out
    steps: int = 0
    differences: list[Difference] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        return not self.differences

    def summary(self) -> str:
        if self.equal:
            partial = f" The run is not complete: {self.missing} episodes have no result." if self.missing else ""
            return f"Verified: {self.episodes} episodes, {self.steps} steps, everything is equal.{partial}"
        lines = "\n".join(f"  {difference}" for difference in self.differences)
        return f"NOT verified: {len(self.differences)} differences in {self.episodes} episodes.\n{lines}"


def verify(
    run: Path, *, limit: int | None = None, cache: Path, on_episode: Callable[[str], None] = lambda _: None
) -> VerificationReport:
    """Play a run again and compare."""
    folder = RunFolder(run)
    manifest = folder.manifest()
    report = VerificationReport()
    benchmark = BenchmarkConfig.model_validate(manifest.config)
    episodes = load_episodes(benchmark)
    report.differences += _digest_differences(manifest, benchmark, episodes)
    results = folder.results()
    report.differences += _set_differences(manifest, results)
    report.missing = len(set(manifest.episode_ids) - {result.episode_id for result in results})
    task = build_task(benchmark.task, benchmark.evaluation)
    setup = SimulatorSetup(benchmark=benchmark, cache=cache, pictures=False, run_seed=manifest.run_seed)
    with open_simulator(setup) as simulator:
        for result in results[:limit]:
            if result.episode_id not in episodes.episode_ids:
                continue
            replay = Replay(episodes.by_id(result.episode_id), task, simulator)
            report.differences += replay.compare(result)
            report.episodes, report.steps = report.episodes + 1, report.steps + result.num_steps
            on_episode(result.episode_id)
    if (run / REPORT_FILE).exists():
        report.differences += _report_differences(run / REPORT_FILE, manifest, results)
    return report


class Replay:
    """One episode, played again from its log."""

    def __init__(self, episode: Episode, task: Task, simulator: Simulator) -> None:
        self._episode, self._task, self._simulator = episode, task, simulator

    def compare(self, result: EpisodeResult) -> Iterator[Difference]:
        """What differs between the log's claims and what its actions lead to."""
        if not is_scored(result) or (not result.actions and not result.metrics):
            yield from self._nothing_claimed(result)
            return
        try:
            yield from self._compare(result)
        except NavEvalError as error:
            yield self._difference("replay", "possible", str(error))

    def _nothing_claimed(self, result: EpisodeResult) -> Iterator[Difference]:
        if result.metrics and is_scored(result):
            yield self._difference("metrics", str(result.metrics), "none: there is no action log")

    def _compare(self, result: EpisodeResult) -> Iterator[Difference]:
        self._simulator.reset(self._episode, sensors=())
        progress = self._task.start(self._simulator.episode, self._simulator.ground)
        log = ActionLog(self._episode.episode_id, self._simulator.get_agent_state())
        for step, entry in enumerate(result.actions, start=1):
            if progress.over:
                yield self._difference("episode", "going on", "over already", step=step)
                return
            self._carry_out(entry, progress, log)
            if not self._is_where_it_says(result, log, step):
                stated = result.trajectory[step] if result.trajectory and step < len(result.trajectory) else None
                yield self._difference("position", str(stated), str(log.trajectory[-1]), step=step)
                return
        yield from self._final_differences(result, progress, log)

    def _carry_out(self, entry: Any, progress: Progress, log: ActionLog) -> None:  # noqa: ANN401 - out of a file
        poses = logged_poses(entry)
        if poses is not None and isinstance(progress, LocalizationProgress):
            log.answer(poses)
            progress.answer(positions=[p.position for p in poses], rotations=[p.rotation for p in poses])
            return
        action, arguments = logged(entry)
        state = self._simulator.act(action, arguments)
        log.append(action, arguments, state)
        progress.advance(Moved(action=action, position=state.position, collided=state.collided))

    @staticmethod
    def _is_where_it_says(result: EpisodeResult, log: ActionLog, step: int) -> bool:
        """Compared step by step where the trajectory was kept; the digest covers the rest."""
        if result.trajectory is None or logged_poses(result.actions[step - 1]) is not None:
            return True
        return step < len(result.trajectory) and same_place(result.trajectory[step], log.trajectory[-1])

    def _final_differences(self, result: EpisodeResult, progress: Progress, log: ActionLog) -> Iterator[Difference]:
        worth = progress.result()
        if result.action_digest != log.digest:
            yield self._difference("action digest", str(result.action_digest), log.digest)
        if result.num_steps != worth.steps:
            yield self._difference("num_steps", str(result.num_steps), str(worth.steps))
        for name, value in worth.metrics.items():
            if name not in NOT_COMPARED and result.metrics.get(name) != value:
                yield self._difference(name, str(result.metrics.get(name)), str(value))
        if _plain(result.subtasks) != _plain(worth.subtasks):
            yield self._difference("subtasks", str(_plain(result.subtasks)), str(_plain(worth.subtasks)))
        drawn = self._simulator.randomization
        if _plain(result.randomization) != _plain(drawn):
            yield self._difference("randomization", str(result.randomization), str(drawn))
        if result.cause is None and not progress.over:
            yield self._difference("status", result.status, "not over after the last action")

    def _difference(self, what: str, stated: str, found: str, *, step: int | None = None) -> Difference:
        return Difference(
            where=f"episode {self._episode.episode_id!r}", what=what, stated=stated, found=found, step=step
        )


def _plain(value: object) -> Any:  # noqa: ANN401
    """As it would stand in a file: what is not a number is null."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _digest_differences(manifest: Manifest, benchmark: BenchmarkConfig, episodes: TaskDataset) -> Iterator[Difference]:
    found = {
        "config": config_digest(benchmark),
        "rules": rules_digest(benchmark),
        "episodes": f"sha256:{episodes.digest}",
    }
    for name, digest in found.items():
        stated = manifest.digests.get(name, "missing")
        if stated != digest:
            yield Difference(where="run", what=f"digest of {name}", stated=stated, found=digest)
    if manifest.engine_version != nav_eval.__version__:
        yield Difference(where="run", what="engine version", stated=manifest.engine_version, found=nav_eval.__version__)


def _set_differences(manifest: Manifest, results: list[EpisodeResult]) -> Iterator[Difference]:
    played = [result.episode_id for result in results]
    for name in sorted(set(played) - set(manifest.episode_ids)):
        yield Difference(where=f"episode {name!r}", what="part of the run", stated="yes", found="no such episode")
    for name in sorted({name for name in played if played.count(name) > 1}):
        yield Difference(where=f"episode {name!r}", what="lines", stated=str(played.count(name)), found="1")


class _Mean(msgspec.Struct):
    mean: float | None


class _Stated(msgspec.Struct):
    """What a results.json states that must follow from the run."""

    digests: dict[str, str]
    counts: Counts
    aggregated: dict[str, _Mean]
    scores: dict[str, float | None] = {}


def _report_differences(file: Path, manifest: Manifest, results: list[EpisodeResult]) -> Iterator[Difference]:
    """The digests of results.json must be those of the run, its counts, means and scores those of the lines."""
    scored = [result for result in results if is_scored(result)]
    stated = read_document(file, _Stated)
    yield from _unequal(file, "digest of ", stated.digests, manifest.digests)
    counts = {"episodes": stated.counts.episodes, "scored episodes": stated.counts.scored}
    yield from _unequal(file, "number of ", counts, {"episodes": len(results), "scored episodes": len(scored)})
    means = {name: entry.mean for name, entry in stated.aggregated.items()}
    found = FinalAggregator().statistics(scored, metric_names(results))
    yield from _unequal(file, "mean of ", means, {name: statistics.mean for name, statistics in found.items()})
    yield from _unequal(file, "score ", stated.scores, long_horizon_scores(manifest.config, scored))


def _unequal(file: Path, what: str, stated: Mapping[str, object], found: Mapping[str, object]) -> Iterator[Difference]:
    for name in sorted({**stated, **found}):
        if stated.get(name, "missing") != found.get(name, "missing"):
            one, other = (str(values.get(name, "missing")) for values in (stated, found))
            yield Difference(where=file.name, what=f"{what}{name}", stated=one, found=other)
