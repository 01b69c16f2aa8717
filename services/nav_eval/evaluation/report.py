"""`results.json`: what a run amounts to, in the form that the seeds' §3.1.7 prescribe.

The keys of the seeds are there under their names; what we add (groups, invalid values, digests,
how intervals were drawn) stands beside them. It is strict JSON: a number that does not exist is null.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from nav_eval import jsonl
from nav_eval.evaluation.results import EpisodeOutcome, EpisodeResult, encode
from nav_eval.metrics.bootstrap import Bootstrap
from nav_eval.metrics.statistics import Statistics

FORMAT = "nav-eval/results/1"


class FailedEpisode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An episode that did not complete."""

    episode_id: str
    reason: str
    """The named cause, or the status where there is none."""
    scored: bool
    """False for our own faults and for cancellations, which are in no mean."""
    detail: str | None = None


class ReportHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says about itself, apart from its episodes."""

    benchmark: str = "unnamed benchmark"
    timestamp: str = ""
    """UTC, ISO 8601."""
    config: dict[str, Any] = {}
    """As resolved."""
    digests: dict[str, str] = {}
    """Of configuration, episodes, scenes, …: what must be equal for scores to be comparable."""
    engine_version: str = ""
    higher_is_better: dict[str, bool] = {}
    """The direction of each metric."""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many episodes there are of each kind."""

    episodes: int
    scored: int
    """Those that the means are over: completed ones and the agent's own failures."""
    completed: int
    scenes: int


class Report(ReportHeader, frozen=True, kw_only=True):
    """The whole of results.json."""

    episodes: list[EpisodeOutcome]
    aggregated: dict[str, Statistics]
    failed_episodes: list[FailedEpisode]
    counts: Counts
    failures: dict[str, int]
    """How many episodes ended by each cause."""
    invalid_values: dict[str, list[str]]
    """Metric → the scored episodes in which it is missing, NaN or infinite."""
    groups: dict[str, dict[str, dict[str, Statistics]]]
    """Grouping → label → metric → statistics."""
    bootstrap: Bootstrap
    """How the intervals were drawn."""
    scores: dict[str, float | None] = {}
    """LH-VLN: the board row by the benchmark's own rule; other tasks have their row in `aggregated`."""
    format: str = FORMAT


def write_report(path: Path, report: Report) -> None:
    """Write results.json whole or not at all."""
    write_atomically(path, encode_report(report))


def encode_report(report: Report) -> bytes:
    """Indented for people, except that each episode is one line, as in episodes.jsonl."""
    episodes = b",\n".join(b"  " + encode(episode) for episode in report.episodes)
    fields = {field: getattr(report, field) for field in report.__struct_fields__ if field != "episodes"}
    head = msgspec.json.format(msgspec.json.encode(fields), indent=1)
    return head.removesuffix(b"\n}") + b',\n "episodes": [\n' + episodes + b"\n ]\n}\n"


def write_atomically(path: Path, data: bytes) -> None:
    """A reader finds the old file or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class _Episodes(msgspec.Struct, frozen=True):
    episodes: list[EpisodeResult]


def read_header(path: Path) -> ReportHeader:
    """What a results.json says about its run; its episodes are skipped."""
    return jsonl.read_document(path, ReportHeader)


def read_report_episodes(path: Path) -> list[EpisodeResult]:
    """The episodes inside a results.json."""
    return jsonl.read_document(path, _Episodes).episodes
