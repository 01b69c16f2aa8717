"""What a depth picture is summed up to."""

import numpy as np
import pytest

from nav_eval.simulator.rendering.occlusion import BLOCK, TILE, DepthPicture, summarize_depth


@pytest.mark.parametrize("shape", [(480, 640), (37, 23), (1, 1), (9, 200), (4, 32)])
def test_tiles_and_blocks_know_their_farthest_pixel(shape):
    """And are endless where a pixel shows nothing."""
    rng = np.random.default_rng(sum(shape))
    metres = rng.uniform(0.1, 20.0, shape).astype(np.float32)
    metres[rng.random(shape) < 0.002] = 0.0
    picture = DepthPicture.over(metres)
    summarize_depth(picture)
    depths = np.where(metres == 0, np.float32(np.inf), metres)
    for side, summed in ((TILE, picture.tiles), (TILE * BLOCK, picture.blocks)):
        expected = [
            [depths[y : y + side, x : x + side].max() for x in range(0, shape[1], side)]
            for y in range(0, shape[0], side)
        ]
        np.testing.assert_array_equal(summed, expected)
