"""What can always be made again: the folder where it is kept, and arrays on disk that processes map into memory.

An array file is a line of JSON, which says what the file is about and where each array lies, then the arrays. It is
written beside its place and moved there when complete, so a reader finds a whole file or none.
"""

import mmap
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

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


def drop_pages(array: "NDArray[Any]") -> None:
    """Give back the memory that a mapped array takes until somebody looks at it again; other arrays keep theirs."""
    import numpy as np

    owner: Any = array
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    if isinstance(owner, mmap.mmap) and array.nbytes:
        whole = np.frombuffer(owner, dtype=np.uint8)
        start = array.ctypes.data - whole.ctypes.data
        first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE  # pages that it shares with its neighbours stay
        size = (start + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE - first
        if size > 0:
            owner.madvise(mmap.MADV_DONTNEED, first, size)


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
