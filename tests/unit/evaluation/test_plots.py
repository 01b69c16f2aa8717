"""Where the marks of a plot go."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.metrics.statistics import Bootstrap, summarize
from nav_eval.plots import (
    Scale,
    ScatterPoint,
    compute_nice_step,
    compute_range,
    make_histogram,
    make_scatter,
    make_whiskers,
)

numbers = st.floats(-1e9, 1e9, allow_nan=False).map(lambda v: 0.0 if abs(v) < 1e-6 else v)


@pytest.mark.parametrize(
    ("rough", "step"), [(0.17, 0.2), (0.2, 0.2), (1.0, 1.0), (3.0, 5.0), (7.0, 10.0), (23.0, 50.0)]
)
def test_steps_are_round(rough, step):
    assert compute_nice_step(rough) == pytest.approx(step)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.2, 0.9, (0.0, 1.0)),  # a share
        (1.3, 8.7, (0.0, 10.0)),
        (95.0, 99.0, (95.0, 99.0)),
        (-2.0, 3.0, (-2.0, 3.0)),
        (7.0, 7.0, (6.0, 8.0)),
    ],
)
def test_axes_have_round_ends(low, high, expected):
    assert compute_range(low, high) == pytest.approx(expected)


@given(numbers, numbers)
def test_an_axis_holds_its_values(one, other):
    low, high = min(one, other), max(one, other)
    start, end = compute_range(low, high)
    assert start <= low <= high <= end
    assert start < end
    assert 1 <= len(Scale(start, end, 0.0, 100.0).ticks()) <= 12


@given(st.lists(numbers, min_size=1, max_size=50))
@settings(max_examples=50)
def test_a_histogram_counts_every_value_and_stays_in_its_box(values):
    plot = make_histogram("m", values, mean=sum(values) / len(values), width=300.0, height=130.0)
    assert sum(bar.count for bar in plot.bars) == len(values)
    for bar in plot.bars:
        assert 0 <= bar.x <= bar.x + bar.width <= 300
        assert 0 <= bar.y <= bar.y + bar.height <= plot.base + 1e-6
        assert bar.width > 0


def test_yes_or_no_has_two_bars():
    plot = make_histogram("success", [0.0, 1.0, 1.0], mean=2 / 3, width=300.0, height=130.0)
    assert [(bar.label, bar.count) for bar in plot.bars] == [("0", 1), ("1", 2)]
    assert plot.mean is None


def test_whiskers_keep_the_order_of_low_mean_and_high():
    groups = {name: summarize(values, bootstrap=Bootstrap(replicates=99)) for name, values in GROUPS.items()}
    plot = make_whiskers("spl", groups, width=720.0, left=190.0, right=660.0)
    assert [row.label for row in plot.rows] == ["wide", "single"]  # the empty one has nothing to draw
    wide, single = plot.rows
    assert 190.0 <= wide.low < wide.mean < wide.high <= 660.0
    assert (single.low, single.high) == (None, None)
    assert wide.y < single.y < plot.height


GROUPS = {"wide": [0.1, 0.5, 0.9], "single": [0.3], "empty": [math.nan]}


def test_nothing_to_draw():
    assert make_whiskers("m", {"empty": summarize([])}, width=720.0, left=190.0, right=660.0) is None
    assert make_scatter([], x_name="x", y_name="y", width=720.0, height=320.0) is None


def test_a_scatter_plot_draws_a_sample_of_a_large_run_and_says_so():
    points = [ScatterPoint(i, i % 7 / 7, f"ep_{i}", False) for i in range(5_001)]
    plot = make_scatter(points, x_name="x", y_name="y", width=720.0, height=320.0)
    assert plot.of == 5_001
    assert 1_000 < len(plot.dots) <= 2_000
    assert all(plot.left <= dot.x <= 708 and 10 <= dot.y <= plot.base for dot in plot.dots)
