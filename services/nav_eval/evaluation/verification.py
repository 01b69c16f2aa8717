"""Is a run what it says it is? Every action log is played again, without the agent and without pictures.

A run passes if its configuration and its episodes have the digests it states, if it has a line for each episode, if
every pose along every episode comes out bit for bit, and if everything else that a line or the report says follows from
them. Episodes that are labelled as our fault are played again as well: a label must not hide a result. What no replay
can prove is named: who the agent was, what it said beside its actions, what the clock said, why an episode broke off,
and whose rules these are, unless the benchmark is there to compare them with.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nav_eval
from nav_eval.agents.messages import ANSWER, shorten
from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.loader import TaskDataset
from nav_eval.evaluation.differences import Difference
from nav_eval.evaluation.episode_verification import has_not_begun, verify_episode
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.manifest_verification import (
    compare_choice,
    compare_episode_set,
    compare_manifest,
    compare_rules,
    is_seed_drawn,
)
from nav_eval.evaluation.report_verification import compare_report
from nav_eval.evaluation.run_folder import REPORT_FILE, RunFolder, RunManifest
from nav_eval.evaluation.written_files import find_odd_writing, list_other_files, refuse_devices
from nav_eval.records.results import UNSCORED, EpisodeResult
from nav_eval.simulator.base import Simulator, SimulatorSetup, open_simulator
from nav_eval.tasks.base import build_task

MOST_NAMED = 10
LONGEST_NAME = 80


@dataclass(kw_only=True, slots=True)
class VerificationReport:
    """What was checked, and what differs."""

    episodes: int = 0  #: that were played again
    missing: int = 0  #: episodes of the run that have no result: it was cut off, or somebody left them out
    of_run: int = 0  #: episodes that the run says it has
    of_benchmark: int = 0  #: episodes that its benchmark has, where the run took some of them
    steps: int = 0
    broken_off: int = 0  #: episodes that a fault ended, whose cause only the run itself tells
    not_begun: int = 0  #: episodes that a fault ended before anything could be played again
    unscored: int = 0  #: episodes that are in no mean, by a cause that only the run itself tells
    unproven: list[str] = field(default_factory=list)  #: what else only the run itself tells
    differences: list[Difference] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        return not self.differences

    @property
    def has_proof(self) -> bool:
        """Whether anything was played again: files that say nothing differ from nothing."""
        return self.episodes > 0

    def summary(self) -> str:
        if not self.equal:
            lines = "\n".join(f"  {difference}" for difference in self.differences)
            count = "1 difference" if len(self.differences) == 1 else f"{len(self.differences)} differences"
            return f"NOT verified: {count}. {self._describe_coverage()}\n{lines}"
        missing = _count(self.missing, "episode has no result", "episodes have no result")
        partial = f" The run is not complete: {missing}." if self.missing else ""
        return (
            f"{self._describe_success()} {self._describe_coverage()}{partial}\n"
            f"Not proven by a replay: {', '.join(self._list_unproven())}."
        )

    def _describe_success(self) -> str:
        if not self.has_proof:
            return "Nothing is verified: there is no episode to play again, and the files agree with themselves."
        return f"Verified: {_count(self.episodes, 'episode')}, {_count(self.steps, 'step')}, everything is equal."

    def _describe_coverage(self) -> str:
        were = "was" if self.episodes == 1 else "were"
        replayed = f"{self.episodes} of the run's {_count(self.of_run, 'episode')} {were} played again"
        if self.of_benchmark > self.of_run:
            return f"{replayed}; the run has {self.of_run} of the benchmark's {self.of_benchmark} episodes."
        return f"{replayed}."

    def _list_unproven(self) -> list[str]:
        causes = [f"why {_count(self.broken_off, 'episode')} broke off"] if self.broken_off else []
        begun = [f"that {_count(self.not_begun, 'episode')} never began"] if self.not_begun else []
        unscored = [f"that {_count(self.unscored, 'episode is', 'episodes are')} rightly in no mean"]
        return [
            "who chose the actions",
            "timing",
            "the date",
            *causes,
            *begun,
            *unscored[: self.unscored],
            *self.unproven,
        ]


def _count(number: int, one: str, several: str | None = None) -> str:
    return f"{number} {one if number == 1 else several or one + 's'}"


def verify(
    run: Path,
    *,
    limit: int | None = None,
    only: Collection[str] | None = None,
    partial: bool = False,
    expected: BenchmarkConfig | None = None,
    cache: Path,
    on_episode: Callable[[str], None] = lambda _: None,
) -> VerificationReport:
    """Play a run again and compare: the first `limit` of its episodes, those that `only` names, or all.

    `partial` accepts one that was cut off, without its report or some episodes. `expected` is the benchmark whose rules
    it should have been played by.
    """
    refuse_devices(run)
    folder = RunFolder(run)
    manifest, results = folder.manifest(), folder.results()
    benchmark = folder.benchmark()
    episodes = load_episodes(benchmark)
    report = VerificationReport(of_run=len(manifest.episode_ids), of_benchmark=_count_episodes(benchmark, episodes))
    report.differences += find_odd_writing(run)
    report.differences += compare_manifest(manifest, benchmark, episodes)
    report.differences += compare_episode_set(manifest, results)
    if expected is not None:
        _compare_with_benchmark(report, manifest, benchmark, expected)
    report.unproven += _list_unproven(folder, manifest, results, expected)
    missing = set(manifest.episode_ids) - {result.episode_id for result in results}
    report.missing = len(missing)
    if missing and not partial:
        report.differences.append(_tell_missing(missing, manifest))
    chosen = results if only is None else [result for result in results if result.episode_id in only]
    chosen = chosen[:limit]
    if others := len(results) - len(chosen):
        report.unproven.append(f"what {_count(others, 'other episode says', 'other episodes say')}")
    _replay_episodes(report, chosen, _Replayer(benchmark, manifest, cache), episodes, on_episode)
    report.differences += compare_report(run / REPORT_FILE, manifest, results, partial=partial)
    return report


@dataclass(frozen=True, slots=True)
class _Replayer:
    """What plays the lines of one run again."""

    benchmark: BenchmarkConfig
    manifest: RunManifest
    cache: Path

    def open(self) -> Simulator:
        return open_simulator(
            SimulatorSetup(benchmark=self.benchmark, cache=self.cache, pictures=False, run_seed=self.manifest.run_seed)
        )


def _replay_episodes(
    report: VerificationReport,
    results: Sequence[EpisodeResult],
    replayer: _Replayer,
    episodes: TaskDataset,
    on_episode: Callable[[str], None],
) -> None:
    task = build_task(replayer.benchmark.task, replayer.benchmark.evaluation)
    equal: set[str] = set()  # a line may stand twice
    with replayer.open() as simulator:
        for result in results:
            if result.episode_id not in episodes.episode_ids:
                continue
            episode = episodes.by_id(result.episode_id)
            found = list(verify_episode(result, episode, task=task, simulator=simulator))
            report.differences += found
            if not found and result.episode_id not in equal:
                equal.add(result.episode_id)
                report.episodes += not has_not_begun(result)
                report.not_begun += has_not_begun(result)
                report.steps += result.num_steps
                report.broken_off += result.cause is not None
                report.unscored += result.cause in UNSCORED
            on_episode(result.episode_id)


def _compare_with_benchmark(
    report: VerificationReport, manifest: RunManifest, benchmark: BenchmarkConfig, expected: BenchmarkConfig
) -> None:
    """The rules, and which of its episodes were played: a benchmark may have a choice of its own."""
    report.differences += (differences := list(compare_rules(benchmark, expected)))
    if any("dataset" in difference.what for difference in differences):
        return  # it has other episodes altogether
    episodes = load_episodes(expected)
    report.of_benchmark = len(episodes)
    report.differences += compare_choice(manifest, episodes)


def _count_episodes(benchmark: BenchmarkConfig, chosen: TaskDataset) -> int:
    """How many episodes there are where the run took some of them."""
    dataset = benchmark.dataset
    if dataset.episodes is None and dataset.episode_ids is None and dataset.scenes is None:
        return len(chosen)
    everything = dataset.model_copy(update={"episodes": None, "episode_ids": None, "scenes": None})
    return len(load_episodes(benchmark.model_copy(update={"dataset": everything})))


def _list_unproven(
    run: RunFolder, manifest: RunManifest, results: Sequence[EpisodeResult], expected: BenchmarkConfig | None
) -> Iterator[str]:
    """What the files of this run say and nothing can prove, beside what is true of every run."""
    yield f"what the agent says of itself ({_list_names(sorted(manifest.agent)) or 'nothing'})"
    yield f"the engine's version ({', '.join(sorted(nav_eval.REPLAYABLE_VERSIONS))} play alike)"
    if is_seed_drawn(run.benchmark()):
        yield f"that the seed {manifest.run_seed} was drawn and not chosen"
    if manifest.episode_seed is not None:
        yield "under which names the agent knew the episodes"
    said = [entry for result in results for entry in result.actions if isinstance(entry, dict)]
    if any(entry.get("text") and entry.get("action") != ANSWER for entry in said):
        yield "the agent's words beside its actions"
    if any("goal" in entry for entry in said):
        yield "which goals it asked for"
    if others := list_other_files(run.path):
        yield f"other files of the folder ({_list_names(others)})"
    if expected is not None and expected.name != manifest.benchmark:
        yield f"what it calls itself ({_list_names([manifest.benchmark])}; the benchmark is {expected.name})"
    if expected is None:
        digests = ", ".join(f"{name} {manifest.digests.get(name)}" for name in ("rules", "episodes"))
        yield f"whose rules and episodes these are ({digests}; --benchmark NAME compares the rules)"


def _tell_missing(missing: set[str], manifest: RunManifest) -> Difference:
    names = _list_names(sorted(missing))
    return Difference(
        where="run",
        what="number of episodes with a result",
        stated=str(len(manifest.episode_ids) - len(missing)),
        found=f"{len(manifest.episode_ids)}: no line for {names} (--partial accepts a run that was cut off)",
    )


def _list_names(names: Sequence[str]) -> str:
    """The first of them, without what a terminal obeys."""
    more = ", …" if len(names) > MOST_NAMED else ""
    return ", ".join(shorten(name, limit=LONGEST_NAME) for name in names[:MOST_NAMED]) + more
