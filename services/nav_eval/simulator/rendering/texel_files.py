"""Textures on disk, laid out so that Mesa's software rasteriser reads them where they are.

Textures are most of what a scene takes in memory. OpenGL keeps a copy of what it is given, in every process. Mesa's
llvmpipe also takes memory that it is shown (`GL_EXT_memory_object_fd`): a file that begins with a header of its own,
then the levels of one texture, rows and levels at multiples of a cache line. So that is how prepared textures are
kept, one file each: processes that draw the same scene share the pages, and what nobody looks at is never read.

The header is Mesa's own affair, so only versions that we know are shown files, and whether they read a texture as it
was written is tried before any is used. Other drivers, and caches that cannot be written to, get copies as ever.
"""

import ctypes
import hashlib
import mmap
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from nav_eval.cache import map_file
from nav_eval.scene.model import Texture
from nav_eval.simulator.rendering.device import EGL_LIBRARY
from nav_eval.simulator.rendering.mipmaps import make_mipmaps, split_mipmaps

Level = NDArray[np.uint8]

_VERSION = 1  #: of what `store_textures` writes
_START = mmap.PAGESIZE  #: where the texels begin; Mesa wants that said at the beginning and just before them
_CACHE_LINE = 64
_BLOCK = 4  #: rows and columns that are drawn together
_OWNER = hashlib.sha1(b"llvmpipe", usedforsecurity=False).digest()[:16]  #: by which Mesa knows memory of its own


class _Place(NamedTuple):
    """Where a level lies in its file."""

    height: int
    width: int
    offset: int
    stride: int  #: bytes from row to row


def _list_places(height: int, width: int) -> Iterator[_Place]:
    offset = _START
    for level in range(max(height, width).bit_length()):
        rows, columns = max(1, height >> level), max(1, width >> level)
        stride = _round_up(4 * _round_up(columns, _BLOCK), _CACHE_LINE)
        yield _Place(rows, columns, offset, stride)
        offset += stride * _round_up(rows, _BLOCK)


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def write_texels(folder: Path, textures: Sequence[Sequence[Level]]) -> None:
    """Write the levels of every texture, or replace them; readers find a whole folder or none."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for number, levels in enumerate(textures):
            _write_levels(draft / str(number), levels)
        draft.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


class StoredTexture(NamedTuple):
    """A texture with its smaller levels, and the file that it lies in."""

    texture: Texture
    levels: tuple[Level, ...]  #: the largest first
    path: Path | None  #: None while it is in memory only
    plain: NDArray[np.float32] | None = None  #: its one colour, of those that several scenes may show


def store_textures(folder: Path | None, textures: Sequence[Texture]) -> dict[int, StoredTexture]:
    """Textures that several scenes may show, by identity: each is written once, under a digest of what it is."""
    return {id(texture): _store(folder, texture) for texture in textures}


def _store(folder: Path | None, texture: Texture) -> StoredTexture:
    pixels = np.ascontiguousarray(texture.pixels)
    if folder is not None:
        shape = pixels.shape[:2]
        salt = struct.pack("<II", *shape)
        name = hashlib.blake2b(pixels.data, digest_size=16, salt=salt).hexdigest()
        path = folder / f"{_VERSION}-{name}"
        with suppress(OSError, ValueError):
            if not path.exists():
                _write_stored(path, split_mipmaps(pixels, make_mipmaps(pixels)))
            levels = _map_levels(path, (int(shape[0]), int(shape[1])))
            return StoredTexture(texture, levels, path, find_plain_color(texture, levels[1:]))
    levels = tuple(split_mipmaps(pixels, make_mipmaps(pixels)))
    return StoredTexture(texture, levels, None, find_plain_color(texture, levels[1:]))


def _write_stored(path: Path, levels: Sequence[Level]) -> None:
    """Readers find a whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    os.close(handle)
    try:
        _write_levels(Path(draft), levels)
        Path(draft).chmod(0o644)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _write_levels(path: Path, levels: Sequence[Level]) -> None:
    places = list(_list_places(*levels[0].shape[:2]))
    size = places[-1].offset + places[-1].stride * _BLOCK
    with path.open("wb") as file:
        file.write(struct.pack("<QQ16s", size, _START, _OWNER))
        file.seek(_START - 8)
        file.write(struct.pack("<Q", _START))
        for place, level in zip(places, levels, strict=True):
            padded = np.zeros((place.height, place.stride), dtype=np.uint8)
            padded[:, : 4 * place.width] = level.reshape(place.height, -1)
            file.seek(place.offset)
            file.write(padded.data)
        file.truncate(size)


def map_texels(folder: Path, number: int, shape: tuple[int, int]) -> tuple[Level, ...]:
    """The levels of a texture, mapped; a file that does not fit is a ValueError."""
    return _map_levels(folder / str(number), shape)


def _map_levels(path: Path, shape: tuple[int, int]) -> tuple[Level, ...]:
    places = list(_list_places(*shape))
    content = map_file(path)
    if len(content) != places[-1].offset + places[-1].stride * _BLOCK:
        raise ValueError(f"texture {path.name} is cut off")
    return tuple(_view_level(content, place) for place in places)


def _view_level(content: "ctypes.Array[ctypes.c_ubyte]", place: _Place) -> Level:
    shape, strides = (place.height, place.width, 4), (place.stride, 4, 1)
    level: Level = np.ndarray(shape, np.uint8, buffer=memoryview(content), offset=place.offset, strides=strides)
    level.setflags(write=False)
    return level


