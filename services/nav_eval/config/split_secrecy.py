"""Does a competition give the answers of a split away that it means to keep?

A phase with the preset `test` says that nobody may learn its split by heart. That promise is broken by an exception
of its own, or by another phase that plays the same episodes and shows them. Both are told; what contradicts itself is
refused.
"""

import re
from collections.abc import Iterator, Mapping

from nav_eval.config.layers import ConfigLayer
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.config.schema.competition import ANSWERS, CompetitionConfig, PhaseConfig
from nav_eval.errors import ConfigError

_SECRET_SPLIT = re.compile(r"(^|[_-])(test|hidden|secret)([_-]|$)")


def check_visibility(
    competition: CompetitionConfig, benchmarks: Mapping[str, BenchmarkConfig], layer: ConfigLayer, *, source: str
) -> list[str]:
    """What deserves a second look; `benchmarks` is by phase. A phase that contradicts itself is refused."""
    notes: list[str] = []
    for index, phase in enumerate(competition.phases):
        where = layer.origin(("phases", index, "visibility")) or source
        _refuse_contradictions(phase, where=str(where))
        found = (*_find_unnamed_preset(phase, layer, index), *_find_shown_answers(phase, competition, benchmarks))
        notes += [f"{where}: phase {phase.name!r} {note}" for note in found]
    return notes


def _refuse_contradictions(phase: PhaseConfig, *, where: str) -> None:
    shown = phase.visibility
    for part, audience in shown.contradictions.items():
        raise ConfigError(
            f"{where}: phase {phase.name!r} shows {part} to the {audience} and scores to the {shown.scores} only, but "
            f"scores can be computed from {part}. Write {part}: {shown.scores}, or scores: {audience}."
        )


def _find_unnamed_preset(phase: PhaseConfig, layer: ConfigLayer, index: int) -> Iterator[str]:
    """Files of before presets: what they leave out was for teams then, and is the organiser's now."""
    given = layer.tree["phases"][index].get("visibility")
    if not isinstance(given, Mapping) or "preset" in given:
        return
    silent = [part for part in ANSWERS if part not in given]
    if silent:
        yield (
            "names no preset in its visibility, which is deprecated: `test` is taken, so "
            f"{' and '.join(silent)} are for the organiser (they were for the team before). "
            "Write `preset: test`, or `preset: practice` to show them."
        )
    else:
        yield "names no preset in its visibility, which is deprecated; write `preset: test` or `preset: practice`."


def _find_shown_answers(
    phase: PhaseConfig, competition: CompetitionConfig, benchmarks: Mapping[str, BenchmarkConfig]
) -> Iterator[str]:
    shown = phase.visibility.shown_answers
    if not shown:
        return
    told = " and ".join(f"{part} to the {audience}" for part, audience in shown.items())
    dataset = benchmarks[phase.name].dataset
    if phase.visibility.preset == "test":
        yield f"keeps its split secret (preset test) and shows {told}: whoever submits twice has the answers."
    elif dataset.split is not None and _SECRET_SPLIT.search(dataset.split):
        yield f"plays the split {dataset.split!r} and shows {told}: if it is a hidden split, use the preset test."
    for other in competition.phases:
        same = benchmarks[other.name].dataset
        if other.visibility.preset == "test" and other is not phase and _play_alike(dataset, same):
            yield f"shows {told} of the episodes that phase {other.name!r} keeps secret: give the two different splits."


def _play_alike(one: object, other: object) -> bool:
    return all(getattr(one, key) == getattr(other, key) for key in ("data_path", "split"))
