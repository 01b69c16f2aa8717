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
from typing import Any

import msgspec

import nav_eval
from nav_eval.action_log import is_same_place, parse_entry
from nav_eval.agents.messages import ANSWER
from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.loader import TaskDataset
from nav_eval.errors import NavEvalError
from nav_eval.evaluation.differences import Difference, is_same_value
from nav_eval.evaluation.episodes import count_instruction_words, load_episodes
from nav_eval.evaluation.manifest_verification import compare_episode_set, compare_manifest, compare_rules
from nav_eval.evaluation.report_verification import compare_report
from nav_eval.evaluation.run_folder import REPORT_FILE, RunFolder, RunManifest
from nav_eval.evaluation.written_files import find_odd_writing, list_other_files, refuse_devices
from nav_eval.plain_text import clean_text
from nav_eval.play import EpisodePlay
from nav_eval.records.geometry import Vec3
from nav_eval.records.results import UNSCORED, Cause, EpisodeResult, EpisodeStatus
from nav_eval.simulator.base import Simulator, SimulatorSetup, open_simulator
from nav_eval.tasks import Task
from nav_eval.tasks.base import build_task

NOT_COMPARED = frozenset({"time"})  #: metrics of the clock
MOST_NAMED = 10


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

    def summary(self) -> str:
        if not self.equal:
            lines = "\n".join(f"  {difference}" for difference in self.differences)
            count = "1 difference" if len(self.differences) == 1 else f"{len(self.differences)} differences"
            return f"NOT verified: {count}. {self._describe_coverage()}\n{lines}"
        partial = f" The run is not complete: {self.missing} episodes have no result." if self.missing else ""
        return (
            f"Verified: {self.episodes} episodes, {self.steps} steps, everything is equal. "
            f"{self._describe_coverage()}{partial}\nNot proven by a replay: {', '.join(self._list_unproven())}."
        )

    def _describe_coverage(self) -> str:
        replayed = f"{self.episodes} of the run's {self.of_run} episodes were played again"
        if self.of_benchmark > self.of_run:
            return f"{replayed}; the run has {self.of_run} of the benchmark's {self.of_benchmark} episodes."
        return f"{replayed}."

    def _list_unproven(self) -> list[str]:
        causes = [f"why {self.broken_off} episodes broke off"] if self.broken_off else []
        begun = [f"that {self.not_begun} episodes never began"] if self.not_begun else []
        unscored = [f"that {self.unscored} episodes are rightly in no mean"] if self.unscored else []
        return ["the agent's name", "timing", "the date", *causes, *begun, *unscored, *self.unproven]


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
    report.differences += [] if expected is None else compare_rules(benchmark, expected)
    report.unproven += _list_unproven(run, manifest, results, expected)
    missing = set(manifest.episode_ids) - {result.episode_id for result in results}
    report.missing = len(missing)
    if missing and not partial:
        report.differences.append(_tell_missing(missing, manifest))
    chosen = results if only is None else [result for result in results if result.episode_id in only]
    _replay_episodes(report, chosen[:limit], _Replayer(benchmark, manifest, cache), episodes, on_episode)
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
                report.episodes += not _has_not_begun(result)
                report.not_begun += _has_not_begun(result)
                report.steps += result.num_steps
                report.broken_off += result.cause is not None
                report.unscored += result.cause in UNSCORED
            on_episode(result.episode_id)


def _count_episodes(benchmark: BenchmarkConfig, chosen: TaskDataset) -> int:
    """How many episodes there are where the run took some of them."""
    dataset = benchmark.dataset
    if dataset.episodes is None and dataset.episode_ids is None and dataset.scenes is None:
        return len(chosen)
    everything = dataset.model_copy(update={"episodes": None, "episode_ids": None, "scenes": None})
    return len(load_episodes(benchmark.model_copy(update={"dataset": everything})))


def _list_unproven(
    run: Path, manifest: RunManifest, results: Sequence[EpisodeResult], expected: BenchmarkConfig | None
) -> Iterator[str]:
    """What the files of this run say and nothing can prove, beside what is true of every run."""
    yield f"the engine's version ({', '.join(sorted(nav_eval.REPLAYABLE_VERSIONS))} play alike)"
    if manifest.episode_seed is not None:
        yield "under which names the agent knew the episodes"
    said = [entry for result in results for entry in result.actions if isinstance(entry, dict)]
    if any(entry.get("text") and entry.get("action") != ANSWER for entry in said):
        yield "the agent's words beside its actions"
    if any("goal" in entry for entry in said):
        yield "which goals it asked for"
    if others := list_other_files(run):
        yield f"other files of the folder ({clean_text(', '.join(others[:MOST_NAMED]))})"
    if expected is None:
        digests = ", ".join(f"{name} {manifest.digests.get(name)}" for name in ("rules", "episodes"))
        yield f"whose rules and episodes these are ({digests}; --benchmark NAME compares the rules)"


def _tell_missing(missing: set[str], manifest: RunManifest) -> Difference:
    names = ", ".join(sorted(missing)[:MOST_NAMED]) + (", …" if len(missing) > MOST_NAMED else "")
    return Difference(
        where="run",
        what="number of episodes with a result",
        stated=str(len(manifest.episode_ids) - len(missing)),
        found=f"{len(manifest.episode_ids)}: no line for {names} (--partial accepts a run that was cut off)",
    )


def verify_episode(
    result: EpisodeResult, episode: Episode, *, task: Task, simulator: Simulator
) -> Iterator[Difference]:
    """What differs between a result's claims and what its actions lead to."""
    comparison = _Comparison(result, episode)
    yield from comparison.compare_labels()
    if _has_not_begun(result):
        return
    try:
        yield from comparison.compare(EpisodePlay(episode, task=task, simulator=simulator))
    except NavEvalError as error:
        yield comparison.make_difference("replay", "possible", str(error))


