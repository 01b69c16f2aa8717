"""Which triangles of a chunk are drawn."""

import numpy as np
import pytest

from nav_eval.simulator.rendering.camera import (
    GUARD,
    HITS,
    MISSES,
    SLIVER,
    UNCLEAR,
    Camera,
    KernelCamera,
    list_drawable,
    make_projected_chunk,
    project_chunk,
)


@pytest.mark.parametrize("count", [1, 17, 63, 64])
@pytest.mark.parametrize(("reject", "drawn"), [(True, {HITS, UNCLEAR}), (False, {MISSES, HITS, UNCLEAR})])
def test_a_bit_for_every_triangle_that_is_drawn(count, reject, drawn):
    window, rng = make_projected_chunk(), np.random.default_rng(count)
    for _ in range(50):
        window.fate[:] = rng.choice([SLIVER, MISSES, HITS, UNCLEAR], len(window.fate))
        expected = sum(1 << lane for lane in range(count) if window.fate[lane] in drawn)
        assert list_drawable(window, count, reject) == expected


@pytest.mark.parametrize("hfov", [40.0, 90.0, 150.0])
def test_triangles_around_the_eye_are_left_out_where_they_lie_beside_the_view(hfov):
    """Most of what is near the eye plane is: nearly half of what a room shows from within lies behind the eye."""
    rng, window = np.random.default_rng(int(hfov)), make_projected_chunk()
    camera = Camera.from_angles((3.0, 1.2, -2.0), yaw=0.4, pitch=-0.2, width=96, height=64, hfov=hfov)
    view = KernelCamera.of(camera, 10.0)
    shares = rng.dirichlet(np.ones(3), 400)
    left_out = 0
    for _ in range(60):
        middles = rng.normal(0, 1.0, (64, 1, 3))
        corners = (camera.position + middles + rng.normal(0, 0.3, (64, 3, 3))).astype(np.float32)
        project_chunk(np.ascontiguousarray(corners.transpose(1, 2, 0)).reshape(-1), 64, view, 0.0, window)
        clip = np.append(corners, np.ones((64, 3, 1)), axis=2) @ camera.world_to_clip.T
        is_near = clip[..., 3].min(axis=1) <= GUARD
        assert np.isin(window.fate[is_near], (MISSES, UNCLEAR)).all()
        points = np.einsum("pc,tck->tpk", shares, clip)
        shows = (np.abs(points[..., :2]) <= points[..., 3:]).all(axis=2) & (points[..., 3] > 0)
        assert (window.fate[is_near & shows.any(axis=1)] == UNCLEAR).all()
        beyond = np.concatenate([clip[..., :2] - clip[..., 3:], -clip[..., :2] - clip[..., 3:], -clip[..., 3:]], axis=2)
        is_beside = is_near & (beyond.min(axis=1) > 0.02).any(axis=1)
        assert (window.fate[is_beside] == MISSES).all()
        left_out += is_beside.sum()
    assert left_out > 1000
