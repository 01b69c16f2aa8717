"""One way to compile: cached on disk where possible, strict IEEE arithmetic always.

No fastmath and no parallel reductions, so that every machine gets the same bits.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of plain numbers and arrays."""
    return _compiled(function)


def lean(function: Function) -> Function:
    """Compile a function that makes no arrays, without counting references: that took longer than everything else."""
    return _compiled(function, _nrt=False)


def inlined(function: Function) -> Function:
    """Compile a helper that makes no arrays, expanded where it is called."""
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Function, **options: bool) -> Function:
    compiler: Any = numba.njit  # its types do not know `_nrt`
    try:
        return cast(Function, compiler(cache=True, **options)(function))
    except RuntimeError:  # nowhere to write a cache (read-only image, no home): compile per process
        return cast(Function, compiler(**options)(function))
