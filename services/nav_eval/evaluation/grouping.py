"""Ways to divide the episodes of a run, so that a mean can say where it comes from."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from nav_eval.errors import UnknownName
from nav_eval.evaluation.results import EpisodeOutcome
from nav_eval.metrics.statistics import Bins, is_valid

Grouping: TypeAlias = Callable[[EpisodeOutcome], str | None]
"""The label of an episode, or None where it has none."""

INSTRUCTION_WORDS = Bins(edges=(0, 10, 20, 30, 50, 100), unit="words", whole=True)
PATH_METRES = Bins(edges=(0, 5, 10, 15, 20, 30), unit="m")


def by_scene(outcome: EpisodeOutcome) -> str | None:
    return outcome.scene_id


def by_subtasks(outcome: EpisodeOutcome) -> str | None:
    return str(len(outcome.subtasks)) if outcome.subtasks else None


def by_instruction(outcome: EpisodeOutcome) -> str | None:
    """Length of the instruction, in ranges of words."""
    length = outcome.instruction_length
    if length is None and outcome.instruction is not None:
        length = word_count(outcome.instruction)
    return None if length is None else INSTRUCTION_WORDS.label(length)


def by_path(outcome: EpisodeOutcome) -> str | None:
    """Length of the shortest path, in ranges of metres; of an LH-VLN task, what its sub-tasks add up to."""
    length = path_length(outcome)
    return None if length is None else PATH_METRES.label(length)


def path_length(outcome: EpisodeOutcome) -> float | None:
    """How far the goal is: metres of the shortest path, where the line states them."""
    if outcome.shortest_path_length is not None:
        return outcome.shortest_path_length if is_valid(outcome.shortest_path_length) else None
    legs = [subtask.ground_truth_distance for subtask in outcome.subtasks]
    known = [leg for leg in legs if leg is not None and is_valid(leg)]
    return sum(known) if known and len(known) == len(legs) else None


def word_count(text: str) -> int:
    """Words between spaces; Chinese and Japanese characters count one each."""
    words = re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+", text)
    return sum(any(character.isalnum() for character in word) for word in words)


GROUPINGS: Mapping[str, Grouping] = {
    "scene": by_scene,
    "subtasks": by_subtasks,
    "instruction": by_instruction,
    "path": by_path,
}

TITLES: Mapping[str, str] = {
    "scene": "scene",
    "subtasks": "number of sub-tasks",
    "instruction": "length of the instruction",
    "path": "length of the shortest path",
}
"""What a reader calls the built-in groupings."""


def grouping_named(name: str, outcomes: Iterable[EpisodeOutcome]) -> Grouping:
    """A built-in grouping, or one that the episodes bring in their `groups`."""
    if name in GROUPINGS:
        return GROUPINGS[name]
    own = {key for outcome in outcomes for key in outcome.groups}
    if name not in own:
        known = ", ".join([*GROUPINGS, *sorted(own)])
        raise UnknownName(f"Episodes cannot be grouped by {name!r}. Known: {known}.")
    return lambda outcome: _text(outcome.groups.get(name))


def _text(label: str | float | None) -> str | None:
    return label if label is None or isinstance(label, str) else f"{label:g}"
