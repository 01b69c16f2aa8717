"""Rotations against Habitat's own numbers, and against geometry one can check by hand."""

import json
import math

import pytest

from nav_eval.records.geometry import (
    IDENTITY_ROTATION,
    get_yaw,
    invert_rotation,
    make_rotation,
    make_yaw_rotation,
    multiply_rotations,
    rotate_vector,
)
from support.paths import TESTS

SENSORS = json.loads((TESTS / "data" / "oracle" / "oracle_habitat_sensors.json").read_text())


@pytest.mark.parametrize("case", SENSORS["poses"], ids=lambda case: case["id"])
def test_yaw_is_habitats_heading(case: dict) -> None:
    difference = get_yaw(tuple(case["agent_rotation_xyzw"])) - case["outputs"]["heading"][0]
    assert math.remainder(difference, 2 * math.pi) == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("degrees", range(-170, 181, 10))
def test_yaw_there_and_back(degrees: int) -> None:
    yaw = math.radians(degrees)
    assert get_yaw(make_yaw_rotation(yaw)) == pytest.approx(yaw, abs=1e-12)


def test_left_is_left_and_up_is_up() -> None:
    assert rotate_vector(make_yaw_rotation(math.pi / 2), (0.0, 0.0, -1.0)) == pytest.approx((-1.0, 0.0, 0.0), abs=1e-15)
    assert rotate_vector(make_rotation(0.0, math.pi / 2), (0.0, 0.0, -1.0)) == pytest.approx((0.0, 1.0, 0.0), abs=1e-15)


def test_products_and_inverses() -> None:
    first, second = make_yaw_rotation(0.3), make_yaw_rotation(0.5)
    assert get_yaw(multiply_rotations(first, second)) == pytest.approx(0.8)
    assert multiply_rotations(first, invert_rotation(first)) == pytest.approx(IDENTITY_ROTATION)
