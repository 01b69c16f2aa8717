"""Machine code of kernels as object files, loaded in milliseconds where numba takes most of a second and its compiler
150 MB of memory.

Numba compiles a function once; its object code is kept beside numba's own cache: the function, and what unpacks Python
objects for it. Other processes put it into memory themselves, tell it where the functions are that it calls (Python's,
and those of numba's run-time, which are libraries of their own), and call it as numba would. It is the same code that
numba would run, hence the same bits. Whatever cannot be kept or loaded is left to numba: other processors than x86-64,
other systems than Linux, functions that need Python objects of their compiler's.
"""

import builtins
import ctypes
import hashlib
import importlib.util
import mmap
import os
import platform
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from nav_eval.cache import ArrayFile, get_cache_folder, write_arrays

Types = tuple[object, ...]
"""What numba tells arguments apart by, and maybe more."""

_SCALARS = frozenset({bool, float, np.bool_, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64})
_LARGEST = 1 << 63
_OWNS_DATA = 0x4  #: a flag of arrays that changes no type


def list_types(arguments: tuple[object, ...]) -> Types | None:
    """What the arguments are, to look code up by; None where only numba knows."""
    types: list[object] = []
    return tuple(types) if _add_types(arguments, types) else None


def _add_types(arguments: tuple[object, ...], types: list[object]) -> bool:
    for argument in arguments:
        kind = type(argument)
        if kind is np.ndarray:
            types += (argument.dtype, argument.ndim, argument.flags.num & ~_OWNS_DATA)  # type: ignore[attr-defined]
        elif kind is int:
            if not -_LARGEST <= argument < _LARGEST:  # type: ignore[operator]
                return False
            types.append(int)
        elif kind in _SCALARS:
            types.append(kind)
        elif isinstance(argument, tuple):
            types += (kind, len(argument))
            if not _add_types(argument, types):
                return False
        else:
            return False
    return True


def _describe(argument: object) -> str:
    """What numba would see as the type of an argument."""
    if isinstance(argument, np.ndarray):
        flags = argument.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return f"{argument.dtype.descr}{argument.ndim}{layout}{flags.writeable:d}{flags.aligned:d}"
    if isinstance(argument, tuple):
        return f"{type(argument).__name__}({','.join(map(_describe, argument))})"
    return type(argument).__name__


