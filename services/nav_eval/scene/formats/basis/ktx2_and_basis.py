"""Basis Universal pictures in their two containers, of ETC1S or UASTC blocks.

KTX 2.0, as far as KHR_texture_basisu uses it: one 2D picture, its largest level; and .basis, which HM3D puts
into its GLBs (GOOGLE_texture_basis, image/x-basis). Written from the public specifications; no native library
is needed, and the same bytes give the same pixels on every machine.
"""

import struct
import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.formats.basis import etc1s, uastc
from nav_eval.scene.formats.basis.bits import BrokenPicture, Claim, take_bytes

IDENTIFIER = b"\xabKTX 20\xbb\r\n\x1a\n"
KTX2_ETC1S, KTX2_UASTC = 163, 166
PLAIN, BASIS_LZ, ZSTANDARD, ZLIB = range(4)


class _Header(NamedTuple):
    vk_format: int
    type_size: int
    width: int
    height: int
    depth: int
    layers: int
    faces: int
    levels: int
    supercompression: int
    descriptor_offset: int
    descriptor_length: int
    metadata_offset: int
    metadata_length: int
    global_offset: int
    global_length: int


def is_ktx2(content: bytes) -> bool:
    return content[: len(IDENTIFIER)] == IDENTIFIER


def decode_ktx2(content: bytes, *, claim: Claim) -> NDArray[np.uint8]:
    """The picture: height × width × 4, first row on top."""
    header = _Header(*struct.unpack("<9I4I2Q", take_bytes(content, 12, 68, "the header")))
    offset, length, unpacked = struct.unpack("<3Q", take_bytes(content, 80, 24, "the level index"))
    if header.depth > 1 or header.layers > 1 or header.faces != 1:
        raise BrokenPicture("it is not a single 2D picture")
    claim(header.width, header.height)
    level = take_bytes(content, offset, length, "the largest level")
    model = take_bytes(content, header.descriptor_offset, header.descriptor_length, "the format description")
    if len(model) < 44:
        raise BrokenPicture("its format description is cut off")
    if model[12] == KTX2_ETC1S and header.supercompression == BASIS_LZ:
        pixels = _decode_basis_lz(content, header, level)
    elif model[12] == KTX2_UASTC:
        pixels = _decode_uastc(header, level, unpacked, opaque=model[31] & 15 == 0)
    else:
        raise BrokenPicture(f"its colour model {model[12]} (vkFormat {header.vk_format}) is neither ETC1S nor UASTC")
    return pixels[::-1] if _is_bottom_up(content, header) else pixels


def _decode_basis_lz(content: bytes, header: _Header, level: bytes) -> NDArray[np.uint8]:
    data = take_bytes(content, header.global_offset, header.global_length, "the global data")
    if len(data) < 40:
        raise BrokenPicture("its global data is cut off")
    endpoint_count, selector_count, endpoints, selectors, tables, _ = struct.unpack_from("<2H4I", data)
    start = 20 + 20 * max(header.levels, 1)  # after one description per level
    books = etc1s.read_codebooks(
        endpoints=take_bytes(data, start, endpoints, "the endpoint code book"),
        endpoint_count=endpoint_count,
        selectors=take_bytes(data, start + endpoints, selectors, "the selector code book"),
        selector_count=selector_count,
        tables=take_bytes(data, start + endpoints + selectors, tables, "the Huffman tables"),
    )
    _, color_at, color_length, alpha_at, alpha_length = struct.unpack_from("<5I", data, 20)
    pixels = np.full((header.height, header.width, 4), 255, np.uint8)
    size = {"width": header.width, "height": header.height}
    pixels[..., :3] = etc1s.decode_slice(take_bytes(level, color_at, color_length, "the colour slice"), books, **size)
    if alpha_length:
        alpha = etc1s.decode_slice(take_bytes(level, alpha_at, alpha_length, "the alpha slice"), books, **size)
        pixels[..., 3] = alpha[..., 1]
    return pixels


