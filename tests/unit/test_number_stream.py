"""Streams draw what numpy's generators draw."""

import numpy as np
import pytest

from nav_eval.number_stream import draw_below, draw_units, hash_keys, make_stream, open_stream, take_below, take_unit
from nav_eval.randomness import make_generator


@pytest.mark.parametrize("seed", [0, 1, 7, 2**63 - 1])
def test_units_are_those_of_numpy(seed: int) -> None:
    for number in range(50):
        expected = make_generator(seed, "units", number).random(number)
        assert np.array_equal(draw_units(seed, "units", number, count=number), expected)


@pytest.mark.parametrize("bound", [1, 3, 10, 2**31 + 11, 2**32 - 1])
def test_whole_numbers_are_those_of_numpy(bound: int) -> None:
    """A bound just above half of all numbers rejects every other draw."""
    expected = [make_generator(5, "whole", number).integers(bound) for number in range(50)]
    assert [draw_below(bound, 5, "whole", number) for number in range(50)] == expected


def test_both_kinds_take_turns_as_with_numpy() -> None:
    """What a whole number leaves of a word is not lost when units are drawn in between."""
    stream, generator = make_stream(), make_generator(3, "both")
    open_stream(hash_keys(3, "both"), stream)
    for number in range(100):
        if number % 3 == 1:
            assert take_unit(stream) == generator.random()
        else:
            assert take_below(stream, 1000) == generator.integers(1000)
