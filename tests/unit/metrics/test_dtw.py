"""Exact DTW against the textbook recurrence, and its properties."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.metrics.dtw import compute_dtw, drop_repeats, normalize_dtw, resample_path

points = st.tuples(*[st.floats(-10, 10, width=32)] * 3)
paths = st.lists(points, min_size=1, max_size=12)


def textbook(path: list[tuple[float, ...]], reference: list[tuple[float, ...]]) -> float:
    table = {(-1, -1): 0.0}
    for i, here in enumerate(path):
        for j, there in enumerate(reference):
            before = min(table.get(cell, math.inf) for cell in ((i - 1, j), (i, j - 1), (i - 1, j - 1)))
            table[i, j] = math.dist(here, there) + before
    return table[len(path) - 1, len(reference) - 1]


@given(paths, paths)
@settings(deadline=None)
def test_equals_the_textbook(path: list[tuple[float, ...]], reference: list[tuple[float, ...]]) -> None:
    assert compute_dtw(path, reference) == pytest.approx(textbook(path, reference), rel=1e-12, abs=1e-12)


@given(paths, paths)
def test_is_symmetric(path: list[tuple[float, ...]], reference: list[tuple[float, ...]]) -> None:
    assert compute_dtw(path, reference) == pytest.approx(compute_dtw(reference, path), rel=1e-12, abs=1e-12)


@given(paths)
def test_a_path_is_its_own_best_match(path: list[tuple[float, ...]]) -> None:
    assert compute_dtw(path, path) == 0.0
    assert normalize_dtw(0.0, reference_points=len(path), threshold=3.0) == 1.0


def test_repeats_are_those_that_follow_each_other() -> None:
    path = [(0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 0, 0)]
    assert drop_repeats(path).tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_resampling_keeps_the_ends_and_spaces_evenly() -> None:
    points_ = resample_path([(0, 0, 0), (1, 0, 0), (1, 0, 1)], spacing=0.25)
    assert len(points_) == 9
    assert points_[0].tolist() == [0, 0, 0]
    assert points_[-1].tolist() == [1, 0, 1]
    assert np.allclose(np.linalg.norm(np.diff(points_, axis=0), axis=1), 0.25)
