"""The ways in which functions of this package are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

from nav_eval.compiling import compiled as machine_code

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """A numpy loop that other threads need not wait for."""
    return machine_code(function, nogil=True, error_model="numpy")


def inlined(function: Function) -> Function:
    """A helper of compiled functions, expanded where it is called: a real call would count references."""
    return machine_code(function, forceinline=True, error_model="numpy")