def find_object_file(function: Callable[..., Any], name: str, arguments: tuple[object, ...]) -> Path:
    """Where the code of a function is kept for arguments like these."""
    types = "\n".join([sys.implementation.cache_tag, *_describe_compiler(), *map(_describe, arguments)])
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
def _describe_compiler() -> tuple[str, ...]:
    """What makes the code, and for which processor; said without loading it."""
    versions = [_find_library(name).with_name("_version.py").read_text() for name in ("numba", "llvmlite")]
    chosen = [os.environ.get(name, "") for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT")]
    is_generic = chosen[0] == "generic" and not chosen[1]  # for every processor of its kind, as in images
    return (*versions, *chosen, platform.machine(), *([] if is_generic else _describe_processor()))


def _describe_processor() -> Iterator[str]:
    """The lines about the first of them that say what code it can run."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n", 1)[0].splitlines()
    except OSError:
        return
    names = ("vendor_id", "cpu family", "model", "flags", "CPU ", "Features")
    yield from (line for line in lines if line.startswith(names))


def _find_library(name: str) -> Path:
    """The first file of an installed package, which is not imported for that."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise ImportError(f"{name} is not installed")
    return Path(found.origin)


def keep_object(file: Path, dispatcher: Any, types: tuple[object, ...]) -> None:  # noqa: ANN401 - numba has no types
    """Write down what numba compiled for these types, for processes that will not load numba."""
    try:
        compiled = dispatcher.overloads[types]
        if compiled.environment.consts or compiled.objectmode or compiled.lifted or compiled.reload_init:
            return  # it needs Python objects of numba's, or something done before it runs
        code = np.frombuffer(_get_object_code(dispatcher, compiled), np.uint8)
        write_arrays(file, {"code": code}, about={"symbol": compiled.fndesc.llvm_cpython_wrapper_name})
    except (AttributeError, KeyError, IndexError, TypeError, OSError, ValueError, RuntimeError):
        return  # numba will be loaded again


def _get_object_code(dispatcher: Any, compiled: Any) -> bytes:  # noqa: ANN401
    """Numba holds what it has just compiled; what it read from its cache it has handed on."""
    try:
        code: bytes = compiled.library._get_compiled_object()
    except RuntimeError:
        store = dispatcher._cache
        key = store._index_key(tuple(compiled.signature.args), compiled.target_context.codegen())
        _, _, (code, _) = store._cache_file.load(key)[0]
    return code


@cache
def load_function(file: Path) -> Callable[..., Any] | None:
    """The function of an object file; None where there is no such file, or none that can be run here."""
    if not (sys.platform.startswith("linux") and platform.machine() == "x86_64"):
        return None
    try:
        content = ArrayFile(file)
        return _load_code(content.array("code", np.uint8, 1).tobytes(), str(content.about["symbol"]))
    except (OSError, ValueError, KeyError, ImportError, struct.error, IndexError, StopIteration, UnicodeDecodeError):
        return None


class _Section(NamedTuple):
    """Of an ELF object."""

    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


class _Symbol(NamedTuple):
    name: str
    section: int
    value: int
    size: int


_SYMBOLS, _RELOCATIONS, _EMPTY = 2, 4, 8  #: kinds of sections
_WRITTEN, _LOADED = 1, 2  #: flags of sections
_UNDEFINED, _COMMON = 0, 0xFFF2  #: sections of symbols
_ABSOLUTE, _RELATIVE = 1, 24  #: how a 64-bit address is put in
_ENVIRONMENT = "_ZN08NumbaEnv"  #: variables where a function looks for Python objects of its compiler's
_LOADED_CODE: list[object] = []  #: lives as long as the process


def _load_code(code: bytes, symbol: str) -> Callable[..., Any]:
    """Place an object's sections in memory, put in addresses, and make its function one of Python's."""
    sections, symbols = _read_sections(code), []
    for section in sections:
        if section.kind == _SYMBOLS:
            symbols = list(_read_symbols(code, section, sections[section.link]))
    places, size = _choose_places(sections)
    shared = {name.name: size + 16 * number for number, name in enumerate(_list_common(symbols))}
    room = mmap.mmap(-1, size + 16 * len(shared) + 16, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(room))
    for number, place in places.items():
        start, length = sections[number].offset, sections[number].size
        if sections[number].kind != _EMPTY:
            room[place : place + length] = code[start : start + length]
    addresses = [_find_address(each, base, places, shared) for each in symbols]
    for section in sections:
        if section.kind == _RELOCATIONS and section.info in places:
            _put_in_addresses(code, section, room, base, places[section.info], addresses)
    helpers = _load_runtime()
    environment = helpers["_dynfunc"].Environment({})
    for name, place in shared.items():
        if name.startswith(_ENVIRONMENT):
            struct.pack_into("<Q", room, place, id(environment))
    _make_executable(base, min([size, *(places[n] for n in places if sections[n].flags & _WRITTEN)]))
    address = next(at for each, at in zip(symbols, addresses, strict=True) if each.name == symbol)
    _LOADED_CODE.extend((room, environment))
    made: Callable[..., Any] = helpers["_dynfunc"].make_function(
        _THIS_MODULE, symbol, "Machine code.", address, environment, (room,)
    )
    return made


_THIS_MODULE = sys.modules[__name__]


def _read_sections(code: bytes) -> list[_Section]:
    if code[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no object file")
    (start,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", code, start + size * index) for index in range(count)]
    return [
        _Section(kind, flags, offset, length, link, info, alignment)
        for _, kind, flags, _, offset, length, link, info, alignment, _ in rows
    ]


def _read_symbols(code: bytes, table: _Section, names: _Section) -> Iterator[_Symbol]:
    for place in range(table.offset, table.offset + table.size, 24):
        name, _, _, section, value, size = struct.unpack_from("<IBBHQQ", code, place)
        start = names.offset + name
        yield _Symbol(code[start : code.index(b"\0", start)].decode(), section, value, size)


def _list_common(symbols: list[_Symbol]) -> list[_Symbol]:
    """Variables that belong to no section."""
    common = [each for each in symbols if each.section == _COMMON]
    if any(each.size > 16 or each.value > 16 for each in common):  # the value is the alignment
        raise ValueError("a variable of unknown kind")
    return common


def _choose_places(sections: list[_Section]) -> tuple[dict[int, int], int]:
    """Where each section goes that is needed at run-time, and how much room that takes: first what is only read."""
    places: dict[int, int] = {}
    end = 0
    for wanted in (_LOADED, _LOADED | _WRITTEN):
        for number, section in enumerate(sections):
            if section.flags & (_LOADED | _WRITTEN) == wanted:
                end = _round_up(end, max(section.alignment, 1))
                places[number], end = end, end + section.size
        end = _round_up(end, mmap.PAGESIZE)
    return places, end


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def _find_address(symbol: _Symbol, base: int, places: Mapping[int, int], shared: Mapping[str, int]) -> int:
    if symbol.section == _COMMON:
        return base + shared[symbol.name]
    if symbol.section == _UNDEFINED:
        return _find_outside(symbol.name) if symbol.name else 0
    return base + places[symbol.section] + symbol.value if symbol.section in places else 0


def _put_in_addresses(
    code: bytes, table: _Section, room: mmap.mmap, base: int, place: int, addresses: list[int]
) -> None:
    for entry in range(table.offset, table.offset + table.size, 24):
        offset, kind, number, addend = struct.unpack_from("<QIIq", code, entry)
        value = addresses[number] + addend
        if kind == _RELATIVE:
            value -= base + place + offset
        elif kind != _ABSOLUTE or not addresses[number]:
            raise ValueError(f"an address of kind {kind}")
        struct.pack_into("<Q", room, place + offset, value % (1 << 64))


def _make_executable(address: int, size: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "memory may not be made executable")


@cache
def _load_runtime() -> dict[str, ModuleType]:
    """Numba's libraries that compiled code calls, without numba."""
    numba = _find_library("numba").parent
    names = ("_helperlib", "_dynfunc", "core.runtime._nrt_python")
    loaded = {name.rpartition(".")[2]: _load_extension(numba, name) for name in names}
    loaded["_nrt_python"].memsys_use_cpython_allocator()
    return loaded


def _load_extension(folder: Path, name: str) -> ModuleType:
    whole = f"numba.{name}"
    if whole in sys.modules:
        return sys.modules[whole]
    file = next(folder.glob(f"{name.replace('.', '/')}.*.so"))
    spec = importlib.util.spec_from_file_location(whole, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop(whole, None)  # numba itself, should it come, is to find it the usual way
    return module


@cache
def _find_outside(name: str) -> int:
    """The address of a function or object that compiled code expects."""
    if name == "_Py_NoneStruct":
        return id(None)
    if name.startswith("PyExc_"):
        return id(getattr(builtins, name.removeprefix("PyExc_")))
    helpers = _list_helpers()
    if name in helpers:
        return helpers[name]
    try:
        found = getattr(ctypes.pythonapi, name, None) or getattr(_open_mathematics(), name)
    except AttributeError as error:
        raise ValueError(f"nobody knows {name}") from error
    return int(ctypes.cast(found, ctypes.c_void_p).value or 0)


@cache
def _list_helpers() -> dict[str, int]:
    runtime = _load_runtime()
    plain = chain(runtime["_helperlib"].c_helpers.items(), runtime["_dynfunc"].c_helpers.items())
    named = {f"numba_{name}": address for name, address in plain}
    for name, address in runtime["_nrt_python"].c_helpers.items():
        named[name if name.startswith("_") else f"NRT_{name}"] = address
    return named


@cache
def _open_mathematics() -> ctypes.CDLL:
    return ctypes.CDLL("libm.so.6")
