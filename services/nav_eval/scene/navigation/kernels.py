"""One way to compile: cached on disk where possible, strict IEEE arithmetic always.

No fastmath and no parallel reductions, so that every machine gets the same bits.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of plain numbers and arrays."""
    try:
        return cast(Function, numba.njit(cache=True)(function))
    except RuntimeError:  # nowhere to write a cache (read-only image, no home): compile per process
        return cast(Function, numba.njit(function))
