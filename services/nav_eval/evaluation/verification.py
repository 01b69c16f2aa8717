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
from nav_eval.action_log import is_same_place, parse_entry
from nav_eval.agents.messages import ANSWER
from nav_eval.config import BenchmarkConfig, compute_config_digest, compute_rules_digest
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.loader import TaskDataset
from nav_eval.errors import NavEvalError
from nav_eval.evaluation.aggregation import FinalAggregator, list_metric_names
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.offline_scoring import compute_long_horizon_scores
from nav_eval.evaluation.report import Counts
from nav_eval.evaluation.run_folder import REPORT_FILE, RunFolder, RunManifest
from nav_eval.play import EpisodePlay
from nav_eval.records.geometry import Vec3
from nav_eval.records.results import EpisodeResult, read_document
from nav_eval.records.scoring import is_scored
from nav_eval.simulator.base import Simulator, SimulatorSetup, open_simulator
from nav_eval.tasks import Task
from nav_eval.tasks.base import build_task

NOT_COMPARED = frozenset({"time"})  #: metrics of the clock


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
    report.differences += _compare_digests(manifest, benchmark, episodes)
    results = folder.results()
    report.differences += _compare_episode_set(manifest, results)
    report.missing = len(set(manifest.episode_ids) - {result.episode_id for result in results})
    task = build_task(benchmark.task, benchmark.evaluation)
    setup = SimulatorSetup(benchmark=benchmark, cache=cache, pictures=False, run_seed=manifest.run_seed)
    with open_simulator(setup) as simulator:
        for result in results[:limit]:
            if result.episode_id not in episodes.episode_ids:
                continue
            episode = episodes.by_id(result.episode_id)
            report.differences += verify_episode(result, episode, task=task, simulator=simulator)
            report.episodes, report.steps = report.episodes + 1, report.steps + result.num_steps
            on_episode(result.episode_id)
    if (run / REPORT_FILE).exists():
        report.differences += _compare_report(run / REPORT_FILE, manifest, results)
    return report


def verify_episode(
    result: EpisodeResult, episode: Episode, *, task: Task, simulator: Simulator
) -> Iterator[Difference]:
    """What differs between a result's claims and what its actions lead to."""
    comparison = _Comparison(result, episode)
    if not is_scored(result) or (not result.actions and not result.metrics):
        yield from comparison.compare_nothing()
        return
    try:
        yield from comparison.compare(EpisodePlay(episode, task=task, simulator=simulator))
    except NavEvalError as error:
        yield comparison.make_difference("replay", "possible", str(error))


class _Comparison:
    """One result, and its episode as it is played again from the log."""

    def __init__(self, result: EpisodeResult, episode: Episode) -> None:
        self._result, self._episode = result, episode

    def compare_nothing(self) -> Iterator[Difference]:
        """A result without a log must not claim a score."""
        if self._result.metrics and is_scored(self._result):
            yield self.make_difference("metrics", str(self._result.metrics), "none: there is no action log")

    def compare(self, play: EpisodePlay) -> Iterator[Difference]:
        for step, entry in enumerate(self._result.actions, start=1):
            if play.is_over:
                yield self.make_difference("episode", "going on", "over already", step=step)
                return
            action = parse_entry(entry)
            state = play.apply(action)
            if action.name != ANSWER and not self._is_at(state.position, step):
                yield self.make_difference(
                    "position", str(self._get_stated_position(step)), str(state.position), step=step
                )
                return
        yield from self._compare_end(play)

    def _is_at(self, position: Vec3, step: int) -> bool:
        """Compared step by step where the trajectory was kept; the digest covers the rest."""
        stated = self._get_stated_position(step)
        return self._result.trajectory is None or (stated is not None and is_same_place(stated, position))

    def _get_stated_position(self, step: int) -> Vec3 | None:
        stated = self._result.trajectory
        return stated[step] if stated and step < len(stated) else None

    def _compare_end(self, play: EpisodePlay) -> Iterator[Difference]:
        result, worth, digest = self._result, play.progress.result(), play.log.digest
        if result.action_digest != digest:
            yield self.make_difference("action digest", str(result.action_digest), digest)
        if result.num_steps != worth.steps:
            yield self.make_difference("num_steps", str(result.num_steps), str(worth.steps))
        for name, value in worth.metrics.items():
            if name not in NOT_COMPARED and result.metrics.get(name) != value:
                yield self.make_difference(name, str(result.metrics.get(name)), str(value))
        if _to_plain(result.subtasks) != _to_plain(worth.subtasks):
            yield self.make_difference("subtasks", str(_to_plain(result.subtasks)), str(_to_plain(worth.subtasks)))
        if _to_plain(result.randomization) != _to_plain(play.randomization):
            yield self.make_difference("randomization", str(result.randomization), str(play.randomization))
        if result.cause is None and not play.is_over:
            yield self.make_difference("status", result.status, "not over after the last action")

    def make_difference(self, what: str, stated: str, found: str, *, step: int | None = None) -> Difference:
        return Difference(
            where=f"episode {self._episode.episode_id!r}", what=what, stated=stated, found=found, step=step
        )


def _to_plain(value: object) -> Any:  # noqa: ANN401
    """As it would stand in a file: what is not a number is null."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _compare_digests(manifest: RunManifest, benchmark: BenchmarkConfig, episodes: TaskDataset) -> Iterator[Difference]:
    found = {
        "config": compute_config_digest(benchmark),
        "rules": compute_rules_digest(benchmark),
        "episodes": f"sha256:{episodes.digest}",
    }
    for name, digest in found.items():
        stated = manifest.digests.get(name, "missing")
        if stated != digest:
            yield Difference(where="run", what=f"digest of {name}", stated=stated, found=digest)
    if manifest.engine_version not in nav_eval.REPLAYABLE_VERSIONS:
        yield Difference(where="run", what="engine version", stated=manifest.engine_version, found=nav_eval.__version__)


def _compare_episode_set(manifest: RunManifest, results: list[EpisodeResult]) -> Iterator[Difference]:
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


def _compare_report(file: Path, manifest: RunManifest, results: list[EpisodeResult]) -> Iterator[Difference]:
    """The digests of results.json must be those of the run, its counts, means and scores those of the lines."""
    scored = [result for result in results if is_scored(result)]
    stated = read_document(file, _Stated)
    yield from _compare_values(file, "digest of ", stated.digests, manifest.digests)
    counts = {"episodes": stated.counts.episodes, "scored episodes": stated.counts.scored}
    yield from _compare_values(file, "number of ", counts, {"episodes": len(results), "scored episodes": len(scored)})
    means = {name: entry.mean for name, entry in stated.aggregated.items()}
    found = FinalAggregator().statistics(scored, list_metric_names(results))
    yield from _compare_values(file, "mean of ", means, {name: statistics.mean for name, statistics in found.items()})
    yield from _compare_values(file, "score ", stated.scores, compute_long_horizon_scores(manifest.config, scored))


def _compare_values(
    file: Path, what: str, stated: Mapping[str, object], found: Mapping[str, object]
) -> Iterator[Difference]:
    for name in sorted({**stated, **found}):
        if stated.get(name, "missing") != found.get(name, "missing"):
            one, other = (str(values.get(name, "missing")) for values in (stated, found))
            yield Difference(where=file.name, what=f"{what}{name}", stated=one, found=other)
