"""The ways in which functions of this package are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

from nav_eval.compiling import compiled

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of plain numbers and arrays."""
    return compiled(function)


def lean(function: Function) -> Function:
    """Compile a function that makes no arrays, without counting references: that took longer than everything else."""
    return compiled(function, _nrt=False)


def inlined(function: Function) -> Function:
    """Compile a helper that makes no arrays, expanded where it is called."""
    return compiled(function, _nrt=False, forceinline=True)
