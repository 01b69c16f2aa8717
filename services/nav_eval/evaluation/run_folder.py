"""The folder of one run: what was run, and one line per episode as it ends.

    run.json         what was run: configuration, digests, agent; written once, before the first episode
    episodes.jsonl   one line per finished episode
    results.json     the report, rewritten when the run ends or is interrupted

A run that was cut off is taken up again in the same folder: finished episodes stay, episodes that
failed by our fault are played again. A folder of another run is refused.
"""

import secrets
from pathlib import Path
from typing import Any

import msgspec

import nav_eval
from nav_eval.config import BenchmarkConfig, config_digest
from nav_eval.config.digest import rules_digest
from nav_eval.dataset.dataset import TaskDataset
from nav_eval.errors import RecordError
from nav_eval.evaluation.aggregation import is_scored
from nav_eval.evaluation.report import write_atomically
from nav_eval.evaluation.results import EpisodeResult, encode, read_results
from nav_eval.evaluation.runs import EPISODES_FILE
from nav_eval.jsonl import read_document

FORMAT = "nav-eval/run/1"
MANIFEST_FILE = "run.json"


class OtherRun(RecordError):
    """The folder holds another run; give another folder."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What was run."""

    format: str
    benchmark: str
    engine_version: str
    config: dict[str, Any]
    """As resolved."""
    digests: dict[str, str]
    """`config` everything, `rules` what can change a score, `episodes` the episode set, `scenes` each scene."""
    episode_ids: tuple[str, ...]
    agent: dict[str, str] = {}
    run_seed: int = 0
    """What domain randomisation drew from, where the scenario has no seed of its own."""

    @property
    def identity(self) -> tuple[str, ...]:
        """What must be equal for two runs to be the same one."""
        return (self.engine_version, self.digests["rules"], self.digests["episodes"])


def manifest_of(
    benchmark: BenchmarkConfig, episodes: TaskDataset, *, agent: dict[str, str], run_seed: int = 0
) -> Manifest:
    return Manifest(
        format=FORMAT,
        benchmark=benchmark.name,
        engine_version=nav_eval.__version__,
        config=benchmark.model_dump(mode="json"),
        digests={
            "config": config_digest(benchmark),
            "rules": rules_digest(benchmark),
            "episodes": f"sha256:{episodes.digest}",
        },
        episode_ids=episodes.episode_ids,
        agent=agent,
        run_seed=run_seed,
    )


class RunFolder:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def episodes_file(self) -> Path:
        return self.path / EPISODES_FILE

    def begin(self, manifest: Manifest) -> list[EpisodeResult]:
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
        return self._finished()

    def manifest(self) -> Manifest:
        return read_document(self.path / MANIFEST_FILE, Manifest)

    def run_seed(self, benchmark: BenchmarkConfig) -> int:
        """The seed of the run in this folder, or of a new one: drawn if the scenario wants one and has none."""
        if (self.path / MANIFEST_FILE).exists():
            return self.manifest().run_seed
        randomization = benchmark.scenario_config.domain_randomization
        return secrets.randbelow(2**63) if randomization.varies and randomization.seed is None else 0

    def results(self) -> list[EpisodeResult]:
        return list(read_results(self.episodes_file, EpisodeResult)) if self.episodes_file.exists() else []

    def _finished(self) -> list[EpisodeResult]:
        """Keep what counts; what failed by our fault is forgotten and played again."""
        if not self.episodes_file.exists():
            return []
        whole = [line for line in self.episodes_file.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        write_atomically(self.episodes_file, b"".join(whole))
        finished = [result for result in self.results() if is_scored(result)]
        write_atomically(self.episodes_file, b"".join(encode(result) + b"\n" for result in finished))
        return finished
