"""What a list of scores amounts to."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.metrics.statistics import Bins, Bootstrap, Statistics, summarize, to_natural_key
from nav_eval.records.scoring import is_higher_better, is_valid

finite = st.floats(-1e6, 1e6, allow_nan=False)
anything = st.one_of(finite, st.sampled_from([None, math.nan, math.inf, -math.inf, 1e300]))
quick = Bootstrap(replicates=99)


@given(st.lists(finite, min_size=2, max_size=60))
def test_agrees_with_scipy(values):
    from scipy.stats.mstats import mquantiles  # heavier to load than all other tests of metrics

    result = summarize(values, bootstrap=quick)
    assert result.mean == pytest.approx(np.mean(values), rel=1e-9, abs=1e-9)
    assert result.std == pytest.approx(np.std(values, ddof=1), rel=1e-6, abs=1e-6)
    expected = mquantiles(values, (0.05, 0.25, 0.5, 0.75, 0.95), alphap=1, betap=1)
    assert [result.q05, result.q25, result.q50, result.q75, result.q95] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.lists(anything, max_size=40), st.randoms())
@settings(max_examples=50)
def test_order_does_not_matter(values, random):
    shuffled = random.sample(values, len(values))
    assert summarize(values, bootstrap=quick) == summarize(shuffled, bootstrap=quick)


@given(st.lists(st.tuples(anything, st.sampled_from(["a", "b", "c", None])), max_size=40))
@settings(max_examples=50)
def test_every_number_is_finite_and_in_its_place(rows):
    result = summarize([v for v, _ in rows], scenes=[s for _, s in rows], bootstrap=quick)
    assert result.count + result.invalid == len(rows)
    assert result.invalid == sum(not is_valid(v) for v, _ in rows)
    if result.count == 0:
        assert result == Statistics(mean=None, std=None, count=0, invalid=len(rows))
        return
    ladder = [result.min, result.q05, result.q25, result.q50, result.q75, result.q95, result.max]
    assert all(low <= high + 1e-9 * abs(high) for low, high in itertools.pairwise(ladder))
    assert result.min <= result.mean <= result.max
    if result.count > 1:
        assert result.min <= result.ci_low <= result.mean <= result.ci_high <= result.max


@pytest.mark.parametrize("bad", [None, math.nan, math.inf, -math.inf, 1e101, -1e308])
def test_what_is_no_number_is_counted_and_not_averaged(bad):
    result = summarize([1.0, bad, 3.0, bad])
    assert (result.mean, result.count, result.invalid, result.max) == (2.0, 2, 2, 3.0)


def test_nothing_at_all():
    assert summarize([]) == Statistics(mean=None, std=None, count=0)


def test_one_value_claims_no_certainty():
    result = summarize([0.7], scenes=["a"])
    assert (result.mean, result.std, result.ci_low, result.ci_high, result.scenes) == (0.7, None, None, None, 1)
    assert "one episode" in result.note


def test_equal_values_claim_no_certainty_either():
    result = summarize([1.0] * 30, scenes=[f"s{i}" for i in range(30)])
    assert (result.ci_low, result.ci_high) == (1.0, 1.0)
    assert "proves nothing" in result.note


def test_booleans_are_scores():
    assert summarize([True, False, True, True]).mean == 0.75


def test_a_sum_is_exact():
    # Left to right these give 0; the mean of the exact sum is 0.25.
    assert summarize([1e17, 1.0, -1e17, 0.0]).mean == 0.25


def test_scenes_must_match_the_values():
    with pytest.raises(ValueError, match="3 values but 2 scenes"):
        summarize([1.0, 2.0, 3.0], scenes=["a", "b"])


def test_the_scene_of_an_invalid_value_does_not_count():
    result = summarize([1.0, 2.0, math.nan], scenes=["a", "a", "b"])
    assert (result.scenes, result.count) == (1, 2)
    assert "one scene" in result.note


@given(st.lists(st.text(max_size=12), max_size=20), st.randoms())
@settings(max_examples=50)
def test_natural_order_is_total(texts, random):
    shuffled = random.sample(texts, len(texts))
    assert sorted(texts, key=to_natural_key) == sorted(shuffled, key=to_natural_key)


def test_natural_order_counts():
    assert sorted(["ep_10", "ep_9", "ep_1"], key=to_natural_key) == ["ep_1", "ep_9", "ep_10"]
    labels = ["20+ m", "5–10 m", "0–5 m", "10–20 m"]
    assert sorted(labels, key=to_natural_key) == ["0–5 m", "5–10 m", "10–20 m", "20+ m"]


@pytest.mark.parametrize(
    ("bins", "value", "label"),
    [
        (Bins(edges=(0, 5, 10), unit="m"), 0.0, "0–5 m"),
        (Bins(edges=(0, 5, 10), unit="m"), 4.999, "0–5 m"),
        (Bins(edges=(0, 5, 10), unit="m"), 5.0, "5–10 m"),  # a lower end belongs to its range
        (Bins(edges=(0, 5, 10), unit="m"), 10.0, "10+ m"),
        (Bins(edges=(0, 5, 10), unit="m"), 1e9, "10+ m"),
        (Bins(edges=(0, 5, 10), unit="m"), -1.0, "0–5 m"),
        (Bins(edges=(0, 2.5, 10), unit="m"), 3.0, "2.5–10 m"),
        (Bins(edges=(0, 10, 20), unit="words", whole=True), 10, "10–19 words"),
        (Bins(edges=(0, 10, 20), unit="words", whole=True), 9, "0–9 words"),
        (Bins(edges=(0, 10, 20), unit="words", whole=True), 20, "20+ words"),
    ],
)
def test_bins_name_their_ranges(bins, value, label):
    assert bins.label(value) == label


@pytest.mark.parametrize(
    ("metric", "directions", "expected"),
    [
        ("spl", None, True),
        ("navigation_error", None, False),
        ("anything_new", None, True),
        ("anything_new", {"anything_new": False}, False),
        ("steps", {"steps": True}, True),  # the caller knows best
    ],
)
def test_direction(metric, directions, expected):
    assert is_higher_better(metric, directions) is expected
