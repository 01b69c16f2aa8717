"""Arrays of an observation: that came by message, raw or as a picture, or that lie where the evaluator drew them."""

from __future__ import annotations

import io
import math
import mmap
import os
import struct
import weakref
import zlib
from pathlib import Path

import numpy as np

from nav_eval_sdk.agent import Array
from nav_eval_sdk.errors import BadRequest, SdkError

DTYPES = frozenset(
    ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]
)


def parse_dtype(dtype: str) -> np.dtype[np.generic]:
    if dtype not in DTYPES:
        raise BadRequest(f"{dtype!r:.40} is no dtype of the protocol.")
    return np.dtype(dtype).newbyteorder("<")


def decode_raw(data: bytes, dtype: str, shape: tuple[int, ...]) -> Array:
    """Read-only: the memory belongs to the message."""
    try:
        return np.frombuffer(data, parse_dtype(dtype)).reshape(shape)
    except ValueError as error:
        raise BadRequest(f"{len(data)} bytes are no {dtype} tensor of shape {shape}: {error}.") from error


def decode_image(data: bytes, shape: tuple[int, ...]) -> Array:
    """A decoded JPEG or PNG."""
    try:
        from PIL import Image
    except ImportError:
        raise SdkError("JPEG and PNG need Pillow: pip install 'nav-eval-sdk[images]', or ask for raw.") from None
    array = np.asarray(Image.open(io.BytesIO(data)))
    if array.shape != shape:
        raise BadRequest(f"A picture has the shape {array.shape} and was announced as {shape}.")
    array.flags.writeable = False
    return array


def encode_png(pixels: Array) -> bytes:
    """A picture of 8 or 16 bits, grey (height × width) or coloured (height × width × 3 or 4)."""
    height, width = pixels.shape[:2]
    kind = 0 if pixels.ndim == 2 else {3: 2, 4: 6}[pixels.shape[2]]
    rows = pixels.astype(pixels.dtype.newbyteorder(">")).tobytes()
    size = len(rows) // height
    filtered = b"".join(b"\0" + rows[start : start + size] for start in range(0, len(rows), size))
    header = struct.pack(">IIBBBBB", width, height, pixels.dtype.itemsize * 8, kind, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(filtered, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_make_chunk(name, data) for name, data in parts)


def _make_chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


PROOF_BYTES = 16
DIRECTORY_VARIABLE = "NAV_EVAL_SHM_DIR"


class SharedMemory:
    """One mapped file of the evaluator."""

    def __init__(self, path: str, size: int) -> None:
        """Raises OSError or ValueError where the file cannot be mapped: then pictures come by message."""
        fd = os.open(_find(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self._mapped = mmap.mmap(fd, size, access=mmap.ACCESS_READ)
        finally:
            os.close(fd)
        self.size = size
        self._views: dict[int, list[weakref.ref[Array]]] = {}
        self._copies = False

    @property
    def proof(self) -> bytes:
        return self._mapped[:PROOF_BYTES]

    def array(self, sequence: int, *, offset: int, dtype: str, shape: tuple[int, ...]) -> Array:
        """The tensor at `offset`, which belongs to the request `sequence`."""
        element = parse_dtype(dtype)
        if offset + math.prod(shape) * element.itemsize > self.size:
            raise BadRequest(f"A tensor of shape {shape} at {offset} lies outside the shared memory.")
        view = np.ndarray(shape, element, self._mapped, offset)
        if self._copies:
            copy = view.copy()
            copy.flags.writeable = False
            return copy
        self._views.setdefault(sequence, []).append(weakref.ref(view))
        return view

    def held(self) -> list[int]:
        """The requests whose arrays somebody still has."""
        self._views = {
            sequence: alive
            for sequence, views in self._views.items()
            for alive in ([view for view in views if view() is not None],)
            if alive
        }
        self._copies = self._copies or bool(self._views)
        return list(self._views)


class SharedMemoryCache:
    """Mapped files by path; a file serves one episode after another."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], SharedMemory] = {}

    def get(self, path: str, size: int) -> SharedMemory | None:
        """The memory, if it can be mapped and nothing of an earlier episode is still in use."""
        try:
            memory = self._known.get((path, size)) or SharedMemory(path, size)
        except (OSError, ValueError):
            return None
        self._known[path, size] = memory
        return None if memory.held() else memory

    def proof(self, path: str, size: int) -> bytes:
        """What the evaluator wrote at the beginning; empty if it cannot be read."""
        try:
            return SharedMemory(path, size).proof
        except (OSError, ValueError):
            return b""


def _find(path: str) -> str:
    directory = os.environ.get(DIRECTORY_VARIABLE)
    return str(Path(directory) / Path(path).name) if directory else path
