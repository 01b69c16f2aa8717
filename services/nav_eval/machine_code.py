"""Machine code of kernels as object files, which llvmlite loads in milliseconds where numba takes most of a second.

Numba compiles a function once; its object code is kept beside numba's own cache and called by numba's native
convention: a place for the result, one for an exception, then the arguments, arrays and named tuples taken apart.
It is the same code that numba would run, hence the same bits. Only functions that make no arrays are called this way:
arrays need numba's run-time. Whatever cannot be kept or loaded is left to numba.
"""

import ctypes
import hashlib
import os
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from nav_eval.cache import ArrayFile, get_cache_folder, write_arrays

#: numba's names of the values that a function may return, and ours
RESULT_TYPES = {"float64": "d", "int64": "q", "int32": "i", "bool": "?", "boolean": "?"}
_CTYPES: dict[str, Any] = {"d": ctypes.c_double, "q": ctypes.c_int64, "i": ctypes.c_int32, "?": ctypes.c_bool}
_SCALARS: tuple[tuple[type, Any], ...] = ((bool, ctypes.c_bool), (int, ctypes.c_int64), (float, ctypes.c_double))


@dataclass(frozen=True, slots=True)
class NativeFunction:
    """A function in this process's memory."""

    address: int
    returns: str  #: a letter per value
    is_tuple: bool

    def bind(self, fixed: tuple[object, ...]) -> Callable[..., Any]:
        """The function with its first arguments given."""
        given = [value for argument in fixed for value in _flatten(argument)]
        bound = (given, fixed)  # the arrays live as long as the function
        fields = [(f"value{index}", _CTYPES[letter]) for index, letter in enumerate(self.returns)]
        result_type: Any = type("Result", (ctypes.Structure,), {"_fields_": fields})
        names = [name for name, _ in fields]
        native = ctypes.PYFUNCTYPE(ctypes.c_int32)(self.address)  # the lock is kept: fields are shared by threads

        def call(*arguments: object) -> Any:  # noqa: ANN401
            result, exception = result_type(), ctypes.c_void_p()
            rest = [value for argument in arguments for value in _flatten(argument)]
            if native(ctypes.byref(result), ctypes.byref(exception), *bound[0], *rest):
                raise ArithmeticError("A compiled function failed: please report it with what you called.")
            values = tuple([getattr(result, name) for name in names])
            return values if self.is_tuple else values[0] if values else None

        return call


def _flatten(argument: object) -> Iterator[Any]:
    """The native arguments of one Python argument."""
    if isinstance(argument, np.ndarray):
        yield from (ctypes.c_void_p(), ctypes.c_void_p())  # who owns it: nobody that numba would have to tell
        yield from (ctypes.c_int64(argument.size), ctypes.c_int64(argument.itemsize))
        yield ctypes.c_void_p(argument.ctypes.data)
        yield from map(ctypes.c_int64, (*argument.shape, *argument.strides))
    elif isinstance(argument, tuple):
        for part in argument:
            yield from _flatten(part)
    else:
        yield next(native for kind, native in _SCALARS if isinstance(argument, kind))(argument)


def _describe(argument: object) -> str:
    """What numba would see as the type of an argument."""
    if isinstance(argument, np.ndarray):
        flags = argument.flags
        return f"{argument.dtype.descr}{argument.ndim}{flags.c_contiguous:d}{flags.writeable:d}{flags.aligned:d}"
    if isinstance(argument, tuple):
        return f"{type(argument).__name__}({','.join(map(_describe, argument))})"
    return type(argument).__name__


def find_object_file(function: Callable[..., Any], name: str, arguments: tuple[object, ...]) -> Path:
    """Where the code of a function is kept for arguments like these."""
    types = "\n".join([sys.implementation.cache_tag, *_describe_processor(), *map(_describe, arguments)])
    digest = hashlib.sha256(types.encode()).hexdigest()[:16]
    return _choose_folder(Path(function.__code__.co_filename).parent) / f"{name}.{digest}.kernel"


def _choose_folder(package: Path) -> Path:
    """Beside the code where that may be written, as numba does."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen) / f"objects_{package.name}"
    beside = package / "__pycache__"
    writable = os.access(beside if beside.exists() else package, os.W_OK)
    return beside if writable else get_cache_folder() / "kernels"


@cache
def _describe_processor() -> tuple[str, ...]:
    """What code is made for, as numba chooses it."""
    import llvmlite
    import llvmlite.binding as llvm

    environ = os.environ
    name = environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    features = environ.get("NUMBA_CPU_FEATURES") or (
        "" if name == "generic" else llvm.get_host_cpu_features().flatten()
    )
    return llvmlite.__version__, llvm.get_process_triple(), name, features


def keep_object(file: Path, compiled: Any) -> None:  # noqa: ANN401 - numba has no types
    """Write down what numba compiled, for processes that will not load numba."""
    if load_function(file) or not sys.platform.startswith("linux"):
        return
    kinds = compiled.signature.return_type
    is_tuple = hasattr(kinds, "types")
    names = [str(kind) for kind in (kinds.types if is_tuple else [] if str(kinds) == "none" else [kinds])]
    try:
        about = {
            "symbol": compiled.fndesc.llvm_func_name,
            "returns": "".join(RESULT_TYPES[name] for name in names),
            "is_tuple": is_tuple,
        }
        code = np.frombuffer(compiled.library._get_compiled_object(), np.uint8)
        write_arrays(file, {"code": code}, about=about)
    except (KeyError, OSError, ValueError, RuntimeError):
        return  # numba will be loaded again


@cache
def load_function(file: Path) -> NativeFunction | None:
    """The function of an object file; None where there is no such file, or none of this machine."""
    try:
        content = ArrayFile(file)
        facts = content.about
        address = _load_code(content.array("code", np.uint8, 1).tobytes(), facts["symbol"])
    except (OSError, ValueError, KeyError, RuntimeError, struct.error):
        return None
    return NativeFunction(address, facts["returns"], facts["is_tuple"]) if address else None


_ENGINES: list[Any] = []  #: what owns the loaded code


def _load_code(code: bytes, symbol: str) -> int:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name in _list_undefined_symbols(code):  # for the parts that box and unbox Python objects, which nobody calls
        if llvm.address_of_symbol(name) is None:
            found = getattr(ctypes.pythonapi, name, ctypes.pythonapi.Py_FatalError)  # numba puts in its own ones itself
            llvm.add_symbol(name, ctypes.cast(found, ctypes.c_void_p).value)
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _ENGINES.append(engine)
    return int(engine.get_function_address(symbol))


def _list_undefined_symbols(elf: bytes) -> Iterator[str]:
    """Names that an ELF object expects from others."""
    (start,) = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, start + size * index) for index in range(count)]
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != 2:  # SHT_SYMTAB
            continue
        names = sections[link][4]
        for place in range(offset + entry, offset + length, entry):
            name, _, _, section = struct.unpack_from("<IBBH", elf, place)
            if section == 0:
                yield elf[names + name : elf.index(b"\0", names + name)].decode()
