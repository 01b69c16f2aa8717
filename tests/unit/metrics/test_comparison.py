"""Two runs on the same episodes, and boards whose ranks claim no more than the episodes show."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.errors import RecordError
from nav_eval.metrics.comparison import (
    RunScores,
    RunsDiffer,
    compare,
    compute_mcnemar,
    compute_shared_ranks,
    compute_smallest_p,
    rank_scores,
)
from nav_eval.metrics.statistics import Bootstrap

quick = Bootstrap(replicates=499)


def run(name, values, scenes=None):
    ids = [f"ep_{i}" for i in range(len(values))]
    return RunScores(
        name=name,
        values=dict(zip(ids, values, strict=True)),
        scenes=dict(zip(ids, scenes, strict=True)) if scenes else {},
    )


def noisy(generator, mean, count=300):
    return np.clip(generator.normal(mean, 0.2, count), 0, 1).tolist()


@given(st.integers(0, 80), st.integers(0, 80))
def test_mcnemar_agrees_with_scipy(only_first, only_second):
    import scipy.stats  # heavier to load than all other tests of metrics

    result = compute_mcnemar(only_first, only_second)
    discordant = only_first + only_second
    assert result.exact == (discordant < 25)
    if discordant == 0:
        assert result.p_value == 1.0
    elif result.exact:
        assert result.p_value == pytest.approx(scipy.stats.binomtest(only_first, discordant, 0.5).pvalue, rel=1e-12)
    else:
        chi2 = max(abs(only_first - only_second) - 1, 0) ** 2 / discordant
        assert result.p_value == pytest.approx(scipy.stats.chi2.sf(chi2, 1), rel=1e-9)


def test_mcnemar_is_continuous_where_the_exact_test_ends():
    assert compute_mcnemar(5, 19).p_value == pytest.approx(compute_mcnemar(5, 20).p_value, abs=0.01)


def test_a_clear_difference_is_found_and_a_small_one_is_not():
    generator = np.random.default_rng(0)
    scenes = [f"s{i % 30}" for i in range(300)]
    good, bad = noisy(generator, 0.7), noisy(generator, 0.4)
    nearly = [v + 0.001 * generator.standard_normal() for v in good]
    assert compare(run("good", good, scenes), run("bad", bad, scenes)).significant
    assert not compare(run("good", good, scenes), run("nearly", nearly, scenes)).significant


def test_pairing_finds_what_separate_intervals_do_not():
    generator = np.random.default_rng(1)
    difficulty = generator.random(200)
    first = (difficulty * 0.9 + 0.03).tolist()
    second = (difficulty * 0.9 + generator.normal(0, 0.02, 200)).tolist()
    result = compare(run("a", first), run("b", second))
    assert result.significant
    assert result.difference == pytest.approx(0.03, abs=0.01)
    assert np.std(first) > 5 * abs(result.difference)


def test_numbers_of_a_comparison():
    result = compare(run("a", [1.0, 1.0, 0.0, 1.0]), run("b", [0.0, 1.0, 1.0, 0.0]), bootstrap=quick)
    assert (result.first_mean, result.second_mean, result.difference, result.count) == (0.75, 0.5, 0.25, 4)
    assert (result.mcnemar.only_first, result.mcnemar.only_second) == (2, 1)
    assert result.ci_low <= 0.25 <= result.ci_high


def test_mcnemar_needs_yes_or_no():
    assert compare(run("a", [0.5, 1.0, 0.0]), run("b", [0.0, 1.0, 1.0]), bootstrap=quick).mcnemar is None


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.sampled_from("abcd")), min_size=2, max_size=30))
@settings(max_examples=50)
def test_exchanging_the_runs_mirrors_the_difference(rows):
    first, second = run("a", [r[0] for r in rows], [r[2] for r in rows]), run("b", [r[1] for r in rows])
    forth = compare(first, second, bootstrap=quick)
    back = compare(RunScores(name="b", values=second.values, scenes=first.scenes), first, bootstrap=quick)
    assert forth.difference == -back.difference
    assert forth.p_value == pytest.approx(back.p_value, abs=0.12)  # other drawings when all are one scene
    assert (forth.first_mean, forth.second_mean) == (back.second_mean, back.first_mean)


def test_pairs_with_an_invalid_value_are_left_out_of_both_and_counted():
    result = compare(run("a", [1.0, math.nan, 0.5, 0.25]), run("b", [0.5, 1.0, None, 0.25]), bootstrap=quick)
    assert (result.count, result.invalid, result.first_mean, result.second_mean) == (2, 2, 0.625, 0.375)


def test_no_valid_pair_is_refused():
    with pytest.raises(RunsDiffer, match="no episode in which both"):
        compare(run("a", [None, 1.0]), run("b", [1.0, math.inf]))


@pytest.mark.parametrize("differing", range(6))
def test_a_handful_of_differing_episodes_proves_nothing(differing):
    first = [1.0] * differing + [0.5] * 20
    result = compare(run("a", first), run("b", [0.0] * differing + [0.5] * 20))
    assert not result.significant
    assert result.p_value >= compute_smallest_p(differing)
    assert ("too few" in result.note) == (differing > 0)


def test_a_hundred_differing_episodes_prove_something():
    assert compare(run("a", [1.0] * 100), run("b", [0.0] * 100)).significant


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({"a": 1.0, "b": 1.0}, {"a": 1.0}, "only in A: 'b'"),
        ({"a": 1.0}, {"a": 1.0, "c": 0.0}, "only in B: 'c'"),
        ({"a": 1.0}, {"b": 1.0}, "only in A: 'a'; only in B: 'b'"),
        ({str(i): 1.0 for i in range(9)}, {}, "and 4 more"),
    ],
)
def test_other_episodes_are_refused_and_named(first, second, words):
    with pytest.raises(RunsDiffer, match=words):
        compare(RunScores(name="A", values=first), RunScores(name="B", values=second))


def test_same_ids_in_other_scenes_are_refused():
    with pytest.raises(RunsDiffer, match=r"other scenes.*'ep_1'"):
        compare(run("A", [1.0, 0.0], ["x", "y"]), run("B", [1.0, 0.0], ["x", "z"]))


def test_one_run_may_know_the_scenes_for_both():
    values, scenes = ([0.5, 0.75] * 10, [0.25, 0.5] * 10), list("abcdefghij") * 2
    known, unknown = run("known", values[0], scenes), run("unknown", values[1])
    assert compare(known, unknown, bootstrap=quick).scenes == compare(unknown, known, bootstrap=quick).scenes == 10
    assert compute_shared_ranks([known, unknown]) == compute_shared_ranks([unknown, known])


def test_equal_runs_share_a_rank_and_clear_differences_do_not():
    generator = np.random.default_rng(3)
    scenes = [f"s{i % 20}" for i in range(300)]
    top = noisy(generator, 0.8)
    close = [v - 0.0005 * generator.random() * generator.choice([-1, 1]) for v in top]
    low, lower = noisy(generator, 0.5), noisy(generator, 0.2)
    board = compute_shared_ranks(
        [run("lower", lower, scenes), run("close", close, scenes), run("low", low, scenes), run("top", top, scenes)]
    )
    assert [(row.name, row.rank) for row in board][2:] == [("low", 3), ("lower", 4)]
    assert {row.name: row.rank for row in board[:2]} == {"top": 1, "close": 1}
    assert board[1].head == board[0].name
    assert board[0].p_value is None
    assert board[1].p_value > 0.05


def test_lower_is_better_turns_the_board_round():
    generator = np.random.default_rng(4)
    board = compute_shared_ranks(
        [run("far", (5 + generator.random(50)).tolist()), run("near", generator.random(50).tolist())],
        higher_is_better=False,
    )
    assert [(row.name, row.rank) for row in board] == [("near", 1), ("far", 2)]


runs_of_scores = st.integers(2, 12).flatmap(
    lambda episodes: st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=episodes, max_size=episodes), min_size=1, max_size=8
    )
)


@given(runs_of_scores, st.booleans(), st.randoms())
@settings(max_examples=50)
def test_a_board_is_a_valid_ranking(rows, higher, shuffler):
    runs = [run(f"r{i}", values, [f"s{e % 3}" for e in range(len(values))]) for i, values in enumerate(rows)]
    board = compute_shared_ranks(runs, higher_is_better=higher, bootstrap=Bootstrap(replicates=99, confidence=0.8))
    assert_valid(board, higher)
    again = compute_shared_ranks(
        shuffler.sample(runs, len(runs)), higher_is_better=higher, bootstrap=Bootstrap(replicates=99, confidence=0.8)
    )
    assert again == board


@given(runs_of_scores, st.randoms())
@settings(max_examples=40)
def test_without_scenes_neither_order_nor_names_matter(rows, shuffler):
    bootstrap = Bootstrap(replicates=99, confidence=0.8)
    board = compute_shared_ranks([run(f"r{i}", values) for i, values in enumerate(rows)], bootstrap=bootstrap)
    names = shuffler.sample(range(len(rows)), len(rows))
    renamed = compute_shared_ranks([run(f"r{names[i]}", values) for i, values in enumerate(rows)], bootstrap=bootstrap)
    ranks = {row.name: row.rank for row in board}
    assert {row.name: row.rank for row in renamed} == {f"r{names[i]}": ranks[f"r{i}"] for i in range(len(rows))}


def assert_valid(board, higher):
    assert board[0].rank == 1
    for position, (row, following) in enumerate(itertools.pairwise(board), start=1):
        assert row.mean >= following.mean if higher else row.mean <= following.mean  # no inversion
        assert following.rank in (row.rank, position + 1)  # 1, 1, 3
        if row.mean == following.mean:
            assert row.rank == following.rank


def test_a_difference_in_one_scene_alone_is_no_difference():
    # Twelve differing episodes, all in one of ten scenes: a third of the drawings do not hold that scene.
    generator = np.random.default_rng(5)
    values = generator.random(120)
    better = values + 0.1 * (np.arange(120) % 10 == 0)
    scenes = [f"s{i % 10}" for i in range(120)]
    board = compute_shared_ranks([run("better", better.tolist(), scenes), run("same", values.tolist(), scenes)])
    assert [row.rank for row in board] == [1, 1]
    assert board[1].p_value == pytest.approx(2 * 0.9**10, abs=0.05)


def test_boards_and_comparisons_agree():
    generator = np.random.default_rng(6)
    scenes = [f"s{i % 15}" for i in range(150)]
    first, second = run("a", noisy(generator, 0.55, 150), scenes), run("b", noisy(generator, 0.5, 150), scenes)
    board = compute_shared_ranks([first, second])
    assert board[1].rank == 2 if compare(first, second).significant else board[1].rank == 1


def test_an_invalid_value_keeps_a_run_off_the_board():
    with pytest.raises(RunsDiffer, match=r"b cannot be ranked.*'ep_1'"):
        compute_shared_ranks([run("a", [1.0, 1.0]), run("b", [1.0, math.nan])])


def test_small_boards():
    assert compute_shared_ranks([]) == []
    assert [row.rank for row in compute_shared_ranks([run("alone", [0.5])], bootstrap=quick)] == [1]
    with pytest.raises(RunsDiffer, match="without episodes"):
        compute_shared_ranks([run("empty", [])])


@pytest.mark.parametrize(
    ("scores", "higher", "ranks"),
    [
        ([0.9, 0.5, 0.9, 0.1], True, [1, 3, 1, 4]),
        ([0.9, 0.5, 0.9, 0.1], False, [3, 2, 3, 1]),
        ([], True, []),
        ([0.0, -0.0], True, [1, 1]),
    ],
)
def test_ranks_from_scores_alone(scores, higher, ranks):
    assert rank_scores(scores, higher_is_better=higher) == ranks


def test_a_score_that_is_no_number_has_no_rank():
    with pytest.raises(RecordError, match="no rank"):
        rank_scores([1.0, math.nan])


def test_a_thousand_entries_are_ranked_in_seconds():
    draw = random.Random(0)
    scenes = [f"s{i % 50}" for i in range(100)]
    runs = [run(f"r{k}", [float(draw.random() < 0.1 + k / 1250) for _ in range(100)], scenes) for k in range(1000)]
    board = compute_shared_ranks(runs, bootstrap=Bootstrap(replicates=999))
    assert_valid(board, True)
    assert len({row.rank for row in board}) > 2


@pytest.mark.slow
def test_equal_agents_are_called_different_about_as_often_as_promised():
    generator = np.random.default_rng(12)
    bootstrap = Bootstrap(replicates=999)
    scenes = [f"s{i // 10}" for i in range(400)]
    worlds, different = 400, 0
    for _ in range(worlds):
        tilt = np.repeat(generator.normal(0.0, 0.1, 40), 10)  # each scene suits one of the two agents a little better
        ease = generator.random(400)
        first, second = (np.clip(ease + sign * tilt + generator.normal(0, 0.2, 400), 0, 1) for sign in (1, -1))
        different += compare(
            run("a", first.tolist(), scenes), run("b", second.tolist(), scenes), bootstrap=bootstrap
        ).significant
    assert 0.025 <= different / worlds <= 0.085
