"""What a list of scores amounts to: mean, spread, quantiles and a confidence interval.

A value that is no number (missing, NaN, infinite) is never averaged and never dropped in silence: it
is counted in `invalid`. Nothing here depends on the order of the episodes. Formulas and choices:
docs/statistics.md.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nav_eval.metrics.bootstrap import Bootstrap, FloatArray, estimate, ratio_of_sums

LARGEST = 1e100
"""Magnitudes beyond this are invalid: their squares overflow, and nothing that is measured comes near."""

LOWER_IS_BETTER = frozenset(
    {
        "navigation_error",
        "oracle_navigation_error",
        "distance_to_goal",
        "ne",
        "dtw",
        "collisions",
        "steps",
        "time",
        "path_length",
    }
)
"""Metrics whose small values are good, for callers that have no metric registry at hand."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistics:
    """One metric over many episodes. What too few values leave undefined is None."""

    mean: float | None  #: arithmetic mean of the valid values
    std: float | None  #: sample standard deviation (n − 1); None below two values
    count: int  #: valid values
    invalid: int = 0  #: missing, NaN or infinite values, which are in no other number here
    min: float | None = None  #: smallest
    max: float | None = None  #: largest
    q05: float | None = None  #: quantiles, linear between order statistics
    q25: float | None = None
    q50: float | None = None  #: the median
    q75: float | None = None
    q95: float | None = None
    ci_low: float | None = None  #: confidence interval of the mean, scenes resampled
    ci_high: float | None = None
    scenes: int = 0  #: different scenes among the valid values
    note: str | None = None  #: what a reader must know before trusting the interval


def is_valid(value: float | None) -> bool:
    """Whether a score can be averaged: a finite number of a sane magnitude."""
    return value is not None and abs(value) <= LARGEST  # false for NaN and ±inf alike


def is_higher_better(metric: str, directions: Mapping[str, bool] | None = None) -> bool:
    """The direction that `directions` states for `metric`, or else the customary one."""
    return (directions or {}).get(metric, metric not in LOWER_IS_BETTER)


def summarise(
    values: Iterable[float | None],
    *,
    scenes: Sequence[str | None] | None = None,
    bootstrap: Bootstrap | None = None,
) -> Statistics:
    """Statistics of `values`; `scenes` names the scene of each, for the interval."""
    everything = list(values)
    if scenes is not None and len(scenes) != len(everything):
        raise ValueError(f"{len(everything)} values but {len(scenes)} scenes")
    kept = [index for index, value in enumerate(everything) if is_valid(value)]
    numbers = np.array([everything[index] for index in kept], dtype=np.float64)
    invalid = len(everything) - len(kept)
    if not kept:
        return Statistics(mean=None, std=None, count=0, invalid=invalid)
    return _describe(numbers, None if scenes is None else [scenes[i] for i in kept], invalid, bootstrap)


def _describe(
    numbers: FloatArray, scenes: Sequence[str | None] | None, invalid: int, bootstrap: Bootstrap | None
) -> Statistics:
    mean = exact_mean(numbers)
    low, high, known_scenes, note = _interval(numbers, mean, scenes, bootstrap)
    q05, q25, q50, q75, q95 = np.quantile(numbers, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
    return Statistics(
        mean=mean,
        std=_sample_std(numbers, mean),
        count=len(numbers),
        invalid=invalid,
        min=float(numbers.min()),
        max=float(numbers.max()),
        q05=q05,
        q25=q25,
        q50=q50,
        q75=q75,
        q95=q95,
        ci_low=low,
        ci_high=high,
        scenes=known_scenes,
        note=note,
    )


def exact_mean(numbers: FloatArray) -> float:
    """The mean by an exactly rounded sum, kept between the extremes that rounding could cross."""
    mean = math.fsum(numbers.tolist()) / len(numbers)
    return min(max(mean, float(numbers.min())), float(numbers.max()))


def _sample_std(numbers: FloatArray, mean: float) -> float | None:
    if len(numbers) < 2:
        return None
    return math.sqrt(math.fsum(((numbers - mean) ** 2).tolist()) / (len(numbers) - 1))


def _interval(
    numbers: FloatArray, mean: float, scenes: Sequence[str | None] | None, bootstrap: Bootstrap | None
) -> tuple[float | None, float | None, int, str | None]:
    """Ends, number of scenes and note; a point would be mistaken for certainty, so it comes with a note."""
    if len(numbers) < 2:
        return None, None, len(set(scenes or ())), "one episode has no interval"
    ones = np.ones_like(numbers)
    result = estimate(np.column_stack([numbers, ones]), ratio_of_sums, scenes=scenes, bootstrap=bootstrap)
    smallest, largest = float(numbers.min()), float(numbers.max())
    if smallest == largest:
        return mean, mean, result.scenes, "all values are equal: the interval is a point and proves nothing"
    return max(min(result.low, mean), smallest), min(max(result.high, mean), largest), result.scenes, result.note


def summarise_groups(
    labels: Sequence[str],
    values: Sequence[float | None],
    *,
    scenes: Sequence[str | None] | None = None,
    bootstrap: Bootstrap | None = None,
) -> dict[str, Statistics]:
    """Statistics per label, labels in the order in which a person would list them."""
    members: dict[str, list[int]] = {label: [] for label in sorted(set(labels), key=natural_order)}
    for index, label in enumerate(labels):
        members[label].append(index)
    return {
        label: summarise(
            [values[i] for i in chosen],
            scenes=None if scenes is None else [scenes[i] for i in chosen],
            bootstrap=bootstrap,
        )
        for label, chosen in members.items()
    }


def natural_order(text: str) -> tuple[list[tuple[int, int, str]], str]:
    """A sort key by which `ep_2` comes before `ep_10`, and `5–10 m` before `10–20 m`."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", text)
    return [(0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in parts], text


@dataclass(frozen=True, kw_only=True, slots=True)
class Bins:
    """Fixed ranges, so that the groups of two runs can be compared."""

    edges: tuple[float, ...]  #: lower ends, ascending; the last range is open above
    unit: str  #: what the numbers count
    whole: bool = False  #: counts: written `10–19`, where lengths are written `10–20`

    def label(self, value: float) -> str:
        """The range that holds `value`, as a reader writes it; a lower end belongs to its range."""
        index = max(bisect_right(self.edges, value) - 1, 0)
        low = f"{self.edges[index]:g}"
        if index == len(self.edges) - 1:
            return f"{low}+ {self.unit}"
        return f"{low}–{self.edges[index + 1] - self.whole:g} {self.unit}"
