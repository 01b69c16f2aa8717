"""Painted textures on disk: painting one takes as long as ten resets, so each is painted once per machine.

They are kept under a digest of the code that paints them, and are the same bytes as painted ones. A cache that cannot
be read or written is done without.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nav_eval.cache import ArrayFile, get_cache_folder, write_arrays
from nav_eval.compilation import hash_package


def load_or_paint(pattern: str, variant: int, paint: Callable[[], NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """The pixels of a texture; they cannot be written to."""
    path = get_cache_folder() / "textures" / _get_version() / f"{pattern.replace(' ', '-')}-{variant}"
    with suppress(OSError, ValueError, KeyError):
        return ArrayFile(path).array("pixels", np.uint8, 3)
    pixels = paint()
    pixels.setflags(write=False)
    with suppress(OSError):
        write_arrays(path, {"pixels": pixels}, about={})
    return pixels


@cache
def _get_version() -> str:
    """Of the painters, and of the draws that they make."""
    own = Path(__file__).parent
    return f"{hash_package(own)}{hash_package(own.parent)}"
