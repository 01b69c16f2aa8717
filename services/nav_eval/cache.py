"""What can always be made again: the folder where it is kept, and arrays on disk that processes map into memory.

An array file is a line of JSON, which says what the file is about and where each array lies, then the arrays. It is
written beside its place and moved there when complete, so a reader finds a whole file or none.
"""

import ctypes
import fcntl
import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from nav_eval.errors import NavEvalError

if TYPE_CHECKING:  # whoever only asks for the folder need not wait for numpy
    import numpy as np
    from numpy.typing import DTypeLike, NDArray


def get_cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """`$NAV_EVAL_CACHE`, or nav-eval's folder below the user's cache."""
    variables = os.environ if environ is None else environ
    chosen = variables.get("NAV_EVAL_CACHE")
    if chosen:
        return Path(chosen)
    return Path(variables.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nav-eval"


@contextmanager
def lock_maker(path: Path) -> Iterator[None]:
    """Only one at a time makes what belongs at `path`, of all threads and processes: the others wait and find it there.

    Look again once you hold the lock. A cache that cannot be written to has no locks: everybody makes their own.
    """
    file = path.with_name(f".{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_CREAT | os.O_RDWR, 0o644)
    except OSError:
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        file.unlink(missing_ok=True)  # who opened it before waits for it still, and then finds what was made
        os.close(handle)


def open_cache_folder() -> Path:
    """The cache folder, which is there afterwards; the refusal says how to choose another."""
    folder = get_cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NavEvalError(
            f"Cannot make the cache folder {folder}: {error.strerror}. Set NAV_EVAL_CACHE to one that you may write to."
        ) from error
    return folder


ALIGNMENT = 64  #: bytes; arrays start at multiples of it
LONGEST_HEADER = 1 << 24


class _Entry(msgspec.Struct, array_like=True):
    """Where an array lies."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    """Bytes after the header."""


class _Header(msgspec.Struct):
    about: dict[str, Any]
    arrays: dict[str, _Entry]


def write_arrays(path: Path, arrays: "Mapping[str, NDArray[Any]]", *, about: Mapping[str, object]) -> None:
    """Write a file, or replace it; `about` is whatever JSON can hold."""
    import numpy as np

    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as draft:
            _write(draft, {key: np.asarray(array, order="C") for key, array in arrays.items()}, dict(about))
        Path(name).chmod(0o644)  # temporary files are their owner's alone
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise


class ArrayFile:
    """A file that `write_arrays` wrote, mapped; what does not fit is a ValueError."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            line = file.readline(LONGEST_HEADER)
        if not line.endswith(b"\n"):
            raise ValueError("its header is cut off")
        try:
            header = msgspec.json.decode(line, type=_Header)
        except msgspec.MsgspecError as error:
            raise ValueError(f"its header is broken: {error}") from error
        self.about = header.about
        self._entries = header.arrays
        self._start = _align(len(line))

    def array(self, name: str, dtype: "DTypeLike", axes: int) -> "NDArray[Any]":
        """One of the arrays, which cannot be written to."""
        import numpy as np

        entry, kind = self._entries[name], np.dtype(dtype)
        if entry.dtype != _format_dtype(kind) or len(entry.shape) != axes or min(entry.shape, default=0) < 0:
            raise ValueError(f"{name} holds {len(entry.shape)} axes of {entry.dtype}")
        first = self._start + entry.offset
        size = int(np.prod(entry.shape, dtype=object)) * kind.itemsize
        if entry.offset < 0 or first + size > len(self._content):
            raise ValueError(f"{name} is cut off")
        return np.frombuffer(self._content[first : first + size], dtype=kind).reshape(entry.shape)


def map_file(path: Path) -> "ctypes.Array[ctypes.c_ubyte]":
    """The bytes of a file, read-only, without a file that stays open: Python's own maps keep one each."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long]
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0) if size else None
    if address in (None, ctypes.c_void_p(-1).value):
        raise ValueError(f"{path} cannot be mapped")
    content = (ctypes.c_ubyte * size).from_address(address)
    weakref.finalize(content, libc.munmap, ctypes.c_void_p(address), ctypes.c_size_t(size))
    return content


def _write(file: BinaryIO, arrays: "dict[str, NDArray[Any]]", about: dict[str, object]) -> None:
    import numpy as np

    entries, end = {}, 0
    for name, array in arrays.items():
        entries[name] = _Entry(_format_dtype(array.dtype), array.shape, end)
        end = _align(end + array.nbytes)
    header = msgspec.json.encode(_Header(about, entries)) + b"\n"
    start = _align(len(header))
    file.write(header)
    for name, array in arrays.items():
        file.seek(start + entries[name].offset)
        file.write(array.reshape(-1).view(np.uint8).data)
    file.truncate(start + end)


def _format_dtype(dtype: "np.dtype[Any]") -> str:
    import numpy as np

    return str(np.lib.format.dtype_to_descr(dtype))


def _align(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
