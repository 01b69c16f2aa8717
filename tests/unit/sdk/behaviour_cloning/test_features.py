"""sdk/examples/behaviour_cloning: what the policy is told, without PyTorch and without a simulator."""

import math
from pathlib import Path

import numpy as np
import pytest
from features import ACTIONS, COLUMNS, FAR, GRID, RING, Moment, Senses, mirrored, sampled
from policy import NAMES, Policy

from support.paths import ROOT

EXAMPLE = ROOT / "sdk/examples/behaviour_cloning"

LOW, AHEAD = slice(0, COLUMNS), slice(COLUMNS, 2 * COLUMNS)
OPENNESS = slice(2 * COLUMNS, 2 * COLUMNS + RING)
VISITED = slice(2 * COLUMNS + RING, 2 * COLUMNS + 2 * RING)
GOAL = slice(2 * COLUMNS + 2 * RING, 2 * COLUMNS + 2 * RING + 4)
BLOCKED = -2


def moment(*, wall: float = 2.0, distance: float = 10.0, left: float = 0.0, size: int = GRID) -> Moment:
    """A flat wall ahead; the goal so many metres away, so many degrees to the left."""
    goal = np.array([distance, math.radians(left)], np.float32)
    return Moment(np.full((size, size), wall, np.float32), goal)


def test_pictures_of_any_size_say_the_same() -> None:
    assert np.array_equal(Senses().numbers(moment()), Senses().numbers(moment(size=256)))
    assert sampled(np.zeros((366, 480, 1))).shape == (GRID, GRID)


def test_depth_is_near_or_far() -> None:
    near, hole = Senses().numbers(moment(wall=1.0)), Senses().numbers(moment(wall=0.0))
    assert near[LOW] == pytest.approx(1.0 / FAR)
    assert near[AHEAD] == pytest.approx(1.0 / FAR)
    assert hole[LOW] == pytest.approx(1.0)  # nothing there: far away


def test_the_goal_is_told_from_afar_and_at_hand() -> None:
    assert Senses().numbers(moment(distance=2.5, left=90))[GOAL] == pytest.approx([0.5, 1.0, 0.0, 1.0], abs=1e-6)
    assert Senses().numbers(moment(distance=0.1))[GOAL] == pytest.approx([0.02, 0.1, 1.0, 0.0])


def test_open_ways_are_remembered_while_it_is_near() -> None:
    walk = Senses()
    walk.numbers(moment(wall=5.0))
    for _ in range(9):  # to the left, by 90° in all
        walk.acted("turn_left")
    turned = walk.numbers(moment(wall=1.0, left=-90))[OPENNESS]
    assert turned[0] == pytest.approx(1.0 / FAR)  # ahead is a wall now
    assert turned[-3] == pytest.approx(1.0)  # what was ahead is to the right
    assert turned[6] == pytest.approx(-0.2)  # nobody looked back
    elsewhere = walk.numbers(moment(wall=1.0, left=-90, distance=7.0))[OPENNESS]
    assert elsewhere[-3] == pytest.approx(-0.2)


def test_where_it_has_been_is_behind_it() -> None:
    walk = Senses()
    for step in range(20):
        numbers = walk.numbers(moment(distance=10.0 - 0.25 * step))
    assert numbers[VISITED][6] == 1.0
    assert numbers[VISITED][0] == 0.0


def test_a_blocked_step_is_felt() -> None:
    walk = Senses()
    walk.numbers(moment())
    walk.acted("move_forward")
    assert walk.numbers(moment())[BLOCKED] == 1.0
    walk.acted("move_forward")
    assert walk.numbers(moment(distance=9.75))[BLOCKED] == 0.0


def test_the_mirror_turns_left_into_right() -> None:
    left, right = (Senses().numbers(moment(left=degrees)) for degrees in (30, -30))
    assert np.allclose(mirrored(left), right)
    many = np.random.default_rng(0).random((5, len(left))).astype(np.float32)
    assert np.array_equal(mirrored(mirrored(many)), many)


def test_the_shipped_weights_fit_the_senses() -> None:
    file = EXAMPLE / "policy.npz"
    assert file.stat().st_size < 1_000_000
    policy = Policy.load(file)
    numbers = Senses().numbers(moment())
    assert policy.inputs == len(numbers)
    chances = policy.chances(numbers)
    assert chances.shape == (len(ACTIONS),)
    assert chances.sum() == pytest.approx(1.0)
    again = policy.chances(numbers)
    assert not np.array_equal(chances, again)  # it remembers…
    policy.start()
    assert np.array_equal(policy.chances(numbers), chances)  # …until the next episode


def test_other_arrays_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    with pytest.raises(ValueError, match="missing"):
        Policy.load(tmp_path / "other.npz")
    np.savez(tmp_path / "evil.npz", **{name: np.array([object()], dtype=object) for name in NAMES})
    with pytest.raises(ValueError, match="pickle"):
        Policy.load(tmp_path / "evil.npz")
