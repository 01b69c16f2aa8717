"""Every finish that a reset may draw for walls, floors and ceilings, worked out once.

`materials.make_finish` draws by places in short lists, so a kind has a hundred finishes or two. A draw for a whole
scene then is a look at a table, a fraction of the work of making each material anew.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_uncounted_kernel
from nav_eval.scene.model import Texture
from nav_eval_worlds.colours import SHADES
from nav_eval_worlds.materials import FINISH_DRAWS, FINISH_KINDS, VARIANTS, dress_material, make_finish
from nav_eval_worlds.randomness import DrawnStream

Draws = NDArray[np.float64]


class _KindTable(NamedTuple):
    """All finishes of one kind, the last draw counted fastest."""

    options: tuple[int, ...]  #: what each draw chooses among
    colors: NDArray[np.float64]  #: linear, N × 4
    textures: Sequence[Texture | None]


class FinishTable:
    """What surfaces of given kinds may look like."""

    def __init__(self, kinds: Sequence[str], draw: Callable[[int], Draws]) -> None:
        """`draw` gives the numbers drawn for every surface under a seed, `FINISH_DRAWS` each."""
        self._draw = draw
        tables = {kind: _list_finishes(kind) for kind in dict.fromkeys(kinds)}
        starts = dict(zip(tables, np.cumsum([0, *(len(table.textures) for table in tables.values())]), strict=False))
        self._first = np.array([starts[kind] for kind in kinds], dtype=np.int64)
        self._options = np.array([tables[kind].options for kind in kinds], dtype=np.float64).reshape(-1, FINISH_DRAWS)
        self._colors = np.concatenate([np.empty((0, 4)), *(table.colors for table in tables.values())])
        self._shown = [texture for table in tables.values() for texture in table.textures]

    @property
    def textures(self) -> Sequence[Texture]:
        """All that may be drawn, each once."""
        return list({id(texture): texture for texture in self._shown if texture is not None}.values())

    def __call__(self, seed: int) -> tuple[NDArray[np.float64], Sequence[Texture | None]]:
        """Base colour and texture of each surface."""
        if not len(self._first):
            return self._colors, ()
        rows = np.empty_like(self._first)
        _find_rows(self._draw(seed), self._options, self._first, rows)
        return self._colors[rows], [self._shown[row] for row in rows.tolist()]


@compile_uncounted_kernel
def _find_rows(draws: Draws, options: NDArray[np.float64], first: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    """What the draws of each surface choose, the last one counted fastest."""
    for i in range(len(out)):
        row = 0
        for k in range(options.shape[1]):
            row = row * int(options[i, k]) + int(draws[i, k] * options[i, k])
        out[i] = first[i] + row


@lru_cache(maxsize=64)
def _list_finishes(kind: str) -> _KindTable:
    family = FINISH_KINDS[kind]
    colours, shades = len(family.colours), len(SHADES["white"][0::2])
    options = (colours, 1, shades, 1)
    if any(family.patterns):
        options = (colours, len(family.patterns), len(range(0, VARIANTS, 2)), shades)
    middles = ([(place + 0.5) / count for place in range(count)] for count in options)
    looks = [dress_material(kind, make_finish(kind, DrawnStream(draws))) for draws in product(*middles)]
    colors = np.array([material.base_color for material, _ in looks])
    return _KindTable(options, colors, [next(iter(textures), None) for _, textures in looks])
