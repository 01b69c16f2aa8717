"""Which triangles of a chunk are drawn."""

import numpy as np
import pytest

from nav_eval.simulator.rendering.camera import HITS, MISSES, SLIVER, UNCLEAR, list_drawable, make_projected_chunk


@pytest.mark.parametrize("count", [1, 17, 63, 64])
@pytest.mark.parametrize(("reject", "drawn"), [(True, {HITS, UNCLEAR}), (False, {MISSES, HITS, UNCLEAR})])
def test_a_bit_for_every_triangle_that_is_drawn(count, reject, drawn):
    window, rng = make_projected_chunk(), np.random.default_rng(count)
    for _ in range(50):
        window.fate[:] = rng.choice([SLIVER, MISSES, HITS, UNCLEAR], len(window.fate))
        expected = sum(1 << lane for lane in range(count) if window.fate[lane] in drawn)
        assert list_drawable(window, count, reject) == expected
