"""What shows from where one can stand: guessed once for a prepared scene, and kept beside it.

An outlook is the set of triangles that show from one place, all around. A renderer starts from the outlooks nearest to
the eye, so that first pictures cost what later ones do. Like everything that it learns (`culling.VisibilitySets`)
they are guesses that can change no pixel: a file that is damaged, or of another scene, is one that is not there.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.cache import ArrayFile, write_arrays

OUTLOOK_VERSION = 2
"""Of the file: raise it when the sets of an older version should not be used any more."""
CELL_METRES = 0.5
"""Side of the cells of eye positions. A renderer learns one set per cell; outlooks are two cells apart."""
SAME_STOREY = 2
"""Cells. An outlook serves eyes that are at most so much higher or lower."""

Cell = tuple[int, int, int]
SparseWords = tuple[NDArray[np.int32], NDArray[np.uint64]]
"""Chunks, and one bit for each of their triangles."""


class Outlooks:
    """Sets of triangles by place, one per square metre and storey at most."""

    def __init__(self, places: NDArray[np.int32], sets: Sequence[SparseWords]) -> None:
        """`places` are N × 3: x and z in metres, y in cells, rounded down."""
        self.places = places
        self.sets = sets
        self._columns: dict[tuple[int, int], list[tuple[int, SparseWords]]] = defaultdict(list)
        for (x, y, z), words in zip(places.tolist(), sets, strict=True):
            self._columns[x, z].append((y, words))

    def __len__(self) -> int:
        return len(self.sets)

    def find(self, cell: Cell) -> Iterator[SparseWords]:
        """The outlooks from the four places around a cell, or from as many as there are."""
        x, y, z = cell
        for column in ((i, k) for i in ((x - 1) // 2, (x + 1) // 2) for k in ((z - 1) // 2, (z + 1) // 2)):
            height, words = min(
                self._columns.get(column, ()), key=lambda entry: abs(entry[0] - y), default=(None, None)
            )
            if height is not None and words is not None and abs(height - y) <= SAME_STOREY:
                yield words


NO_OUTLOOKS = Outlooks(np.empty((0, 3), dtype=np.int32), ())


def save_outlooks(outlooks: Outlooks, path: Path, *, scene: str) -> None:
    """Write the outlooks of the prepared scene with the digest `scene`."""
    sizes = [len(chunks) for chunks, _ in outlooks.sets]
    arrays: dict[str, NDArray[Any]] = {
        "places": outlooks.places,
        "first": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "chunks": np.concatenate([np.empty(0, np.int32), *(chunks for chunks, _ in outlooks.sets)]),
        "words": np.concatenate([np.empty(0, np.uint64), *(words for _, words in outlooks.sets)]),
    }
    about = {"version": OUTLOOK_VERSION, "scene": scene, "digest": _hash_arrays(arrays)}
    write_arrays(path, arrays, about=about)


def load_outlooks(path: Path, *, scene: str) -> Outlooks | None:
    """What `save_outlooks` wrote, its arrays mapped from the file; None if it is not whole or not of this scene."""
    try:
        file = ArrayFile(path)
        arrays = {
            "places": file.array("places", np.int32, 2),
            "first": file.array("first", np.int64, 1),
            "chunks": file.array("chunks", np.int32, 1),
            "words": file.array("words", np.uint64, 1),
        }
        expected = {"version": OUTLOOK_VERSION, "scene": scene, "digest": _hash_arrays(arrays)}
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if file.about != expected:
        return None
    first, chunks, words = arrays["first"].tolist(), arrays["chunks"], arrays["words"]
    sets = [(chunks[start:end], words[start:end]) for start, end in pairwise(first)]
    return Outlooks(arrays["places"], sets)


def _hash_arrays(arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.blake2b(digest_size=20)
    for array in arrays.values():
        digest.update(f"{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
