"""The measures of variety, on texts whose figures can be counted by hand."""

import pytest

from nav_eval_worlds.instructions.diversity import compute_diversity, split_words


def test_figures_of_three_texts() -> None:
    found = compute_diversity(["Go to the red door.", "Go to the red wall!", "Turn around, then stop"])
    # 2 + 2 + 1 four-grams, of which "go to the red" is in two texts
    assert found.distinct_4 == pytest.approx(4 / 5)
    assert found.shared_4 == pytest.approx(2 / 5)
    assert (found.texts, found.openings, found.vocabulary, found.mean_words) == (3, 2, 10, 4.7)


def test_a_repeated_text_shares_everything() -> None:
    found = compute_diversity(["walk past the sofa"] * 4)
    assert (found.distinct_texts, found.distinct_4, found.shared_4, found.openings) == (1, 0.25, 1.0, 1)


def test_chinese_is_counted_by_characters() -> None:
    assert split_words("走到TV旁，停下。") == ["走", "到", "tv", "旁", "停", "下"]


def test_nothing_is_no_error() -> None:
    assert compute_diversity([]).texts == 0
    assert compute_diversity(["stop"]).distinct_4 == 0.0
