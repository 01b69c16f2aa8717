"""What a list of scores amounts to: mean, spread, quantiles, and a confidence interval that resamples scenes.

A value that is no number (missing, NaN, infinite) is never averaged and never dropped in silence: it
is counted in `invalid`. Nothing here depends on the order of the episodes. Formulas and choices:
docs/statistics.md.

Episodes of one scene share its walls, its light and its furniture, so their scores are alike: a
hundred episodes in five houses know less about the next house than a hundred episodes in fifty.
Whole scenes are therefore drawn with replacement, and all of their episodes come along. Where there
are fewer than two scenes, episodes are drawn one by one and the result says so.

A drawing of K scenes is a row of K multiplicities, so every replicate of any statistic that is a
function of sums (a mean, a ratio of sums, a weighted score) costs one row of a matrix product on the
K per-scene sums; episodes are touched once. The drawings come from the raw bits of PCG64, whose
stream NumPy keeps fixed, and not from its distributions, whose streams may change between versions.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import NavEvalError
from nav_eval.records.scoring import is_valid

FloatArray: TypeAlias = NDArray[np.float64]
Statistic: TypeAlias = Callable[[FloatArray], FloatArray]
"""Takes sums in the last axis and gives one number per leading index."""

FEW_SCENES = 10
"""Below this a percentile interval over scenes is known to be too narrow; the estimate carries a note."""
BLOCK_CELLS = 1 << 20
"""Multiplicities held at once: 8 MB."""
DRAW_BUDGET = 200_000_000
"""Drawings per interval, a few seconds; with more units than this allows, replicates shrink to no less than 999."""


class StatisticsError(NavEvalError):
    """A statistic was asked of values that do not have it; the message says which and why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bootstrap:
    """How to resample. Equal settings give equal intervals, whatever the order of the episodes."""

    replicates: int = 9_999  #: (replicates + 1)·(1 − confidence)/2 is whole, so that the ends are order statistics
    confidence: float = 0.95  #: probability that the interval aims at
    seed: int = 0  #: of the drawings
    method: Literal["percentile", "basic"] = "percentile"  #: `basic` mirrors the replicates at the estimate

    def __post_init__(self) -> None:
        if self.replicates < 1:
            raise StatisticsError(f"A bootstrap needs at least 1 replicate, not {self.replicates}.")
        if not 0.0 < self.confidence < 1.0:
            raise StatisticsError(f"A confidence lies between 0 and 1, not at {self.confidence}.")

    def totals(self, sums: FloatArray) -> FloatArray:
        """Replicates × columns: the column sums over as many rows of `sums`, drawn with replacement."""
        units = len(sums)
        rows = min(self.replicates, max(DRAW_BUDGET // units, 999))
        return np.concatenate([weights @ sums for weights in self._weights(rows, units)])

    def interval(self, replicates: FloatArray, estimate: float) -> tuple[float, float]:
        """The ends at `confidence`; always around the estimate, which rounding could otherwise leave outside."""
        ordered = np.sort(replicates)
        last = len(ordered) - 1
        tail = min(max(math.floor(round((last + 2) * (1.0 - self.confidence) / 2.0, 9)) - 1, 0), last)
        low, high = float(ordered[tail]), float(ordered[last - tail])
        if self.method == "basic":
            low, high = 2.0 * estimate - high, 2.0 * estimate - low
        return min(low, estimate), max(high, estimate)

    def p_value(self, replicates: FloatArray) -> float:
        """Two-sided, of "the true value is 0"; rejected exactly when the percentile interval leaves 0 out."""
        below, above = np.count_nonzero(replicates <= 0.0), np.count_nonzero(replicates >= 0.0)
        return min(1.0, 2.0 * (min(int(below), int(above)) + 1) / (len(replicates) + 1))

    def rejects(self, p_value: float) -> bool:
        """Whether a p-value this small counts as a difference at `confidence`."""
        return p_value <= round(1.0 - self.confidence, 12)

    def _weights(self, rows: int, units: int) -> Iterator[FloatArray]:
        """Multiplicities of `units` things in `rows` drawings of `units` each, block by block."""
        height = max(1, BLOCK_CELLS // units)
        if rows <= height:
            yield _draw_only_block(self.seed, rows, units)
            return
        stream = np.random.PCG64(self.seed)
        for start in range(0, rows, height):
            yield _draw_multiplicities(stream, min(height, rows - start), units)


@lru_cache(maxsize=2)
def _draw_only_block(seed: int, rows: int, units: int) -> FloatArray:
    """Kept, because the metrics of one run are resampled one after the other with the same drawings."""
    weights = _draw_multiplicities(np.random.PCG64(seed), rows, units)
    weights.setflags(write=False)
    return weights


def _draw_multiplicities(stream: np.random.PCG64, rows: int, units: int) -> FloatArray:
    high_bits = np.asarray(stream.random_raw(rows * units), dtype=np.uint64) >> np.uint64(32)
    drawn = ((high_bits * np.uint64(units)) >> np.uint64(32)).astype(np.int64).reshape(rows, units)
    cells = drawn + np.arange(rows, dtype=np.int64)[:, None] * units
    return np.bincount(cells.ravel(), minlength=rows * units).reshape(rows, units).astype(np.float64)


@dataclass(frozen=True, kw_only=True, slots=True)
class ResamplingUnits:
    """What is drawn: scenes with their sums, or single episodes."""

    sums: FloatArray  #: one row per scene (or episode), one column per summed quantity
    scenes: int  #: how many different scenes the episodes come from
    note: str | None  #: what a reader must know before trusting an interval of these


def make_resampling_units(columns: FloatArray, scenes: Sequence[str | None] | None) -> ResamplingUnits:
    """Sum the rows of `columns` (episodes × quantities) per scene; without scenes, each row is a unit, as it stands."""
    names = ["" if scene is None else scene for scene in scenes or ()]
    count = len(set(names))
    if count < 2:
        return ResamplingUnits(sums=columns, scenes=count, note=_describe_plain_resampling(names))
    return ResamplingUnits(sums=_sum_by_name(names, columns), scenes=count, note=_describe_few_scenes(count))


def _sum_by_name(names: Sequence[str], columns: FloatArray) -> FloatArray:
    """Exact sums (fsum) per name, names in alphabetical order."""
    order = np.array(sorted(range(len(names)), key=names.__getitem__))
    changes = [i for i in range(1, len(order)) if names[order[i]] != names[order[i - 1]]]
    blocks = np.split(columns[order], changes)
    return np.array([[math.fsum(column) for column in block.T.tolist()] for block in blocks])


def _describe_plain_resampling(names: Sequence[str]) -> str:
    known = "one scene" if any(names) else "no scenes known"
    return f"{known}: episodes were resampled one by one, so the interval says nothing about other scenes"


def _describe_few_scenes(count: int) -> str | None:
    return f"only {count} scenes: the interval is likely too narrow" if count < FEW_SCENES else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """One number with what the episodes say about its uncertainty."""

    value: float  #: the statistic of all episodes
    low: float  #: lower end of the interval
    high: float  #: upper end of the interval
    spread: float  #: standard deviation of the replicates, the bootstrap's standard error
    p_value: float  #: two-sided, of "the true value is 0"
    scenes: int  #: different scenes behind it
    note: str | None  #: what a reader must know before trusting it


def estimate(
    columns: FloatArray,
    statistic: Statistic,
    *,
    scenes: Sequence[str | None] | None = None,
    bootstrap: Bootstrap | None = None,
) -> Estimate:
    """`statistic` of the column sums of `columns` (episodes × quantities), with its interval.

    A micro average is `estimate(np.column_stack([hits, trials]), compute_ratio, scenes=…)`.
    """
    bootstrap = bootstrap or Bootstrap()
    order = np.lexsort(columns.T)  # the same drawings whatever order the episodes came in
    units = make_resampling_units(columns[order], scenes and [scenes[i] for i in order])
    totals = np.array([math.fsum(column) for column in columns.T.tolist()])
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(totals))
        replicates = np.asarray(statistic(bootstrap.totals(units.sums)), dtype=np.float64)
    replicates = replicates[np.isfinite(replicates)]  # a drawing of scenes that hold no trial has no ratio
    if not math.isfinite(value) or replicates.size == 0:
        raise StatisticsError("The statistic of these episodes is not a finite number; check their denominators.")
    low, high = bootstrap.interval(replicates, value)
    return Estimate(
        value=value,
        low=low,
        high=high,
        spread=float(np.std(replicates)),
        p_value=bootstrap.p_value(replicates),
        scenes=units.scenes,
        note=units.note,
    )


def compute_ratio(totals: FloatArray) -> FloatArray:
    """First column over second: a mean when the second column counts, a micro average when it counts trials."""
    return np.asarray(totals[..., 0] / totals[..., 1], dtype=np.float64)


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


def summarize(
    values: Iterable[float | None], *, scenes: Sequence[str | None] | None = None, bootstrap: Bootstrap | None = None
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
    return _compute_statistics(numbers, None if scenes is None else [scenes[i] for i in kept], invalid, bootstrap)


def _compute_statistics(
    numbers: FloatArray, scenes: Sequence[str | None] | None, invalid: int, bootstrap: Bootstrap | None
) -> Statistics:
    mean = compute_exact_mean(numbers)
    low, high, known_scenes, note = _compute_interval(numbers, mean, scenes, bootstrap)
    q05, q25, q50, q75, q95 = np.quantile(numbers, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
    return Statistics(
        mean=mean,
        std=_compute_sample_std(numbers, mean),
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


def compute_exact_mean(numbers: FloatArray) -> float:
    """The mean by an exactly rounded sum, kept between the extremes that rounding could cross."""
    mean = math.fsum(numbers.tolist()) / len(numbers)
    return min(max(mean, float(numbers.min())), float(numbers.max()))


def _compute_sample_std(numbers: FloatArray, mean: float) -> float | None:
    if len(numbers) < 2:
        return None
    return math.sqrt(math.fsum(((numbers - mean) ** 2).tolist()) / (len(numbers) - 1))


def _compute_interval(
    numbers: FloatArray, mean: float, scenes: Sequence[str | None] | None, bootstrap: Bootstrap | None
) -> tuple[float | None, float | None, int, str | None]:
    """Ends, number of scenes and note; a point would be mistaken for certainty, so it comes with a note."""
    if len(numbers) < 2:
        return None, None, len(set(scenes or ())), "one episode has no interval"
    ones = np.ones_like(numbers)
    result = estimate(np.column_stack([numbers, ones]), compute_ratio, scenes=scenes, bootstrap=bootstrap)
    smallest, largest = float(numbers.min()), float(numbers.max())
    if smallest == largest:
        return mean, mean, result.scenes, "all values are equal: the interval is a point and proves nothing"
    return max(min(result.low, mean), smallest), min(max(result.high, mean), largest), result.scenes, result.note


def to_natural_key(text: str) -> tuple[list[tuple[int, int, str]], str]:
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
