"""Lines of sight against the plain test of every triangle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import AlphaMode, Material, Scene, SceneObject
from nav_eval_worlds.episodes.visibility import SceneVisibility

OPAQUE, GLASS = 0, 1


def scene_of(corners: np.ndarray, *, owners: list[int], materials: list[int] | None = None) -> Scene:
    count = len(corners)
    return Scene(
        positions=corners.reshape(-1, 3).astype(np.float32),
        normals=np.zeros((count * 3, 3), np.float32),
        uvs=np.zeros((count * 3, 2), np.float32),
        colors=np.full((count * 3, 4), 255, np.uint8),
        triangles=np.arange(count * 3, dtype=np.uint32).reshape(-1, 3),
        triangle_material=np.array(materials or [OPAQUE] * count, np.uint16),
        triangle_object=np.array(owners, np.uint32),
        triangle_category=np.zeros(count, np.uint16),
        materials=(Material(), Material(alpha_mode=AlphaMode.BLEND)),
    )


def wall(x: float, *, height: float = 2.0) -> np.ndarray:
    """Two triangles across the way, from z = −2 to 2."""
    a, b, c, d = (x, 0, -2), (x, 0, 2), (x, height, 2), (x, height, -2)
    return np.array([[a, b, c], [a, c, d]], dtype=float)


EYE: Vec3 = (0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("end", "is_clear"),
    [
        ((3.0, 1.0, 0.0), False),  # straight through the wall
        ((0.9, 1.0, 0.0), True),  # before it
        ((3.0, 1.0, 9.0), True),  # round its end
        ((1.5, 5.0, 0.0), True),  # over it
        ((0.0, 1.0, 5.0), True),  # along it
    ],
)
def test_a_wall_blocks_what_is_behind_it(end: Vec3, is_clear: bool) -> None:
    sight = SceneVisibility(scene_of(wall(1.0), owners=[1, 1]))
    assert sight.is_clear(EYE, end) is is_clear
    assert sight.is_clear(end, EYE) is is_clear


def test_glass_does_not_block() -> None:
    assert SceneVisibility(scene_of(wall(1.0), owners=[1, 1], materials=[GLASS, GLASS])).is_clear(EYE, (3.0, 1.0, 0.0))


def test_a_thing_does_not_hide_itself_but_others_do() -> None:
    corners = np.concatenate([wall(1.0, height=0.9), wall(2.0)])
    sight = SceneVisibility(scene_of(corners, owners=[7, 7, 8, 8]))
    low = SceneObject(object_id=8, category="shelf", center=(2.0, 0.4, 0.0), size=(0.1, 0.2, 1.0))
    high = SceneObject(object_id=8, category="shelf", center=(2.0, 1.5, 0.0), size=(0.1, 0.2, 1.0))
    assert sight.check_visible_from([EYE], high) == [True]
    assert sight.check_visible_from([EYE, (1.5, 1.0, 0.0)], low) == [False, True]
    assert (sight.compute_visible_share(EYE, low), sight.compute_visible_share(EYE, high)) == (0.0, 1.0)


def hits_any(corners: np.ndarray, start: np.ndarray, direction: np.ndarray) -> bool:
    """Möller and Trumbore's test of every triangle, edges included."""
    a, ab, ac = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(direction, ac)
    det = (ab * across).sum(axis=1)
    safe = np.where(np.abs(det) < 1e-12, 1.0, det)
    q = np.cross(start - a, ab)
    u, v, t = (
        ((start - a) * across).sum(axis=1) / safe,
        (direction * q).sum(axis=1) / safe,
        (ac * q).sum(axis=1) / safe,
    )
    hit = (np.abs(det) >= 1e-12) & (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9) & (t > 1e-6)
    return bool(hit.any())


coordinates = st.floats(-4, 4, width=16)
points = st.tuples(coordinates, coordinates, coordinates)


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.tuples(points, points, points), min_size=1, max_size=12), points, points)
def test_columns_find_what_testing_every_triangle_finds(
    triangles: list[tuple[Vec3, Vec3, Vec3]], start: Vec3, end: Vec3
) -> None:
    corners = np.array(triangles, dtype=float)
    direction = np.array(end) - np.array(start)
    blocked_by_any = any(
        not SceneVisibility(scene_of(corners[[n]], owners=[1])).is_clear(start, end) for n in range(len(corners))
    )
    blocked = not SceneVisibility(scene_of(corners, owners=[1] * len(corners))).is_clear(start, end)
    assert blocked == blocked_by_any
    if not hits_any(corners, np.array(start), direction):
        assert not blocked
