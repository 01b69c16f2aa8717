"""Conversions against the reference codes, and against geometry one can check by hand."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from nav_eval import frames

LH_VLN = json.loads((Path(__file__).parents[1] / "data" / "oracle" / "oracle_lhvln.json").read_text())
SENSORS = json.loads((Path(__file__).parents[1] / "data" / "oracle" / "oracle_habitat_sensors.json").read_text())


@pytest.mark.parametrize("case", LH_VLN["pose_transforms"])
def test_lh_vln_pose(case: dict) -> None:
    rotation = frames.xyzw_from_wxyz(tuple(case["habitat_rotation_wxyz"]))
    assert frames.lh_vln_position(tuple(case["habitat_position"])) == pytest.approx(case["xyz"], abs=1e-9)
    assert np.allclose(frames.lh_vln_rotation(rotation), case["rotation_matrix"], atol=1e-9)
    assert frames.lh_vln_heading(rotation) == pytest.approx(case["agent_pose_fed_to_model"][3], abs=1e-9)


@pytest.mark.parametrize("case", SENSORS["poses"], ids=lambda case: case["id"])
def test_heading(case: dict) -> None:
    heading = case["outputs"]["heading"][0]
    difference = frames.yaw_of(tuple(case["agent_rotation_xyzw"])) - heading
    assert math.remainder(difference, 2 * math.pi) == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("degrees", range(-170, 181, 10))
def test_yaw_there_and_back(degrees: int) -> None:
    yaw = math.radians(degrees)
    assert frames.yaw_of(frames.quaternion_from_yaw(yaw)) == pytest.approx(yaw, abs=1e-12)


def test_left_is_left() -> None:
    left = frames.quaternion_from_yaw(math.pi / 2)
    assert frames.rotate(left, (0.0, 0.0, -1.0)) == pytest.approx((-1.0, 0.0, 0.0), abs=1e-15)


def test_z_up_points_up() -> None:
    assert frames.y_up_from_z_up(np.array([[1.0, 2.0, 3.0]])).tolist() == [[1.0, 3.0, -2.0]]


@pytest.mark.parametrize(("recorded", "ours"), [(180, 0.0), (-150, math.radians(30)), (90, -math.pi / 2)])
def test_lh_vln_yaw(recorded: float, ours: float) -> None:
    assert frames.yaw_from_lh_vln_degrees(recorded) == pytest.approx(ours)


def test_products_and_inverses() -> None:
    first, second = frames.quaternion_from_yaw(0.3), frames.quaternion_from_yaw(0.5)
    assert frames.yaw_of(frames.multiply(first, second)) == pytest.approx(0.8)
    assert frames.multiply(first, frames.conjugate(first)) == pytest.approx((0, 0, 0, 1))
