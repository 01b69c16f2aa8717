"""What can be seen from where: sets of triangles per cell of eye positions, learned while looking.

A set is a guess that saves work and never decides a pixel: after drawing it the renderer checks the
depth picture for triangles that could still show, draws those too and adds them here. So pictures do
not depend on what was learned before, only their cost does; and preparing a cell is nothing but
looking around in it.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from nav_eval.simulator.rendering.projection import View

Cell = tuple[int, int, int]
Direction = tuple[int, int]

CELL_METRES = 0.5
DIRECTIONS = 12
"""Sectors of a full turn. Having looked into a sector once, a cell is believed to know what shows there."""
_NEIGHBOURS = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) != (0, 0, 0)]


_NOTHING = (np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint64))


def cell_of(position: Iterable[float]) -> Cell:
    x, y, z = (math.floor(value / CELL_METRES) for value in position)
    return (x, y, z)


def direction_of(view: View) -> Direction:
    """Heading and pitch of the optical axis, by sector."""
    x, y, z = view.matrix[2, :3].tolist()
    sector = 2 * math.pi / DIRECTIONS
    return round(math.atan2(-x, -z) / sector) % DIRECTIONS, round(math.asin(max(-1.0, min(1.0, y))) / sector)


class VisibleSets:
    """One bit per triangle and cell; a chunk's bits are one 64-bit word."""

    def __init__(self, chunk_count: int) -> None:
        self.words = np.zeros(chunk_count, dtype=np.uint64)  #: of the cell that was entered last
        self._cell: Cell | None = None
        self._stored: dict[Cell, tuple[NDArray[np.int32], NDArray[np.uint64]]] = {}
        self._looked: dict[Cell, set[Direction]] = {}

    def __len__(self) -> int:
        return len(self._looked)

    def enter(self, cell: Cell) -> None:
        """Make `words` those of this cell; what was added to them since is kept for the cell before."""
        if cell == self._cell:
            return
        self._leave()
        self._cell = cell
        if cell in self._stored:
            chunks, words = self._stored[cell]
            self.words[chunks] = words

    def knows(self, cell: Cell, direction: Direction) -> bool:
        return direction in self._looked.get(cell, ())

    def remember(self, cell: Cell, direction: Direction) -> None:
        self._looked.setdefault(cell, set()).add(direction)

    def remember_all(self, cell: Cell) -> None:
        """Every direction has been looked into."""
        self._looked[cell] = {(heading, pitch) for heading in range(DIRECTIONS) for pitch in range(-3, 4)}

    def with_neighbours(self) -> NDArray[np.uint64]:
        """The words of the entered cell and of all cells around it."""
        union = self.words.copy()
        x, y, z = self._cell or (0, 0, 0)
        for dx, dy, dz in _NEIGHBOURS:
            chunks, words = self._stored.get((x + dx, y + dy, z + dz), _NOTHING)
            union[chunks] |= words
        return union

    def _leave(self) -> None:
        if self._cell is not None:
            chunks = np.flatnonzero(self.words).astype(np.int32)
            self._stored[self._cell] = chunks, self.words[chunks]
            self.words[chunks] = 0
            self._cell = None
