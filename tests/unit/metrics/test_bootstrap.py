"""The resampling itself: drawings, intervals, p-values, and what they cost."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.metrics import statistics as bootstrap_module
from nav_eval.metrics.statistics import Bootstrap, StatisticsError, compute_ratio, estimate, make_resampling_units

finite = st.floats(-1e3, 1e3, allow_nan=False)
quick = Bootstrap(replicates=199)


def ones_beside(values):
    return np.column_stack([values, np.ones(len(values))])


def test_every_drawing_takes_as_many_units_as_there_are():
    totals = Bootstrap(replicates=500).totals(np.ones((37, 1)))
    assert totals.shape == (500, 1)
    assert (totals == 37.0).all()


def test_drawings_are_uniform_over_the_units():
    # Multiplicities of one unit in drawings of 10 are Binomial(10, 1/10): mean 1, variance 0.9.
    taken = Bootstrap(replicates=10_000).totals(np.eye(10))
    assert taken.mean(axis=0) == pytest.approx(np.ones(10), abs=0.04)
    assert taken.var(axis=0) == pytest.approx(np.full(10, 0.9), abs=0.06)


def test_blocks_do_not_change_the_drawings(monkeypatch):
    whole = Bootstrap(replicates=300).totals(np.arange(20.0)[:, None])
    monkeypatch.setattr(bootstrap_module, "BLOCK_CELLS", 64)
    assert (Bootstrap(replicates=300).totals(np.arange(20.0)[:, None]) == whole).all()


def test_the_stream_is_frozen():
    # These totals may never change: published intervals must be re-computable with any later version.
    totals = Bootstrap(replicates=6, seed=7).totals(np.array([[1.0], [10.0], [100.0], [1000.0]]))
    assert totals[:, 0].tolist() == [2101.0, 2011.0, 1030.0, 220.0, 3100.0, 103.0]


def test_too_many_units_shrink_the_replicates_but_never_below_999(monkeypatch):
    monkeypatch.setattr(bootstrap_module, "DRAW_BUDGET", 10)
    assert len(Bootstrap().totals(np.ones((50, 1)))) == 999
    assert len(Bootstrap(replicates=20).totals(np.ones((50, 1)))) == 20


@pytest.mark.parametrize("settings", [{"replicates": 0}, {"confidence": 0.0}, {"confidence": 1.0}, {"confidence": 95}])
def test_senseless_settings_are_refused(settings):
    with pytest.raises(StatisticsError):
        Bootstrap(**settings)


def test_interval_ends_are_order_statistics():
    replicates = np.arange(1.0, 10_000.0)  # 9,999 of them: the 250th and the 9,750th
    assert Bootstrap().interval(replicates, 5000.0) == (250.0, 9750.0)
    assert Bootstrap(confidence=0.9).interval(replicates, 5000.0) == (500.0, 9500.0)


def test_basic_interval_is_the_percentile_interval_mirrored_at_the_estimate():
    replicates = np.arange(1.0, 10_000.0)
    assert Bootstrap(method="basic").interval(replicates, 4000.0) == (2 * 4000.0 - 9750.0, 2 * 4000.0 - 250.0)


@given(
    st.lists(st.integers(-20, 20), min_size=5, max_size=400),
    st.sampled_from([0.8, 0.9, 0.95, 0.99]),
)
@settings(max_examples=60)
def test_p_value_rejects_exactly_when_the_interval_leaves_zero_out(numbers, confidence):
    replicates = np.array(numbers, dtype=float)
    bootstrap = Bootstrap(confidence=confidence)
    low, high = bootstrap.interval(replicates, float(np.median(replicates)))
    enough = round((len(numbers) + 1) * (1 - confidence) / 2, 9) >= 1  # too few replicates can never reject
    assert bootstrap.rejects(bootstrap.p_value(replicates)) == (enough and (low > 0 or high < 0))


@given(st.lists(st.tuples(finite, st.sampled_from("abcde")), min_size=2, max_size=40), st.randoms())
@settings(max_examples=60)
def test_the_order_of_episodes_does_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))

    def ask(rows, with_scenes):
        scenes = [scene for _, scene in rows] if with_scenes else None
        return estimate(ones_beside([v for v, _ in rows]), compute_ratio, scenes=scenes, bootstrap=quick)

    assert ask(rows, True) == ask(shuffled, True)
    assert ask(rows, False) == ask(shuffled, False)


@given(st.lists(st.tuples(finite, st.sampled_from("abcdefgh")), min_size=2, max_size=40))
@settings(max_examples=60)
def test_the_interval_holds_the_estimate_and_stays_within_the_values(rows):
    values = [value for value, _ in rows]
    result = estimate(ones_beside(values), compute_ratio, scenes=[scene for _, scene in rows], bootstrap=quick)
    slack = 1e-9 * max(map(abs, values), default=0)
    assert min(values) - slack <= result.low <= result.value <= result.high <= max(values) + slack


def test_scenes_are_drawn_whole():
    # Inside a scene all episodes agree, so a replicate can only be 0, 1/2 or 1; drawn singly it could be more.
    values, scenes = [0.0] * 50 + [1.0] * 50, ["a"] * 50 + ["b"] * 50
    whole = estimate(ones_beside(values), compute_ratio, scenes=scenes)
    single = estimate(ones_beside(values), compute_ratio)
    assert (whole.low, whole.high) == (0.0, 1.0)
    assert 0.35 < single.low < single.high < 0.65


def test_a_scene_weighs_as_much_as_it_has_episodes():
    units = make_resampling_units(ones_beside([1.0, 2.0, 3.0, 4.0]), ["b", "a", "b", "b"])
    assert units.sums.tolist() == [[2.0, 1.0], [8.0, 3.0]]


@pytest.mark.parametrize(
    ("scenes", "known", "words"),
    [
        (None, 0, "no scenes known"),
        ([None] * 12, 1, "no scenes known"),
        (["a"] * 12, 1, "one scene"),
        (list("abcabcabcabc"), 3, "only 3 scenes"),
        (list("abcdefghijkl"), 12, None),
    ],
)
def test_the_note_says_how_far_the_interval_reaches(scenes, known, words):
    result = estimate(ones_beside(np.arange(12.0)), compute_ratio, scenes=scenes, bootstrap=quick)
    assert result.scenes == known
    assert result.note is None if words is None else words in result.note


def test_micro_average_is_a_ratio_of_sums():
    hits, trials = np.array([2.0, 0.0, 3.0, 1.0]), np.array([2.0, 4.0, 3.0, 3.0])
    result = estimate(np.column_stack([hits, trials]), compute_ratio, scenes=list("abcd"))
    assert result.value == pytest.approx(6 / 12)
    assert 0.0 <= result.low < 0.5 < result.high <= 1.0


def test_any_function_of_sums_has_an_interval():
    columns = np.column_stack([np.arange(30.0) % 2, np.arange(30.0) % 3, np.ones(30)])

    def weighted(totals):
        return (0.4 * totals[..., 0] + 0.6 * totals[..., 1]) / totals[..., 2]

    result = estimate(columns, weighted, scenes=[f"s{i % 10}" for i in range(30)])
    assert result.value == pytest.approx(0.4 * 0.5 + 0.6 * 1.0)
    assert result.low < result.value < result.high


def test_drawings_without_a_denominator_are_left_out():
    columns = np.array([[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]])
    result = estimate(columns, compute_ratio, scenes=["a", "b", "c"])
    assert (result.low, result.value, result.high) == (0.5, 0.5, 0.5)


def test_a_statistic_without_value_is_refused():
    with pytest.raises(StatisticsError, match="denominators"):
        estimate(np.zeros((5, 2)), compute_ratio)


def test_ten_thousand_replicates_of_a_thousand_episodes_are_cheap():
    values, scenes = np.random.default_rng(0).random(1000), [f"scene_{i % 100}" for i in range(1000)]
    start = time.process_time()
    estimate(ones_beside(values), compute_ratio, scenes=scenes, bootstrap=Bootstrap(replicates=10_000))
    assert time.process_time() - start < 0.7  # about 0.04 on an idle core


@pytest.mark.slow
def test_intervals_over_scenes_cover_the_truth_where_intervals_over_episodes_do_not():
    # A population of scenes whose difficulty varies much more than the episodes inside them.
    generator = np.random.default_rng(11)
    bootstrap = Bootstrap(replicates=999)
    covered = {"scenes": 0, "episodes": 0}
    worlds = 400
    for _ in range(worlds):
        ease = generator.beta(2.0, 2.0, size=40)  # mean 0.5
        values = (generator.random((40, 25)) < ease[:, None]).astype(float).ravel()
        scenes = [f"s{i}" for i in np.repeat(np.arange(40), 25)]
        over_scenes = estimate(ones_beside(values), compute_ratio, scenes=scenes, bootstrap=bootstrap)
        over_episodes = estimate(ones_beside(values), compute_ratio, bootstrap=bootstrap)
        covered["scenes"] += over_scenes.low <= 0.5 <= over_scenes.high
        covered["episodes"] += over_episodes.low <= 0.5 <= over_episodes.high
    assert 0.91 <= covered["scenes"] / worlds <= 0.98
    assert covered["episodes"] / worlds < 0.75
