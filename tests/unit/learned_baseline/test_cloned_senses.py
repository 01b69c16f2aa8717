"""sdk/examples/behaviour_cloning: what the policy is told, without PyTorch and without a simulator."""

import math
from pathlib import Path

import numpy as np
import pytest
from policy import NAMES, Policy
from senses import ACTIONS, COLUMNS, FAR, GRID, Moment, Senses, mirrored, sampled, targets_of

EXAMPLE = Path(__file__).parents[3] / "sdk/examples/behaviour_cloning"
CATEGORIES = [
    "",
    "table",
    "coffee table",
    "towel",
    "bathtub",
    "mirror",
    "door",
    "box",
    "toy",
    "car",
    "shelf",
    "picture",
]


@pytest.mark.parametrize(
    ("instruction", "targets"),
    [
        ("Go to the coffee table, then to the mirror.", ["coffee table", "mirror"]),  # not also a table
        ("Find the mirror in the bathroom with the bathtub.", ["mirror"]),
        ("Fetch the towel on the table and bring it to the shelf.", ["towel", "shelf"]),
        ("Put the towel on the table.", ["towel"]),  # read as describing: the price of a short rule
        ("Take the towel and set it down on the table.", ["towel", "table"]),
        ("Collect one of the boxes, then the towel.", ["box", "towel"]),
        ("Search for the picture of a car next to the shelf.", ["picture"]),
        ("Fetch the toy car.", ["toy"]),
        ("Walk around.", []),
    ],
)
def test_targets_of_an_instruction(instruction: str, targets: list[str]) -> None:
    assert [CATEGORIES[number] for number in targets_of(instruction, CATEGORIES)] == targets


def moment(
    *, depth: float = 2.0, seen: int = 0, where: slice = slice(0, 0), size: int = GRID, **pose: object
) -> Moment:
    """A flat wall ahead, with something of a category in some columns."""
    wall = np.full((size, size), depth, np.float32)
    ids = np.zeros((size, size), np.int32)
    ids[:, where] = seen
    place = {"position": (0.0, 0.0), "yaw": 0.0} | pose
    return Moment(wall, wall, wall, ids, **place)  # type: ignore[arg-type]


def senses() -> Senses:
    return Senses("Go to the mirror, then to the towel.", CATEGORIES)


MIRROR = CATEGORIES.index("mirror")


def test_pictures_of_any_size_say_the_same() -> None:
    small = senses().numbers(moment(seen=MIRROR, where=slice(0, 16)))
    large = senses().numbers(moment(seen=MIRROR, where=slice(0, 64), size=256))
    assert np.array_equal(small, large)
    odd = sampled(np.arange(366 * 366).reshape(366, 366))
    assert odd.shape == (GRID, GRID)


def test_depth_is_near_or_far() -> None:
    near, hole = senses().numbers(moment(depth=1.0)), senses().numbers(moment(depth=0.0))
    assert near[: 6 * COLUMNS] == pytest.approx(1.0 / FAR)
    assert hole[: 6 * COLUMNS] == pytest.approx(1.0)  # nothing there: far away


def test_a_thing_once_seen_is_remembered_where_it_is() -> None:
    walk = senses()
    walk.numbers(moment(seen=MIRROR, where=slice(28, 36), depth=2.0))  # straight ahead
    walk.acted("turn_left")
    later = walk.numbers(moment(depth=4.0, yaw=math.radians(90)))
    known, distance, ahead, left = later[6 * COLUMNS + 2 * COLUMNS + 12 :][:4]
    assert known == 1.0
    assert distance * FAR == pytest.approx(2.0, abs=0.1)
    assert (ahead, left) == pytest.approx((0.0, -1.0), abs=0.05)  # to the right now


def test_a_stop_goes_on_to_the_next_thing() -> None:
    walk = senses()
    before = walk.numbers(moment(seen=MIRROR, where=slice(0, 64)))
    walk.acted("stop")
    after = walk.numbers(moment(seen=MIRROR, where=slice(0, 64)))
    columns = slice(6 * COLUMNS, 7 * COLUMNS)
    assert before[columns] == pytest.approx(1.0)
    assert not after[columns].any()


def test_a_blocked_step_is_felt() -> None:
    walk = senses()
    walk.numbers(moment())
    walk.acted("move_forward")
    assert walk.numbers(moment())[-3] == 1.0
    walk.acted("move_forward")
    assert walk.numbers(moment(position=(0.0, -0.25)))[-3] == 0.0


def test_the_mirror_turns_left_into_right() -> None:
    draw = np.random.default_rng(0)
    numbers = senses().numbers(moment(seen=MIRROR, where=slice(0, 8)))
    assert np.array_equal(mirrored(mirrored(numbers)), numbers)
    assert np.array_equal(mirrored(numbers), senses().numbers(moment(seen=MIRROR, where=slice(56, 64))))
    many = draw.random((5, len(numbers))).astype(np.float32)
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
