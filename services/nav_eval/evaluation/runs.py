"""Where the results of a run are found: its folder, its episodes.jsonl or its results.json."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nav_eval.errors import RecordError, UnknownName
from nav_eval.evaluation.aggregation import EpisodeSet, is_scored, metric_names, scored_value
from nav_eval.evaluation.report import ReportHeader, read_header, read_report_episodes
from nav_eval.evaluation.results import EpisodeOutcome, read_results
from nav_eval.metrics.comparison import Comparison, RunScores, RunsDiffer, compare
from nav_eval.metrics.registry import METRICS
from nav_eval.metrics.statistics import is_higher_better

EPISODES_FILE = "episodes.jsonl"
REPORT_FILE = "results.json"


class Run(NamedTuple):
    """The results of one run, as they lie on disk."""

    name: str
    """Short, for tables."""
    outcomes: Sequence[EpisodeOutcome]
    """Each episode once, in natural order."""
    header: ReportHeader
    """What results.json says; empty where there is none."""


def load_run(path: Path, kind: type[EpisodeOutcome] = EpisodeOutcome) -> Run:
    """Read a run from its folder or from either of its two files."""
    if path.is_dir():
        report = path / REPORT_FILE
        episodes = path / EPISODES_FILE
        if not episodes.exists() and report.exists():
            return load_run(report, kind)._replace(name=path.resolve().name)
        header = read_header(report) if report.exists() else ReportHeader()
        return _run(path.resolve().name, read_results(episodes, kind), header, path)
    if path.suffix == ".json":
        return _run(path.stem, read_report_episodes(path), read_header(path), path)
    return _run(path.stem, read_results(path, kind), ReportHeader(), path)


def _run(name: str, outcomes: Iterable[EpisodeOutcome], header: ReportHeader, path: Path) -> Run:
    episodes = EpisodeSet(outcomes).sorted()
    if not episodes:
        raise RecordError(f"{path} holds no episodes; run `nav-eval evaluate` first.")
    return Run(name, episodes, header)


def metric_directions(header: ReportHeader) -> dict[str, bool]:
    """Which metrics are better when higher: what the run says, or else what the registered metrics say."""
    registered = {name: METRICS.get(name).higher_is_better for name in METRICS}
    return registered | header.higher_is_better


def run_scores(run: Run, metric: str, *, directions: Mapping[str, bool]) -> RunScores:
    """One metric of a run, by scored episode."""
    higher = is_higher_better(metric, directions)
    scored = [outcome for outcome in run.outcomes if is_scored(outcome)]
    return RunScores(
        name=run.name,
        values={o.episode_id: scored_value(o, metric, higher_is_better=higher) for o in scored},
        scenes={o.episode_id: o.scene_id for o in scored},
    )


def compare_runs(
    first: Run, second: Run, metrics: Sequence[str] | None = None, *, directions: Mapping[str, bool]
) -> dict[str, Comparison]:
    """Paired comparison of two runs in the metrics that both have, or in those asked for."""
    _refuse_other_episodes(first, second)
    for run in (first, second):
        _refuse_unscored(run)
    return {
        name: compare(*(run_scores(run, name, directions=directions) for run in (first, second)))
        for name in _chosen(metrics, first, second)
    }


def _chosen(asked: Sequence[str] | None, first: Run, second: Run) -> Sequence[str]:
    theirs = set(metric_names(second.outcomes))
    shared = [name for name in metric_names(first.outcomes) if name in theirs]
    unknown = [name for name in asked or () if name not in shared]
    if unknown:
        raise UnknownName(f"The runs do not both have {unknown[0]!r}. Known: {', '.join(shared)}.")
    return asked or shared


def _refuse_other_episodes(first: Run, second: Run) -> None:
    """Equal ids can still mean other episodes; the digests of the episode sets tell."""
    ours, theirs = first.header.digests.get("episodes"), second.header.digests.get("episodes")
    if ours is not None and theirs is not None and ours != theirs:
        raise RunsDiffer(
            f"{first.name} and {second.name} were run on different episode sets (digests {ours} and {theirs}). "
            "Evaluate both on one episode set."
        )


def _refuse_unscored(run: Run) -> None:
    """Leaving out what one run could not play would compare it on other episodes than it was given."""
    for outcome in run.outcomes:
        if not is_scored(outcome):
            raise RunsDiffer(
                f"{run.name} has no score for episode {outcome.episode_id!r} ({outcome.cause or outcome.status}). "
                "Resume the run, so that all of its episodes are played."
            )