def _decode_uastc(header: _Header, level: bytes, unpacked: int, *, opaque: bool) -> NDArray[np.uint8]:
    expected = uastc.BLOCK_BYTES * ((header.width + 3) // 4) * ((header.height + 3) // 4)
    if header.supercompression != PLAIN:
        level = _inflate(level, expected, header.supercompression)
    if len(level) < expected:
        raise BrokenPicture(f"{unpacked:,} bytes are too few for {header.width} × {header.height} pixels")
    pixels = uastc.decode_blocks(level[:expected], width=header.width, height=header.height)
    if opaque:
        pixels[..., 3] = 255
    return pixels


def _inflate(level: bytes, expected: int, scheme: int) -> bytes:
    """Zstandard or zlib on top of the blocks; never more than `expected` bytes."""
    if scheme == ZLIB:
        try:
            return zlib.decompressobj().decompress(level, expected)
        except zlib.error as error:
            raise BrokenPicture(f"its zlib data is broken ({error})") from error
    if scheme != ZSTANDARD:
        raise BrokenPicture(f"its supercompression scheme {scheme} is unknown")
    try:
        import zstandard
    except ImportError as error:
        raise BrokenPicture("it needs zstandard (pip install 'nav-eval[render]')") from error
    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(level) as stream:
            return stream.read(expected)
    except (zstandard.ZstdError, MemoryError) as error:
        raise BrokenPicture(f"its Zstandard data is broken ({error})") from error


def _is_bottom_up(content: bytes, header: _Header) -> bool:
    """Whether the metadata says that the first row is at the bottom (glTF forbids it, tools do it)."""
    metadata = content[header.metadata_offset : header.metadata_offset + header.metadata_length]
    return b"KTXorientation\0ru" in metadata


SIGNATURE = b"sB"
HEADER_BYTES, SLICE_BYTES = 77, 23
BASIS_ETC1S, BASIS_UASTC = 0, 1
ROWS_BOTTOM_FIRST, HAS_ALPHA_SLICES, FOREIGN_CODEBOOK = 2, 4, 8


class _Slice(NamedTuple):
    width: int
    height: int
    offset: int
    length: int


def is_basis(content: bytes) -> bool:
    return content[:2] == SIGNATURE and int.from_bytes(content[4:6], "little") == HEADER_BYTES


def decode_basis(content: bytes, *, claim: Claim) -> NDArray[np.uint8]:
    """The first picture's largest level: height × width × 4, first row on top."""
    header = take_bytes(content, 0, HEADER_BYTES, "the header")
    slices, kind, flags = _read_number(header, 14, 3), header[20], _read_number(header, 21, 2)
    color = _read_slice(content, 0)
    claim(color.width, color.height)
    if kind == BASIS_UASTC:
        blocks = take_bytes(content, color.offset, color.length, "the picture")
        pixels = uastc.decode_blocks(blocks, width=color.width, height=color.height)
        if not flags & HAS_ALPHA_SLICES:
            pixels[..., 3] = 255
    elif kind == BASIS_ETC1S and not flags & FOREIGN_CODEBOOK:
        pixels = _decode_etc1s(
            content, color, _read_slice(content, 1) if flags & HAS_ALPHA_SLICES and slices > 1 else None
        )
    else:
        raise BrokenPicture(f"its texture format {kind} (flags {flags}) is neither ETC1S nor UASTC on its own")
    return pixels[::-1] if flags & ROWS_BOTTOM_FIRST else pixels


def _decode_etc1s(content: bytes, color: _Slice, alpha: _Slice | None) -> NDArray[np.uint8]:
    tables_at, tables_length = struct.unpack_from("<2I", content, 57)
    books = etc1s.read_codebooks(
        endpoints=take_bytes(
            content, _read_number(content, 41, 4), _read_number(content, 45, 3), "the endpoint code book"
        ),
        endpoint_count=_read_number(content, 39, 2),
        selectors=take_bytes(
            content, _read_number(content, 50, 4), _read_number(content, 54, 3), "the selector code book"
        ),
        selector_count=_read_number(content, 48, 2),
        tables=take_bytes(content, tables_at, tables_length, "the Huffman tables"),
    )
    pixels = np.full((color.height, color.width, 4), 255, np.uint8)
    pixels[..., :3] = _decode_slice(content, color, books)
    if alpha is not None and alpha[:2] == color[:2]:
        pixels[..., 3] = _decode_slice(content, alpha, books)[..., 1]
    return pixels


def _decode_slice(content: bytes, part: _Slice, books: etc1s.Codebooks) -> NDArray[np.uint8]:
    data = take_bytes(content, part.offset, part.length, "a slice")
    return etc1s.decode_slice(data, books, width=part.width, height=part.height)


def _read_slice(content: bytes, index: int) -> _Slice:
    start = _read_number(content, 65, 4) + SLICE_BYTES * index
    table = take_bytes(content, start, SLICE_BYTES, "the slice table")
    width, height = struct.unpack_from("<2H", table, 5)
    offset, length = struct.unpack_from("<2I", table, 13)
    return _Slice(width, height, offset, length)


def _read_number(content: bytes, offset: int, size: int) -> int:
    return int.from_bytes(content[offset : offset + size], "little")