def drop_levels(levels: Sequence[Level]) -> None:
    """Give back the memory of mapped levels until somebody looks at them again; the largest tells where they lie."""
    base: Any = levels[0].base
    content = base.obj if isinstance(base, memoryview) else base
    if isinstance(content, ctypes.Array):
        libc = ctypes.CDLL(None)
        libc.madvise(ctypes.c_void_p(ctypes.addressof(content)), ctypes.c_size_t(len(content)), mmap.MADV_DONTNEED)


_SAMPLED = 997
"""Texels from one to the next that are looked at first, to see whether a texture has several colours."""


def find_plain_color(texture: Texture, smaller: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32] | None:
    """The one colour of a texture that has no other: it need neither be uploaded nor looked up.

    Small copies are looked at first: where they have several colours, a large file need not be read.
    """
    levels = (*reversed(smaller), texture.pixels)
    is_plain = all(map(_has_one_color, levels))
    color: NDArray[np.float32] = texture.pixels[0, 0] / np.float32(255)
    drop_levels((texture.pixels, *smaller))
    return color if is_plain else None


def _has_one_color(pixels: NDArray[np.uint8]) -> bool:
    texels = np.ascontiguousarray(pixels).view(np.uint32).ravel()
    return not (texels[::_SAMPLED] != texels[0]).any() and not (texels != texels[0]).any()


_TEXTURE_2D, _RGBA8, _SRGB8_ALPHA8, _RGBA, _UNSIGNED_BYTE = 0x0DE1, 0x8058, 0x8C43, 0x1908, 0x1401
_OPAQUE_FD = 0x9586
_EXTENSION = "GL_EXT_memory_object_fd"
_KNOWN_DRIVERS = ("Mesa 22.3.",)  #: whose header was tried; another might crash on it instead of refusing it
_TRIED_SHAPE = (21, 37)  #: rows and columns that are no multiples of anything


class TexelFiles:
    """Files of textures for one context: shown to the driver, where it can read them."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._memories: list[int] = []

    @cached_property
    def _usable(self) -> bool:
        return _can_show_files(self._context)

    def show(self, texture: int, path: Path, levels: Sequence[Level], *, decoded: bool) -> bool:
        """Have a new texture of the current context read its file; False where it must be given its levels."""
        if not self._usable:
            return False
        try:
            handle = os.open(path, os.O_RDWR)
        except OSError:
            return False
        self._memories.append(_show_file(texture, handle, levels, decoded=decoded))
        return True

    def release(self) -> None:
        """After the textures."""
        for memory in self._memories:
            _forget(memory)
        self._memories.clear()


def _show_file(texture: int, handle: int, levels: Sequence[Level], *, decoded: bool) -> int:
    """Make an open file the memory of a texture; returns the memory's name. The driver closes the file."""
    memory = ctypes.c_uint()
    _call("glCreateMemoryObjectsEXT", 1, ctypes.addressof(memory))
    _call("glImportMemoryFdEXT", memory.value, os.fstat(handle).st_size, _OPAQUE_FD, handle)
    height, width = levels[0].shape[:2]
    layout = _SRGB8_ALPHA8 if decoded else _RGBA8
    _call("glBindTexture", _TEXTURE_2D, texture)
    _call("glTexStorageMem2DEXT", _TEXTURE_2D, len(levels), layout, width, height, memory.value, 0)
    return memory.value


def _forget(memory: int) -> None:
    name = ctypes.c_uint(memory)
    _call("glDeleteMemoryObjectsEXT", 1, ctypes.addressof(name))


def _can_show_files(context: moderngl.Context) -> bool:
    """Whether the current context's driver reads files as we write them: one is written, shown and read back."""
    if not _is_known_driver(context.info) or _EXTENSION not in context.extensions:
        return False
    random = np.random.default_rng(0)
    levels = [
        random.integers(0, 256, (place.height, place.width, 4), dtype=np.uint8) for place in _list_places(*_TRIED_SHAPE)
    ]
    with tempfile.TemporaryDirectory(prefix="nav-eval-") as folder:
        _write_levels(Path(folder, "0"), levels)
        texture = context.texture((1, 1), 4)
        memory = _show_file(texture.glo, os.open(Path(folder, "0"), os.O_RDWR), levels, decoded=False)
        is_same = all(np.array_equal(_read_back(number, level), level) for number, level in enumerate(levels))
        texture.release()
        _forget(memory)
    return is_same


def _is_known_driver(info: Mapping[str, object]) -> bool:
    is_llvmpipe = "llvmpipe" in str(info["GL_RENDERER"])
    return is_llvmpipe and any(name in str(info["GL_VERSION"]) for name in _KNOWN_DRIVERS)


def _read_back(number: int, like: Level) -> Level:
    """A level of the texture that is bound."""
    pixels = np.zeros_like(like)
    _call("glGetTexImage", _TEXTURE_2D, number, _RGBA, _UNSIGNED_BYTE, pixels.ctypes.data)
    return pixels


_INTEGER, _SIZE, _ADDRESS = ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "glBindTexture": (_INTEGER,) * 2,
    "glCreateMemoryObjectsEXT": (_INTEGER, _ADDRESS),
    "glDeleteMemoryObjectsEXT": (_INTEGER, _ADDRESS),
    "glGetTexImage": (*(_INTEGER,) * 4, _ADDRESS),
    "glImportMemoryFdEXT": (_INTEGER, _SIZE, _INTEGER, _INTEGER),
    "glTexStorageMem2DEXT": (*(_INTEGER,) * 6, _SIZE),
}


def _call(name: str, *arguments: int) -> None:
    """An OpenGL function that ModernGL has no words for."""
    _find_function(name)(*arguments)


@cache
def _find_function(name: str) -> Any:  # noqa: ANN401
    find = ctypes.CDLL(EGL_LIBRARY).eglGetProcAddress
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None, *_SIGNATURES[name])(find(name.encode()))