def _has_not_begun(result: EpisodeResult) -> bool:
    """A fault before the first observation leaves nothing to play again: no log, and no value of any metric."""
    said = (result.metrics, result.actions, result.subtasks, result.num_steps, result.trajectory, result.action_digest)
    return result.cause is not None and not any(said)


class _Comparison:
    """One result, and its episode as it is played again from the log."""

    def __init__(self, result: EpisodeResult, episode: Episode) -> None:
        self._result, self._episode = result, episode

    def compare_labels(self) -> Iterator[Difference]:
        """What a line says about its episode, and how it says that it ended."""
        result, instruction = self._result, self._episode.instruction
        stated: dict[str, object] = {"scene_id": result.scene_id}
        found: dict[str, object] = {"scene_id": self._episode.scene_id}
        if _has_not_begun(result):  # of an episode that was played, the task knows the groups
            stated |= {"groups": result.groups, "randomization": result.randomization}
            found |= {"groups": {}, "randomization": None}
            facts = {
                "shortest_path_length": self._episode.private.shortest_path_length,
                "instruction_length": count_instruction_words(self._episode),
            }
            stated |= {name: getattr(result, name) for name in facts if getattr(result, name) is not None}
            found |= {name: value for name, value in facts.items() if name in stated}
        if result.instruction is not None:
            stated["instruction"] = result.instruction
            found["instruction"] = None if instruction is None else instruction.text
        for name, value in found.items():
            if stated[name] != value:
                yield self.make_difference(name, str(stated[name]), str(value))
        if result.cause is not None and result.cause not in set(Cause):
            yield self.make_difference("cause", result.cause, f"one of {', '.join(Cause)}")
        if (result.cause is None) != (result.status is EpisodeStatus.COMPLETED):
            yield self.make_difference("status", result.status, f"another with the cause {result.cause}")
        if (result.cause == Cause.CANCELLED) != (result.status is EpisodeStatus.CANCELLED):
            yield self.make_difference("status", result.status, f"another with the cause {result.cause}")
        for name, seconds in result.timing.items():
            if not seconds >= 0:
                yield self.make_difference(f"timing {name}", str(seconds), "seconds, not less than none")
        if result.cause is None and result.detail is not None:
            yield self.make_difference("detail", result.detail, "none without a cause")

    def compare(self, play: EpisodePlay) -> Iterator[Difference]:
        for step, entry in enumerate(self._result.actions, start=1):
            if play.is_over:
                yield self.make_difference("episode", "going on", "over already", step=step)
                return
            action = parse_entry(entry)
            state = play.apply(action)
            if action.reply != (said := parse_entry(play.log.actions[-1]).reply):
                yield self.make_difference("what the informant said", action.reply, said, step=step)
                return
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
        result = self._result
        if result.cause is not None and result.cause not in UNSCORED:
            play.progress.abort()
        stated, found = _list_claims(result), _list_facts(play)
        if result.trajectory is None:
            del stated["trajectory"], found["trajectory"]
        for name in found:
            if not is_same_value(stated[name], found[name]):
                yield self.make_difference(name, str(stated[name]), str(found[name]))
        yield from self._compare_metrics(play)
        if result.cause is None and not play.is_over:
            yield self.make_difference("status", result.status, "not over after the last action")
        if result.cause is not None and play.is_over:
            yield self.make_difference("cause", result.cause, "none: the episode came to its end")

    def _compare_metrics(self, play: EpisodePlay) -> Iterator[Difference]:
        stated = _to_plain(self._result.metrics)
        found = _to_plain(dict(play.progress.result().metrics))
        for name in [*found, *(name for name in stated if name not in found)]:
            one, other = (values.get(name, "missing") for values in (stated, found))
            if not (name in NOT_COMPARED and name in found and name in stated) and not is_same_value(one, other):
                yield self.make_difference(name, str(one), str(other))

    def make_difference(self, what: str, stated: str, found: str, *, step: int | None = None) -> Difference:
        return Difference(
            where=f"episode {self._episode.episode_id!r}", what=what, stated=stated, found=found, step=step
        )


def _list_claims(result: EpisodeResult) -> dict[str, Any]:
    """What a line says and a replay can say as well, as it stands in a file."""
    return {
        "action digest": result.action_digest,
        "num_steps": result.num_steps,
        "actions": _to_plain(result.actions),
        "trajectory": _to_plain(result.trajectory),
        "subtasks": _to_plain(result.subtasks),
        "shortest_path_length": result.shortest_path_length,
        "instruction_length": result.instruction_length,
        "randomization": _to_plain(result.randomization),
        "groups": dict(result.groups),
    }


def _list_facts(play: EpisodePlay) -> dict[str, Any]:
    """The same, as the replay says it."""
    worth, episode = play.progress.result(), play.episode
    return {
        "action digest": play.log.digest,
        "num_steps": worth.steps,
        "actions": _to_plain(play.log.actions),
        "trajectory": _to_plain(play.log.trajectory),
        "subtasks": _to_plain(worth.subtasks),
        "shortest_path_length": episode.private.shortest_path_length,
        "instruction_length": count_instruction_words(episode),
        "randomization": _to_plain(play.randomization),
        "groups": dict(worth.groups),
    }


def _to_plain(value: object) -> Any:  # noqa: ANN401
    """As it would stand in a file: what is not a number is null."""
    return msgspec.json.decode(msgspec.json.encode(value))
