"""Colours for ids: the forty categorical colours of D3."""

import numpy as np
from numpy.typing import NDArray

_CATEGORY20 = (
    "1f77b4 aec7e8 ff7f0e ffbb78 2ca02c 98df8a d62728 ff9896 9467bd c5b0d5 "
    "8c564b c49c94 e377c2 f7b6d2 7f7f7f c7c7c7 bcbd22 dbdb8d 17becf 9edae5"
)
_CATEGORY20B = (
    "393b79 5254a3 6b6ecf 9c9ede 637939 8ca252 b5cf6b cedb9c 8c6d31 bd9e39 "
    "e7ba52 e7cb94 843c39 ad494a d6616b e7969c 7b4173 a55194 ce6dbd de9ed6"
)

d3_40_colors_hex: list[str] = [f"0x{color}" for color in f"{_CATEGORY20} {_CATEGORY20B}".split()]
d3_40_colors_rgb: NDArray[np.uint8] = np.array(
    [list(bytes.fromhex(color[2:])) for color in d3_40_colors_hex], dtype=np.uint8
)


def colorize_ids(ids: NDArray[np.integer]) -> NDArray[np.uint8]:
    """A colour per id, repeating after forty; black for negative ids."""
    numbers = np.asarray(ids).astype(np.int64)
    return np.where((numbers >= 0)[..., None], d3_40_colors_rgb[numbers % 40], np.uint8(0))
