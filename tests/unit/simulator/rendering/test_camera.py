import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nav_eval.errors import SimulatorError
from nav_eval.records.geometry import to_rotation_matrix
from nav_eval.simulator.rendering import Camera

ANGLE = st.floats(-math.pi, math.pi)


def pixel(camera: Camera, point) -> np.ndarray:
    x, y, _, w = camera.world_to_clip @ (*point, 1.0)
    return np.array([(x / w + 1) / 2 * camera.width, (y / w + 1) / 2 * camera.height])


@pytest.mark.parametrize(
    ("camera", "point", "expected"),
    [
        (Camera(position=(0, 0, 0)), (0, 0, -2), (320, 240)),  # the optical axis meets the middle
        (Camera(position=(0, 0, 0)), (2, 0, -2), (640, 240)),  # hfov 90: 45° to the right is the right edge
        (Camera(position=(0, 0, 0)), (-2, 0, -2), (0, 240)),
        (Camera(position=(0, 0, 0)), (0, 1.5, -2), (320, 0)),  # square pixels: up is 3/4 of that
        (Camera(position=(1, 2, 3)), (1, 2, 1), (320, 240)),
        (Camera.from_angles((0, 0, 0), yaw=math.pi / 2), (-5, 0, 0), (320, 240)),  # a left turn faces −X
        (Camera.from_angles((0, 0, 0), yaw=-math.pi / 2), (5, 0, 0), (320, 240)),
        (Camera.from_angles((0, 0, 0), pitch=math.pi / 4), (0, 1, -1), (320, 240)),  # positive pitch looks up
        (Camera.from_angles((0, 0, 0), pitch=-math.pi / 4), (0, -1, -1), (320, 240)),
        (Camera.from_angles((0, 0, 0), width=100, height=100, hfov=60), (math.tan(math.pi / 6), 0, -1), (100, 50)),
        (Camera.from_angles((0, 0, 0), roll=math.pi / 2, width=100, height=100), (0, 1, -1), (100, 50)),  # leaning left
    ],
)
def test_points_land_on_their_pixels(camera, point, expected):
    assert pixel(camera, point) == pytest.approx(expected, abs=1e-9)


@given(ANGLE, st.floats(-1.5, 1.5), ANGLE)
def test_rotations_are_rotations(yaw, pitch, roll):
    matrix = to_rotation_matrix(Camera.from_angles((0, 0, 0), yaw=yaw, pitch=pitch, roll=roll).rotation)
    assert np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(matrix) == pytest.approx(1.0)
    assert -matrix[:, 2] == pytest.approx(
        (-math.sin(yaw) * math.cos(pitch), math.sin(pitch), -math.cos(yaw) * math.cos(pitch)), abs=1e-9
    )


@pytest.mark.parametrize(
    "change",
    [
        {"width": 0},
        {"height": 100_000},
        {"hfov": 180.0},
        {"hfov": 0.0},
        {"near": 0.0},
        {"near": 2.0, "far": 1.0},
        {"position": (0.0, float("nan"), 0.0)},
        {"rotation": (0.0, 0.0, 0.0, 0.0)},
    ],
)
def test_impossible_cameras_are_refused(change):
    with pytest.raises(SimulatorError):
        Camera(**{"position": (0.0, 0.0, 0.0), **change})
