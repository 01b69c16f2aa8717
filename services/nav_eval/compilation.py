"""Machine code for loops over arrays, by numba: cached on disk where possible, strict IEEE arithmetic always.

No fastmath and no parallel reductions, so that every machine gets the same bits. Numba's own cache looks at
the file of a function alone, but a function is made of what it calls as well: code of another version would
go on being used after an upgrade. So names in the cache carry a digest of the whole package.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compile_kernel(function: Function, **options: object) -> Function:
    """A function of plain numbers and arrays as machine code; `options` are those of `numba.njit`."""
    compiler: Any = numba.njit  # its types do not know all its options
    folder = Path(function.__code__.co_filename).parent
    function.__qualname__ = f"{function.__qualname__}_{_hash_package(folder)}"
    try:
        return cast(Function, compiler(cache=True, **options)(function))
    except RuntimeError:  # nowhere to write a cache (read-only image, no home): compile per process
        return cast(Function, compiler(**options)(function))


def compile_scalar_kernel(function: Function) -> Function:
    """A function that makes no arrays, without counting references: that took longer than everything else."""
    return compile_kernel(function, _nrt=False)


def compile_inline(function: Function) -> Function:
    """A helper of kernels that makes no arrays, expanded where it is called."""
    return compile_kernel(function, _nrt=False, forceinline=True)


def compile_nogil_kernel(function: Function) -> Function:
    """A loop that other threads need not wait for; divisions by zero give infinities as in numpy."""
    return compile_kernel(function, nogil=True, error_model="numpy")


def compile_nogil_inline(function: Function) -> Function:
    """A helper of such loops, expanded where it is called: a real call would count references."""
    return compile_kernel(function, forceinline=True, error_model="numpy")


@cache
def _hash_package(package: Path) -> str:
    """Of all modules in a package."""
    digest = hashlib.sha256()
    for file in sorted(package.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def get_entry_point(function: Callable[..., Any], *like: object) -> Callable[..., Any]:
    """The machine code of a compiled function for arguments of these types.

    A call skips numba's look at the types, which takes longer than a short function itself. Nothing checks
    the types any more: give it no others, ever.
    """
    dispatcher: Any = function
    type_of: Any = numba.typeof
    types = tuple(type_of(argument) for argument in like)
    dispatcher.compile(types)
    return cast(Callable[..., Any], dispatcher.get_overload(types))
