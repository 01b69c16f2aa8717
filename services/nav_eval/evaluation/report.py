"""`results.json`: what a run amounts to, in the form that §3.1.7 of the specification prescribes.

The keys of the specification are there under their names; what we add (groups, invalid values, digests,
how intervals were drawn) stands beside them. It is strict JSON: a number that does not exist is null.

Groupings divide the episodes of a run, so that a mean can say where it comes from.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from nav_eval.errors import UnknownName
from nav_eval.metrics.statistics import Bins, Bootstrap, Statistics
from nav_eval.records import results
from nav_eval.records.results import EpisodeOutcome, EpisodeResult, encode_result
from nav_eval.records.scoring import is_valid
from nav_eval.whole_files import write_atomically

FORMAT = "nav-eval/results/1"


class FailedEpisode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An episode that did not complete."""

    episode_id: str
    reason: str  #: the named cause, or the status where there is none
    scored: bool  #: false for our own faults and for cancellations, which are in no mean
    detail: str | None = None


class ReportHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says about itself, apart from its episodes."""

    benchmark: str = "unnamed benchmark"
    agent: dict[str, str] = {}  #: name and version, as it gives them itself
    timestamp: str = ""  #: UTC, ISO 8601
    config: dict[str, Any] = {}  #: as resolved
    digests: dict[str, str] = {}
    """Of configuration, episodes, scenes, …: what must be equal for scores to be comparable."""
    engine_version: str = ""
    higher_is_better: dict[str, bool] = {}  #: the direction of each metric


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many episodes there are of each kind."""

    episodes: int
    scored: int  #: those that the means are over: completed ones and the agent's own failures
    completed: int
    scenes: int


class Report(ReportHeader, frozen=True, kw_only=True):
    """The whole of results.json."""

    episodes: list[EpisodeOutcome]
    aggregated: dict[str, Statistics]
    failed_episodes: list[FailedEpisode]
    counts: Counts
    failures: dict[str, int]  #: how many episodes ended by each cause
    invalid_values: dict[str, list[str]]  #: metric → the scored episodes in which it is missing, NaN or infinite
    groups: dict[str, dict[str, dict[str, Statistics]]]  #: grouping → label → metric → statistics
    bootstrap: Bootstrap  #: how the intervals were drawn
    scores: dict[str, float | None] = {}
    """LH-VLN: the board row by the benchmark's own rule; other tasks have their row in `aggregated`."""
    format: str = FORMAT


def write_report(path: Path, report: Report) -> None:
    """Write results.json whole or not at all."""
    write_atomically(path, encode_report(report))


def encode_report(report: Report) -> bytes:
    """Indented for people, except that each episode is one line, as in episodes.jsonl."""
    episodes = b",\n".join(b"  " + encode_result(episode) for episode in report.episodes)
    fields = {field: getattr(report, field) for field in report.__struct_fields__ if field != "episodes"}
    head = msgspec.json.format(msgspec.json.encode(fields), indent=1)
    return head.removesuffix(b"\n}") + b',\n "episodes": [\n' + episodes + b"\n ]\n}\n"


def format_number(value: float | None, *, like: float | None = None) -> str:
    """Three decimals for shares, fewer for larger numbers; `like` sets the scale of a column."""
    if value is None or not math.isfinite(value):
        return "–"
    scale = abs(value if like is None else like)
    return f"{value:.3f}" if scale <= 1.0 else f"{value:.2f}" if scale < 1000.0 else f"{value:.0f}"


class _Episodes(msgspec.Struct, frozen=True):
    episodes: list[EpisodeResult]


def read_header(path: Path) -> ReportHeader:
    """What a results.json says about its run; its episodes are skipped."""
    return results.read_document(path, ReportHeader)


def read_report_episodes(path: Path) -> list[EpisodeResult]:
    """The episodes inside a results.json."""
    return results.read_document(path, _Episodes).episodes


Grouping: TypeAlias = Callable[[EpisodeOutcome], str | None]
"""The label of an episode, or None where it has none."""

INSTRUCTION_WORDS = Bins(edges=(0, 10, 20, 30, 50, 100), unit="words", whole=True)
PATH_METRES = Bins(edges=(0, 5, 10, 15, 20, 30), unit="m")


def group_by_scene(outcome: EpisodeOutcome) -> str | None:
    return outcome.scene_id


def group_by_subtasks(outcome: EpisodeOutcome) -> str | None:
    return str(len(outcome.subtasks)) if outcome.subtasks else None


def group_by_instruction(outcome: EpisodeOutcome) -> str | None:
    """Length of the instruction, in ranges of words."""
    length = outcome.instruction_length
    if length is None and outcome.instruction is not None:
        length = count_words(outcome.instruction)
    return None if length is None else INSTRUCTION_WORDS.label(length)


def group_by_path(outcome: EpisodeOutcome) -> str | None:
    """Length of the shortest path, in ranges of metres; of an LH-VLN task, what its sub-tasks add up to."""
    length = get_path_length(outcome)
    return None if length is None else PATH_METRES.label(length)


def get_path_length(outcome: EpisodeOutcome) -> float | None:
    """How far the goal is: metres of the shortest path, where the line states them."""
    if outcome.shortest_path_length is not None:
        return outcome.shortest_path_length if is_valid(outcome.shortest_path_length) else None
    legs = [subtask.ground_truth_distance for subtask in outcome.subtasks]
    known = [leg for leg in legs if leg is not None and is_valid(leg)]
    return sum(known) if known and len(known) == len(legs) else None


def count_words(text: str) -> int:
    """Words between spaces; Chinese and Japanese characters count one each."""
    words = re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+", text)
    return sum(any(character.isalnum() for character in word) for word in words)


GROUPINGS: Mapping[str, Grouping] = {
    "scene": group_by_scene,
    "subtasks": group_by_subtasks,
    "instruction": group_by_instruction,
    "path": group_by_path,
}

GROUP_TITLES: Mapping[str, str] = {
    "scene": "scene",
    "subtasks": "number of sub-tasks",
    "instruction": "length of the instruction",
    "path": "length of the shortest path",
}
"""What a reader calls the built-in groupings."""


def get_grouping(name: str, outcomes: Iterable[EpisodeOutcome]) -> Grouping:
    """A built-in grouping, or one that the episodes bring in their `groups`."""
    if name in GROUPINGS:
        return GROUPINGS[name]
    own = {key for outcome in outcomes for key in outcome.groups}
    if name not in own:
        known = ", ".join([*GROUPINGS, *sorted(own)])
        raise UnknownName(f"Episodes cannot be grouped by {name!r}. Known: {known}.")
    return lambda outcome: _format_label(outcome.groups.get(name))


def _format_label(label: str | float | None) -> str | None:
    return label if label is None or isinstance(label, str) else f"{label:g}"
