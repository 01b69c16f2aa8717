"""The folder of one run: what was run, and one line per episode as it ends.

    run.json         what was run: configuration, digests, agent; written once, before the first episode
    episodes.jsonl   one line per finished episode
    results.json     the report, rewritten when the run ends or is interrupted

A run that was cut off is taken up again in the same folder: finished episodes stay, episodes that
failed by our fault are played again. A folder of another run is refused.

Results are read back from the folder, from its episodes.jsonl or from its results.json (`load_run`).
"""

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from pydantic import ValidationError

import nav_eval
from nav_eval.config import BenchmarkConfig, compute_config_digest
from nav_eval.config.loader import compute_rules_digest
from nav_eval.dataset.loader import TaskDataset
from nav_eval.errors import RecordError, UnknownName
from nav_eval.evaluation.aggregation import EpisodeSet, list_metric_names
from nav_eval.evaluation.aliases import derive_home_seed
from nav_eval.evaluation.report import ReportHeader, read_header, read_report_episodes
from nav_eval.metrics.comparison import Comparison, RunScores, RunsDiffer, compare
from nav_eval.metrics.registry import METRICS
from nav_eval.records.results import EpisodeOutcome, EpisodeResult, encode_result, read_document, read_results
from nav_eval.records.scoring import get_scored_value, is_higher_better, is_scored, is_yes_or_no
from nav_eval.simulator.goal_follower import make_controller
from nav_eval.whole_files import write_atomically

FORMAT = "nav-eval/run/1"
MANIFEST_FILE = "run.json"
SEEDS = 2**63  #: how many a run's own seed is drawn from


class OtherRun(RecordError):
    """The folder holds another run; give another folder."""


class RunUnderWay(RecordError):
    """Another process writes to the folder of this run; wait for it, or give another folder."""


class RunManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What was run."""

    format: str
    benchmark: str
    engine_version: str
    config: dict[str, Any]  #: as resolved
    digests: dict[str, str]
    """`config` everything, `rules` what can change a score, `episodes` the episode set."""
    episode_ids: tuple[str, ...]
    agent: dict[str, str] = {}
    run_seed: int = 0  #: what domain randomisation drew from, where the scenario has no seed of its own
    controller: dict[str, Any] = {}  #: who walked to goals that the agent named, and with which settings
    episode_seed: str | None = None  #: what the ids that the agent saw were drawn from; None: it saw the dataset's

    @property
    def identity(self) -> tuple[str, ...]:
        """What must be equal for two runs to be the same one."""
        return (self.engine_version, self.digests["rules"], self.digests["episodes"])


def describe_agent(manifest: RunManifest) -> str:
    """Who played, in one name."""
    return " ".join(filter(None, (manifest.agent.get("name"), manifest.agent.get("version")))) or "without a name"


def make_manifest(
    benchmark: BenchmarkConfig,
    episodes: TaskDataset,
    *,
    agent: dict[str, str],
    run_seed: int = 0,
    episode_seed: str | None = None,
) -> RunManifest:
    benchmark = benchmark.with_rig(agent.get("rig"))
    return RunManifest(
        format=FORMAT,
        benchmark=benchmark.name,
        engine_version=nav_eval.__version__,
        config=benchmark.model_dump(mode="json"),
        digests={
            "config": compute_config_digest(benchmark),
            "rules": compute_rules_digest(benchmark),
            "episodes": f"sha256:{episodes.digest}",
        },
        episode_ids=episodes.episode_ids,
        agent=agent,
        run_seed=run_seed,
        controller=describe_controller(benchmark),
        episode_seed=episode_seed,
    )


def describe_controller(benchmark: BenchmarkConfig) -> dict[str, Any]:
    """Who walks to goals that an agent names."""
    controller = make_controller(benchmark.task)
    return {} if controller is None else {"name": controller.name, **controller.settings}


def make_header(manifest: RunManifest) -> ReportHeader:
    """What the report of a run says about it, apart from the hour."""
    return ReportHeader(
        benchmark=manifest.benchmark,
        agent=manifest.agent,
        config=manifest.config,
        digests=manifest.digests,
        engine_version=manifest.engine_version,
        higher_is_better=_find_directions(manifest),
    )


def _find_directions(manifest: RunManifest) -> dict[str, bool]:
    """What the metrics themselves say: those of plug-ins have no customary direction."""
    listed = manifest.config["task"]["metrics"]  # a configuration may name a metric without its parameters
    names = [metric if isinstance(metric, str) else metric["name"] for metric in listed]
    return {name: METRICS.get(name).higher_is_better for name in names if name in METRICS}


class RunFolder:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def episodes_file(self) -> Path:
        return self.path / EPISODES_FILE

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Nobody else writes here meanwhile; two runs at once would each undo the other's lines."""
        self.path.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_RDONLY)
        try:
            with suppress(OSError):  # a file system may have no locks
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise RunUnderWay(
                        f"Another `nav-eval evaluate` is writing to {self.path}; wait until it ends, or give another "
                        "--out folder."
                    ) from error
            yield
        finally:
            os.close(handle)

    def begin(self, manifest: RunManifest) -> list[EpisodeResult]:
        """Claim the folder for this run; returns what is finished already."""
        file = self.path / MANIFEST_FILE
        if not file.exists():
            if self.episodes_file.exists():
                raise OtherRun(f"{self.path} holds {EPISODES_FILE} but no {MANIFEST_FILE}; give another --out folder.")
            self.path.mkdir(parents=True, exist_ok=True)
            write_atomically(file, msgspec.json.format(msgspec.json.encode(manifest)))
            return []
        known = self.manifest()
        if known.identity != manifest.identity:
            raise OtherRun(
                f"{self.path} holds another run ({known.benchmark}, other rules, episodes or engine); "
                "give another --out folder, or remove this one."
            )
        if describe_agent(known) != describe_agent(manifest):
            raise OtherRun(
                f"{self.path} holds a run of the agent {describe_agent(known)}, and this one is "
                f"{describe_agent(manifest)}: their episodes would count together. "
                "Give another --out folder, or remove this one."
            )
        return self._keep_finished()

    def manifest(self) -> RunManifest:
        if self.is_new:
            raise RecordError(
                f"{self.path} is no folder of a run: it has no {MANIFEST_FILE}. "
                "Give the one that `nav-eval evaluate … --out FOLDER` wrote."
            )
        return read_document(self.path / MANIFEST_FILE, RunManifest)

    def benchmark(self) -> BenchmarkConfig:
        """What was run, as the run says it."""
        try:
            return BenchmarkConfig.model_validate(self.manifest().config)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "config"
            raise RecordError(f"{self.path / MANIFEST_FILE}: {where}: {first['msg']}") from error

    def run_seed(self, benchmark: BenchmarkConfig) -> int:
        """The seed of the run in this folder, or of a new one: drawn if the scenario wants one and has none."""
        if not self.is_new:
            return self.manifest().run_seed
        randomization = benchmark.scenario_config.domain_randomization
        return secrets.randbelow(SEEDS) if randomization.varies and randomization.seed is None else 0

    @property
    def is_new(self) -> bool:
        """Whether nothing has been run here yet."""
        return not (self.path / MANIFEST_FILE).exists()

    def episode_seed(self, benchmark: BenchmarkConfig, run_seed: int) -> str | None:
        """What the aliases of the run in this folder are drawn from, or those of a new one."""
        return derive_home_seed(benchmark, run_seed) if self.is_new else self.manifest().episode_seed

    def results(self) -> list[EpisodeResult]:
        return list(read_results(self.episodes_file, EpisodeResult)) if self.episodes_file.exists() else []

    def _keep_finished(self) -> list[EpisodeResult]:
        """Keep what counts; what failed by our fault is forgotten and played again."""
        if not self.episodes_file.exists():
            return []
        whole = [line for line in self.episodes_file.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        write_atomically(self.episodes_file, b"".join(whole))
        finished = [result for result in self.results() if is_scored(result)]
        write_atomically(self.episodes_file, b"".join(encode_result(result) + b"\n" for result in finished))
        return finished


EPISODES_FILE = "episodes.jsonl"
REPORT_FILE = "results.json"


class RunResults(NamedTuple):
    """The results of one run, as they lie on disk."""

    name: str  #: short, for tables
    outcomes: Sequence[EpisodeOutcome]  #: each episode once, in natural order
    header: ReportHeader  #: what results.json says; empty where there is none


def load_run(path: Path, kind: type[EpisodeOutcome] = EpisodeOutcome) -> RunResults:
    """Read a run from its folder or from either of its two files."""
    if path.is_dir():
        report = path / REPORT_FILE
        episodes = path / EPISODES_FILE
        if not episodes.exists() and report.exists():
            return load_run(report, kind)._replace(name=path.resolve().name)
        header = read_header(report) if report.exists() else ReportHeader()
        return _make_run(path.resolve().name, read_results(episodes, kind), header, path)
    if path.suffix == ".json":
        return _make_run(path.stem, read_report_episodes(path), read_header(path), path)
    return _make_run(path.stem, read_results(path, kind), ReportHeader(), path)


def _make_run(name: str, outcomes: Iterable[EpisodeOutcome], header: ReportHeader, path: Path) -> RunResults:
    episodes = EpisodeSet(outcomes).to_list()
    if not episodes:
        raise RecordError(f"{path} holds no episodes; run `nav-eval evaluate` first.")
    return RunResults(name, episodes, header)


def get_metric_directions(header: ReportHeader) -> dict[str, bool]:
    """Which metrics are better when higher: what the run says, or else what the registered metrics say."""
    registered = {name: METRICS.get(name).higher_is_better for name in METRICS}
    return registered | header.higher_is_better


def get_run_scores(run: RunResults, metric: str, *, directions: Mapping[str, bool]) -> RunScores:
    """One metric of a run, by scored episode."""
    higher = is_higher_better(metric, directions)
    scored = [outcome for outcome in run.outcomes if is_scored(outcome)]
    return RunScores(
        name=run.name,
        values={o.episode_id: get_scored_value(o, metric, higher_is_better=higher) for o in scored},
        scenes={o.episode_id: o.scene_id for o in scored},
    )


def compare_runs(
    first: RunResults, second: RunResults, metrics: Sequence[str] | None = None, *, directions: Mapping[str, bool]
) -> dict[str, Comparison]:
    """Paired comparison of two runs in the metrics that both have, or in those asked for."""
    _refuse_other_episodes(first, second)
    for run in (first, second):
        _refuse_unscored(run)
    return {
        name: compare(
            *(get_run_scores(run, name, directions=directions) for run in (first, second)),
            yes_or_no=is_yes_or_no(name),
        )
        for name in _choose_metrics(metrics, first, second)
    }


def _choose_metrics(asked: Sequence[str] | None, first: RunResults, second: RunResults) -> Sequence[str]:
    theirs = set(list_metric_names(second.outcomes))
    shared = [name for name in list_metric_names(first.outcomes) if name in theirs]
    unknown = [name for name in asked or () if name not in shared]
    if unknown:
        raise UnknownName(f"The runs do not both have {unknown[0]!r}. Known: {', '.join(shared)}.")
    if not shared:
        raise RunsDiffer(f"{first.name} and {second.name} have no metric in common. Compare runs of one benchmark.")
    return asked or shared


def _refuse_other_episodes(first: RunResults, second: RunResults) -> None:
    """Equal ids can still mean other episodes; the digests of the episode sets tell."""
    ours, theirs = first.header.digests.get("episodes"), second.header.digests.get("episodes")
    if ours is not None and theirs is not None and ours != theirs:
        raise RunsDiffer(
            f"{first.name} and {second.name} were run on different episode sets (digests {ours} and {theirs}). "
            "Evaluate both on one episode set."
        )


def _refuse_unscored(run: RunResults) -> None:
    """Leaving out what one run could not play would compare it on other episodes than it was given."""
    for outcome in run.outcomes:
        if not is_scored(outcome):
            raise RunsDiffer(
                f"{run.name} has no score for episode {outcome.episode_id!r} ({outcome.cause or outcome.status}). "
                "Resume the run, so that all of its episodes are played."
            )


def make_file_name(episode_id: str) -> str:
    """A file name for any id: plain ids as they are, others made plain and told apart by a digest."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", episode_id):
        return episode_id
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", episode_id).strip("_")[:60]
    return f"{plain or 'episode'}-{hashlib.sha256(episode_id.encode()).hexdigest()[:12]}"
