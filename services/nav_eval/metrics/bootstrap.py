"""Confidence intervals that resample scenes, not episodes.

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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import NavEvalError

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
            yield _only_block(self.seed, rows, units)
            return
        stream = np.random.PCG64(self.seed)
        for start in range(0, rows, height):
            yield _multiplicities(stream, min(height, rows - start), units)


@lru_cache(maxsize=2)
def _only_block(seed: int, rows: int, units: int) -> FloatArray:
    """Kept, because the metrics of one run are resampled one after the other with the same drawings."""
    weights = _multiplicities(np.random.PCG64(seed), rows, units)
    weights.setflags(write=False)
    return weights


def _multiplicities(stream: np.random.PCG64, rows: int, units: int) -> FloatArray:
    high_bits = np.asarray(stream.random_raw(rows * units), dtype=np.uint64) >> np.uint64(32)
    drawn = ((high_bits * np.uint64(units)) >> np.uint64(32)).astype(np.int64).reshape(rows, units)
    cells = drawn + np.arange(rows, dtype=np.int64)[:, None] * units
    return np.bincount(cells.ravel(), minlength=rows * units).reshape(rows, units).astype(np.float64)


@dataclass(frozen=True, kw_only=True, slots=True)
class Units:
    """What is drawn: scenes with their sums, or single episodes."""

    sums: FloatArray  #: one row per scene (or episode), one column per summed quantity
    scenes: int  #: how many different scenes the episodes come from
    note: str | None  #: what a reader must know before trusting an interval of these


def resampling_units(columns: FloatArray, scenes: Sequence[str | None] | None) -> Units:
    """Sum the rows of `columns` (episodes × quantities) per scene; without scenes, each row is a unit, as it stands."""
    names = ["" if scene is None else scene for scene in scenes or ()]
    count = len(set(names))
    if count < 2:
        return Units(sums=columns, scenes=count, note=_plain_note(names))
    return Units(sums=_sums_by(names, columns), scenes=count, note=_few_note(count))


def _sums_by(names: Sequence[str], columns: FloatArray) -> FloatArray:
    """Exact sums (fsum) per name, names in alphabetical order."""
    order = np.array(sorted(range(len(names)), key=names.__getitem__))
    changes = [i for i in range(1, len(order)) if names[order[i]] != names[order[i - 1]]]
    blocks = np.split(columns[order], changes)
    return np.array([[math.fsum(column) for column in block.T.tolist()] for block in blocks])


def _plain_note(names: Sequence[str]) -> str:
    known = "one scene" if any(names) else "no scenes known"
    return f"{known}: episodes were resampled one by one, so the interval says nothing about other scenes"


def _few_note(count: int) -> str | None:
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

    A micro average is `estimate(np.column_stack([hits, trials]), ratio_of_sums, scenes=…)`.
    """
    bootstrap = bootstrap or Bootstrap()
    order = np.lexsort(columns.T)  # the same drawings whatever order the episodes came in
    units = resampling_units(columns[order], scenes and [scenes[i] for i in order])
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


def ratio_of_sums(totals: FloatArray) -> FloatArray:
    """First column over second: a mean when the second column counts, a micro average when it counts trials."""
    return np.asarray(totals[..., 0] / totals[..., 1], dtype=np.float64)
