"""Tints of inks are what the formula gives vertex by vertex."""

import numpy as np
import pytest

from nav_eval.scene.color import to_srgb
from nav_eval.simulator.rendering.prepared_scene import DULL, SHADED, UNLIT
from nav_eval.simulator.rendering.tints import Brush, find_inks, paint_tints

VERTICES, PATCHES, COLORS, WAYS = 5000, 7, 40, 30


@pytest.mark.parametrize("seed", range(3))
def test_inks_are_mixed_and_spread_as_each_vertex_would_be(seed: int) -> None:
    rng = np.random.default_rng(seed)
    patch, color, facing = (rng.integers(n, size=VERTICES).astype(np.int32) for n in (PATCHES, COLORS, WAYS))
    colors = rng.integers(256, size=(COLORS, 4), dtype=np.uint8)
    brush = Brush(
        kind=rng.permutation([UNLIT, UNLIT, DULL, DULL, DULL, SHADED, SHADED]),
        base=rng.uniform(0, 1, (PATCHES, 4)),
        glow=rng.uniform(0, 0.2, (PATCHES, 3)),
        is_plain=rng.uniform(size=PATCHES) < 0.5,
        light=rng.uniform(0, 1.2, (WAYS, 3)),
        sheen=rng.uniform(0, 0.1, (WAYS, 3)),
    )
    painted = np.zeros(VERTICES, dtype=np.uint32)
    paint_tints(find_inks(patch, color, facing, patches=PATCHES), brush, colors, painted)

    light = colors[color, :3] / 255.0 * brush.base[patch, :3]
    lit = light * brush.light[facing] + brush.sheen[facing] * brush.is_plain[patch, None]
    kind = brush.kind[patch][:, None]
    expected = to_srgb(np.where(kind == DULL, lit, light) + brush.glow[patch])
    expected = np.where(kind == SHADED, colors[color, :3], np.round(np.clip(expected, 0, 1) * 255))
    shown = painted.view(np.uint8).reshape(VERTICES, 4)
    assert np.array_equal(shown[:, :3], expected)
    assert np.array_equal(shown[:, 3], np.floor(colors[color, 3] * brush.base[patch, 3] + 0.5))
