"""The geometry of SVG plots: where marks go, in the user units of a view box.

Only numbers and labels here; the template draws them, and escapes what comes from files.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nav_eval.metrics.statistics import Statistics

BINS = 20
MOST_POINTS = 2_000  #: dots of a scatter plot; beyond that an even sample is drawn, and the plot says so


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight line from values to positions."""

    low: float
    high: float
    start: float  #: position of `low`
    end: float  #: position of `high`

    def __call__(self, value: float) -> float:
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)

    def ticks(self, about: int = 5, *, same_decimals: bool = False) -> list["AxisTick"]:
        """Round numbers within the scale, with their positions."""
        step = compute_nice_step((self.high - self.low) / about)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        form = f".{max(0, -math.floor(math.log10(step)))}f" if same_decimals else ".6g"
        return [AxisTick(self(k * step), f"{k * step:{form}}") for k in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class AxisTick:
    at: float
    label: str


def compute_nice_step(rough: float) -> float:
    """1, 2 or 5 times a power of ten, about as large as asked."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if rough <= factor * power * (1 + 1e-9))


def compute_range(low: float, high: float) -> tuple[float, float]:
    """The range of an axis: 0 to 1 for shares, round ends for anything else."""
    if low >= 0.0 and high <= 1.0:
        return 0.0, 1.0
    step = compute_nice_step((high - low) / 5 or abs(high) / 5 or 1.0)
    low = 0.0 if 0.0 <= low < high / 2 else math.floor(low / step) * step
    return low, max(math.ceil(high / step) * step, low + step)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a histogram."""

    x: float
    y: float
    width: float
    height: float
    label: str  #: what it counts, for tooltips and tables
    count: int


@dataclass(frozen=True, slots=True)
class Histogram:
    metric: str
    width: float
    height: float
    base: float  #: where the bars stand
    bars: list[Bar]
    ticks: list[AxisTick]
    mean: float | None  #: position of the mean


def make_histogram(
    metric: str, values: Sequence[float], *, mean: float | None, width: float, height: float
) -> Histogram:
    """Bars over round bins; yes-or-no metrics get two narrow ones."""
    numbers = np.asarray(values, dtype=np.float64)
    low, high = compute_range(float(numbers.min()), float(numbers.max()))
    binary = bool(np.isin(numbers, (0.0, 1.0)).all())
    counts, edges = np.histogram(numbers, bins=2 if binary else BINS, range=(low, high))
    across, up = Scale(low, high, 6.0, width - 6.0), Scale(0.0, float(counts.max()), height - 20.0, 14.0)
    gap = 0.3 * (width - 12.0) / 2 if binary else 1.0
    bars = [
        Bar(
            x=across(left) + gap / 2,
            y=up(count),
            width=across(right) - across(left) - gap,
            height=up(0.0) - up(count),
            label=f"{side}" if binary else f"{left:.4g} to {right:.4g}",
            count=count,
        )
        for side, (left, right, count) in enumerate(
            zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
        )
    ]
    ticks = [AxisTick(across(0.25), "0"), AxisTick(across(0.75), "1")] if binary else across.ticks()
    position = None if mean is None or binary else across(mean)
    return Histogram(metric, width, height, up(0.0), bars, ticks, position)


@dataclass(frozen=True, slots=True)
class Whisker:
    """A mean with its interval, on a horizontal scale."""

    label: str
    y: float
    low: float | None
    mean: float
    high: float | None
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class Whiskers:
    """Several means under each other, on one scale."""

    metric: str
    width: float
    height: float
    left: float  #: where the scale begins; labels stand before it
    right: float  #: where it ends; counts stand after it
    ticks: list[AxisTick]
    rows: list[Whisker]


def make_whiskers(
    metric: str, groups: Mapping[str, Statistics], *, width: float, left: float, right: float, row: float = 24.0
) -> Whiskers | None:
    """One row per group that has a mean; None if there is none."""
    known = {label: item for label, item in groups.items() if item.mean is not None}
    if not known:
        return None
    ends = [end for item in known.values() for end in (item.ci_low, item.mean, item.ci_high) if end is not None]
    across = Scale(*compute_range(min(ends), max(ends)), left, right)
    rows = [
        Whisker(
            label,
            10.0 + row * index + row / 2,
            _to_position(across, item.ci_low),
            across(item.mean or 0.0),
            _to_position(across, item.ci_high),
            item,
        )
        for index, (label, item) in enumerate(known.items())
    ]
    return Whiskers(metric, width, 10.0 + row * len(rows) + 24.0, left, right, across.ticks(), rows)


def _to_position(scale: Scale, value: float | None) -> float | None:
    return None if value is None else scale(value)


@dataclass(frozen=True, slots=True)
class ScatterDot:
    x: float
    y: float
    label: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Scatter:
    x_name: str
    y_name: str
    width: float
    height: float
    left: float
    base: float
    x_ticks: list[AxisTick]
    y_ticks: list[AxisTick]
    dots: list[ScatterDot]
    of: int  #: how many there would be


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """One episode in a scatter plot."""

    x: float
    y: float
    label: str
    failed: bool


def make_scatter(
    points: Sequence[ScatterPoint], *, x_name: str, y_name: str, width: float, height: float
) -> Scatter | None:
    """Dots on round axes; None without points."""
    if not points:
        return None
    xs, ys = [p.x for p in points], [p.y for p in points]
    across = Scale(*compute_range(min(xs), max(xs)), 44.0, width - 12.0)
    up = Scale(*compute_range(min(ys), max(ys)), height - 36.0, 10.0)
    chosen = points[:: math.ceil(len(points) / MOST_POINTS)]
    dots = [ScatterDot(across(p.x), up(p.y), p.label, p.failed) for p in chosen]
    return Scatter(x_name, y_name, width, height, across.start, up.start, across.ticks(), up.ticks(), dots, len(points))
