"""Scores of a run's own lines, of every task: the means that its report shows, without a simulator.

Which lines count and what a missing value is worth says `nav_eval.records.scoring`, for the report and here alike.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from nav_eval.errors import RecordError
from nav_eval.evaluation.single_goal_scoring import FileScores
from nav_eval.metrics import METRICS
from nav_eval.records.results import EpisodeOutcome, number_lines, read_bytes, read_lines, require_unique_ids
from nav_eval.records.scoring import get_scored_value, is_higher_better, is_scored

MANIFEST_FILE = "run.json"
EPISODES_FILE = "episodes.jsonl"


class _Manifest(msgspec.Struct):
    config: dict[str, Any]


class _RunLine(msgspec.Struct):
    """What every line of a run has, and no file of trajectories."""

    status: str
    metrics: dict[str, Any]


def is_run(path: Path) -> bool:
    """Whether this is the folder of a run, or its episodes.jsonl."""
    if path.is_dir():
        return True
    first = next(number_lines(read_bytes(path)), None)
    try:
        return first is not None and bool(msgspec.json.decode(first[1], type=_RunLine))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False


def read_run_config(path: Path) -> Mapping[str, Any]:
    """What was run, as its manifest says; empty where only the lines are there."""
    folder = path if path.is_dir() else path.parent
    file = folder / MANIFEST_FILE
    if not file.exists():
        return {}
    try:
        return msgspec.json.decode(read_bytes(file), type=_Manifest).config
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RecordError(f"{file}: {error}.") from error


def read_scored_lines(path: Path) -> list[EpisodeOutcome]:
    """The lines that count."""
    file = path / EPISODES_FILE if path.is_dir() else path
    outcomes = read_lines(file, EpisodeOutcome)
    require_unique_ids((outcome.episode_id for outcome in outcomes), path=file)
    scored = [outcome for outcome in outcomes if is_scored(outcome)]
    if not scored:
        raise RecordError(f"{file} holds no episode that counts; there is nothing to score.")
    return scored


def score_run_lines(path: Path) -> list[dict[str, str | int | float | None]]:
    """What every line scores in each metric."""
    outcomes = read_scored_lines(path)
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome.metrics))
    higher = {name: _is_higher_better(name) for name in names}
    return [
        {
            "episode_id": outcome.episode_id,
            **{name: get_scored_value(outcome, name, higher_is_better=higher[name]) for name in names},
        }
        for outcome in outcomes
    ]


def score_run(path: Path) -> FileScores:
    """The mean of each metric over the lines that have it."""
    lines = score_run_lines(path)
    names = [name for name in lines[0] if name != "episode_id"]
    values = {name: [value for line in lines if isinstance(value := line[name], float)] for name in names}
    return FileScores(
        means={name: _compute_mean(known) for name, known in values.items()},
        left_out={name: len(lines) - len(known) for name, known in values.items() if len(known) < len(lines)},
    )


def _compute_mean(values: list[float]) -> float | None:
    return min(max(math.fsum(values) / len(values), min(values)), max(values)) if values else None


def _is_higher_better(name: str) -> bool:
    return METRICS.get(name).higher_is_better if name in METRICS else is_higher_better(name)
