"""numba's compiler behind a typed decorator; results are cached on disk, so a second process does not compile."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Machine code for numpy loops. No fast-math: results must not depend on the compiler's mood."""
    return cast(Callable[P, R], numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A helper of compiled functions, expanded where it is called: a real call would count references."""
    return cast(Callable[P, R], numba.njit(cache=True, forceinline=True, error_model="numpy")(function))
