"""Angles: the nearest double, whatever the machine's libm says."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nav_eval.records.geometry import (
    FULL_TURN,
    MICRODEGREES,
    get_cosine,
    get_unit_vector,
    rotate_plane_vector,
    to_microdegrees,
)


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [
        (0, (1.0, 0.0)),
        (90, (0.0, 1.0)),
        (180, (-1.0, 0.0)),
        (270, (0.0, -1.0)),
        (30, (math.sqrt(3) / 2, 0.5)),
        (60, (0.5, math.sqrt(3) / 2)),
        (45, (math.sqrt(0.5), math.sqrt(0.5))),
        (-120, (-0.5, -math.sqrt(3) / 2)),
    ],
)
def test_angles_with_known_values_are_exact(degrees, expected):
    assert get_unit_vector(degrees * MICRODEGREES) == expected


@given(st.integers(-FULL_TURN, 2 * FULL_TURN))
def test_vectors_agree_with_libm_and_have_unit_length(angle):
    cos, sin = get_unit_vector(angle)
    radians = math.radians(angle % FULL_TURN / MICRODEGREES)
    assert math.isclose(cos, math.cos(radians), abs_tol=2e-15)
    assert math.isclose(sin, math.sin(radians), abs_tol=2e-15)
    assert math.isclose(cos * cos + sin * sin, 1.0, abs_tol=4e-16)


@given(st.integers(0, FULL_TURN))
def test_mirror_images_are_mirror_images(angle):
    cos, sin = get_unit_vector(angle)
    assert get_unit_vector(-angle) == (cos, -sin if sin else 0.0)
    assert get_unit_vector(FULL_TURN // 4 - angle) == (sin, cos)


def test_negative_zero_never_appears():
    assert all(
        math.copysign(1.0, part) == 1.0 for k in range(4) for part in get_unit_vector(k * 90 * MICRODEGREES) if not part
    )


def test_degrees_become_the_nearest_microdegree():
    assert to_microdegrees(22.5) == 22_500_000
    assert to_microdegrees(1 / 3) == 333_333
    assert get_cosine(60) == 0.5


def test_rotation_turns_counter_clockwise():
    assert rotate_plane_vector((2.0, 0.0), 90 * MICRODEGREES) == (0.0, 2.0)
