"""sdk/examples/behaviour_cloning: what the policy is told, without PyTorch and without a simulator."""

import math
from pathlib import Path

import numpy as np
import pytest
from policy import NAMES, Policy
from senses import ACTIONS, COLUMNS, FAR, HIGH, RING, WIDE, Moment, Senses, mirrored, sampled

EXAMPLE = Path(__file__).parents[3] / "sdk/examples/behaviour_cloning"
CATEGORIES = ["", "table", "mirror", "door"]
MIRROR = CATEGORIES.index("mirror")

LOW, AHEAD, TARGET = slice(0, COLUMNS), slice(COLUMNS, 2 * COLUMNS), slice(2 * COLUMNS, 3 * COLUMNS)
OPENNESS = slice(4 * COLUMNS, 4 * COLUMNS + RING)
VISITED = slice(4 * COLUMNS + RING, 4 * COLUMNS + 2 * RING)
PLACE = slice(4 * COLUMNS + 2 * RING, 4 * COLUMNS + 2 * RING + 4)
BLOCKED = -2


def moment(
    *,
    depth: float = 2.0,
    seen: slice = slice(0, 0),
    scale: int = 1,
    position: tuple[float, float] = (0.0, 0.0),
    yaw: float = 0.0,
) -> Moment:
    """A flat wall ahead, with a mirror in some columns."""
    wall = np.full((HIGH * scale, WIDE * scale), depth, np.float32)
    ids = np.zeros(wall.shape, np.int32)
    ids[:, slice(seen.start * scale, seen.stop * scale)] = MIRROR
    return Moment(wall, ids, position, yaw)


def senses() -> Senses:
    return Senses("mirror", CATEGORIES)


def test_pictures_of_any_size_say_the_same() -> None:
    small = senses().numbers(moment(seen=slice(0, 16)))
    assert np.array_equal(small, senses().numbers(moment(seen=slice(0, 16), scale=10)))
    assert sampled(np.zeros((366, 366, 1))).shape == (HIGH, WIDE)


def test_depth_is_near_or_far() -> None:
    near, hole = senses().numbers(moment(depth=1.0)), senses().numbers(moment(depth=0.0))
    assert near[LOW] == pytest.approx(1.0 / FAR)
    assert near[AHEAD] == pytest.approx(1.0 / FAR)
    assert hole[LOW] == pytest.approx(1.0)  # nothing there: far away


def test_only_the_thing_to_find_counts() -> None:
    assert senses().numbers(moment(seen=slice(0, WIDE)))[TARGET] == pytest.approx(1.0)
    assert not Senses("table", CATEGORIES).numbers(moment(seen=slice(0, WIDE)))[TARGET].any()
    assert not Senses("unheard of", CATEGORIES).numbers(moment(seen=slice(0, WIDE)))[TARGET].any()


def test_a_thing_once_seen_is_remembered_where_it_is() -> None:
    walk = senses()
    walk.numbers(moment(seen=slice(28, 36), depth=2.0))  # straight ahead
    known, distance, ahead, left = walk.numbers(moment(depth=4.0, yaw=math.radians(90)))[PLACE]
    assert known == 1.0
    assert distance * FAR == pytest.approx(2.0, abs=0.1)
    assert (ahead, left) == pytest.approx((0.0, -1.0), abs=0.05)  # to the right now


def test_open_ways_are_remembered_while_it_is_near() -> None:
    walk = senses()
    walk.numbers(moment(depth=5.0))
    turned = walk.numbers(moment(depth=1.0, yaw=math.radians(90)))[OPENNESS]
    assert turned[0] == pytest.approx(1.0 / FAR)  # ahead is a wall now
    assert turned[-3] == pytest.approx(1.0)  # what was ahead is three turns to the right
    assert turned[6] == pytest.approx(-0.2)  # nobody looked back
    away = walk.numbers(moment(depth=1.0, yaw=math.radians(90), position=(-3.0, 0.0)))[OPENNESS]
    assert away[-3] == pytest.approx(-0.2)


def test_where_it_has_been_is_behind_it() -> None:
    walk = senses()
    for step in range(20):
        numbers = walk.numbers(moment(position=(0.0, -0.25 * step)))
    assert numbers[VISITED][6] == 1.0
    assert numbers[VISITED][0] == 0.0


def test_a_blocked_step_is_felt() -> None:
    walk = senses()
    walk.numbers(moment())
    walk.acted("move_forward")
    assert walk.numbers(moment())[BLOCKED] == 1.0
    walk.acted("move_forward")
    assert walk.numbers(moment(position=(0.0, -0.25)))[BLOCKED] == 0.0


def test_the_mirror_turns_left_into_right() -> None:
    left, right = (senses().numbers(moment(seen=where)) for where in (slice(0, 8), slice(WIDE - 8, WIDE)))
    assert np.allclose(mirrored(left), right)
    many = np.random.default_rng(0).random((5, len(left))).astype(np.float32)
    assert np.array_equal(mirrored(mirrored(many)), many)


def test_the_shipped_weights_fit_the_senses() -> None:
    file = EXAMPLE / "policy.npz"
    assert file.stat().st_size < 1_000_000
    policy = Policy.load(file)
    numbers = senses().numbers(moment())
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
