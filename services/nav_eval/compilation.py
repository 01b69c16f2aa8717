"""Machine code for loops over arrays, by numba: cached on disk where possible, strict IEEE arithmetic always.

No fastmath and no parallel reductions, so that every machine gets the same bits. Numba's own cache looks at
the file of a function alone, but a function is made of what it calls as well: code of another version would
go on being used after an upgrade. So names in the cache carry a digest of the whole package.

Numba takes most of a second to load, which is longer than most runs take to verify, and its compiler more memory than
most scenes. So what it compiled is kept as object files, too, and a process whose kernels are all there does without
numba (`machine_code`).

Processes that start together need the same kernels: one compiles, the others wait and read what it wrote.
"""

import hashlib
from collections.abc import Callable
from functools import cache, cached_property, partial, update_wrapper
from pathlib import Path
from typing import Any, TypeVar, cast

from nav_eval import machine_code
from nav_eval.cache import lock_maker

Function = TypeVar("Function", bound=Callable[..., Any])


class Kernel:
    """A function that becomes machine code when it is called."""

    def __init__(self, function: Callable[..., Any], **options: object) -> None:
        update_wrapper(self, function)
        self._function, self._options = function, options
        self._ready: dict[machine_code.Types | None, Callable[..., Any]] = {}  #: by what it is called with
        self._entry_points: dict[machine_code.Types, Callable[..., Any]] = {}  #: the same without a look at the types

    def __call__(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        types = None if named else machine_code.list_types(arguments)
        ready = self._ready.get(types)
        return ready(*arguments, **named) if ready is not None else self._call_first(types, arguments, named)

    def _call_first(
        self, types: machine_code.Types | None, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> object:
        """Nobody has called it with such arguments yet: its code is loaded, or made and kept."""
        file = None if types is None else self._find_object_file(arguments)
        ready = file and machine_code.load_function(file)
        if ready:
            self._ready[types] = ready
            return ready(*arguments)
        if file is not None:
            self._compile(file, arguments)
        self._ready[types] = self.dispatcher
        return self.dispatcher(*arguments, **named)

    def _compile(self, file: Path, arguments: tuple[object, ...]) -> Callable[..., Any]:
        """By numba, for arguments like these; other processes find the code in the file."""
        import numba

        types = tuple(map(cast(Any, numba.typeof), arguments))
        self.dispatcher.compile(types)
        machine_code.keep_object(file, self.dispatcher, types)
        entry_point: Callable[..., Any] = self.dispatcher.get_overload(types)
        return entry_point

    @cached_property
    def dispatcher(self) -> Any:  # noqa: ANN401 - numba has no types
        """Numba's compiler of this function."""
        import numba

        compiler: Any = numba.njit  # its types do not know all its options
        self._function.__qualname__ = self.cache_name
        try:
            dispatcher = compiler(cache=True, **self._options)(self._function)
        except RuntimeError:  # nowhere to write a cache (read-only image, no home): compile per process
            return compiler(**self._options)(self._function)
        dispatcher.compile = partial(_compile_alone, dispatcher, Path(dispatcher.stats.cache_path) / self.cache_name)
        return dispatcher

    @property
    def cache_name(self) -> str:
        """The function, as code of just this version of it and of what it calls."""
        name = self._function.__qualname__
        digest = hash_package(Path(self._function.__code__.co_filename).parent)
        return name if name.endswith(digest) else f"{name}_{digest}"

    @property
    def _numba_type_(self) -> object:
        """What numba asks for where a kernel calls another one."""
        from numba.core.types import Dispatcher

        return Dispatcher(self.dispatcher)

    def bind(self, *fixed: object, like: tuple[object, ...]) -> Callable[..., Any]:
        """The machine code with its first arguments given; the others have the types of `like`.

        A call skips numba's look at the types, which takes longer than a short function itself. Nothing checks
        the types any more: give it no others, ever.
        """
        arguments = (*fixed, *like)
        types = machine_code.list_types(arguments)
        entry_point = None if types is None else self._entry_points.get(types)
        if entry_point is None:
            file = self._find_object_file(arguments)
            entry_point = machine_code.load_function(file) or self._compile(file, arguments)
            if types is not None:
                self._entry_points[types] = entry_point
        return partial(entry_point, *fixed)

    def _find_object_file(self, arguments: tuple[object, ...]) -> Path:
        return machine_code.find_object_file(self._function, self.cache_name, arguments)


def compile_kernel(function: Function, **options: object) -> Function:
    """A function of plain numbers and arrays as machine code; `options` are those of `numba.njit`."""
    return cast(Function, Kernel(function, **options))


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


def compile_uncounted_kernel(function: Function) -> Function:
    """Such a loop that makes no arrays: counting references to those that it is given can take longer than the rest."""
    return compile_kernel(function, nogil=True, error_model="numpy", _nrt=False)


def compile_uncounted_inline(function: Function) -> Function:
    """A helper of such loops."""
    return compile_kernel(function, forceinline=True, error_model="numpy", _nrt=False)


def _compile_alone(dispatcher: Any, place: Path, signature: object) -> object:  # noqa: ANN401
    """Numba's `compile`, while no other process compiles the same kernel.

    Numba's own lock comes first, always: a kernel's callees are compiled while it is held, so a thread that waited
    for it with a file locked would stop the one that holds it.
    """
    from numba.core.compiler_lock import global_compiler_lock

    compile_signature = partial(type(dispatcher).compile, dispatcher)
    with global_compiler_lock:
        if dispatcher.is_compiling:  # a kernel that calls itself holds its file already
            return compile_signature(signature)
        with lock_maker(place):
            return compile_signature(signature)


@cache
def hash_package(package: Path) -> str:
    """Of all modules in a package."""
    digest = hashlib.sha256()
    for file in sorted(package.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def bind_kernel(function: Callable[..., Any], *fixed: object, like: tuple[object, ...]) -> Callable[..., Any]:
    """`Kernel.bind` of a compiled function that makes no arrays."""
    return cast(Kernel, function).bind(*fixed, like=like)
