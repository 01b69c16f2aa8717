"""Cutting polygons into triangles: the area stays, the front stays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.scene.formats.geometry import triangulate


def area_vector(points: np.ndarray) -> np.ndarray:
    """Half the sum of cross products: right for any flat polygon."""
    return np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0) / 2


@settings(max_examples=100, deadline=None)
@given(
    radii=st.lists(st.floats(0.2, 3), min_size=3, max_size=14),
    turn=st.floats(0, 6),
    axis=st.integers(0, 2),
)
def test_star_shaped_polygons(radii: list[float], turn: float, axis: int) -> None:
    angles = turn + np.arange(len(radii)) * 2 * np.pi / len(radii)
    flat = np.stack([radii * np.cos(angles), radii * np.sin(angles), np.full(len(radii), 0.5)], axis=1)
    points = np.roll(flat, axis, axis=1).astype(np.float32)
    triangles, owners = triangulate(np.arange(len(points)), np.array([len(points)]), points)
    assert len(triangles) == len(points) - 2
    assert (owners == 0).all()
    whole = area_vector(points.astype(float))
    pieces = np.array([area_vector(points[triangle].astype(float)) for triangle in triangles])
    assert np.allclose(pieces.sum(axis=0), whole, atol=1e-4)
    assert (pieces @ whole >= -1e-4).all()  # no triangle looks the other way


def test_a_concave_quad_is_cut_through_its_inner_corner() -> None:
    dart = np.array([[0, 0, 0], [4, 0, 0], [1, 1, 0], [0, 4, 0]], np.float32)
    triangles, _ = triangulate(np.array([1, 2, 3, 0]), np.array([4]), dart)
    corners = [sorted(np.array([1, 2, 3, 0])[triangle]) for triangle in triangles]
    assert all(2 in corner and 0 in corner for corner in corners)


@pytest.mark.parametrize("counts", [[], [0], [2, 1], [3, 0, 4]])
def test_faces_keep_their_order_and_too_short_ones_vanish(counts: list[int]) -> None:
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
    corners = np.concatenate([np.arange(count) for count in counts] or [np.zeros(0)]).astype(np.int64)
    _, owners = triangulate(corners, np.array(counts, np.int64), points)
    assert owners.tolist() == [face for face, count in enumerate(counts) for _ in range(max(count - 2, 0))]
