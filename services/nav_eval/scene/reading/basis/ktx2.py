"""The KTX 2.0 container, as far as KHR_texture_basisu uses it: one 2D picture, its largest level."""

import struct
import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.reading.basis import etc1s, uastc
from nav_eval.scene.reading.basis.picture import BrokenPicture, Claim, piece

IDENTIFIER = b"\xabKTX 20\xbb\r\n\x1a\n"
ETC1S, UASTC = 163, 166
PLAIN, BASIS_LZ, ZSTANDARD, ZLIB = range(4)
ALPHA_CHANNEL = 15


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
    header = _Header(*struct.unpack("<9I4I2Q", piece(content, 12, 68, "the header")))
    offset, length, unpacked = struct.unpack("<3Q", piece(content, 80, 24, "the level index"))
    if header.depth > 1 or header.layers > 1 or header.faces != 1:
        raise BrokenPicture("it is not a single 2D picture")
    claim(header.width, header.height)
    level = piece(content, offset, length, "the largest level")
    model = piece(content, header.descriptor_offset, header.descriptor_length, "the format description")
    if len(model) < 44:
        raise BrokenPicture("its format description is cut off")
    if model[12] == ETC1S and header.supercompression == BASIS_LZ:
        pixels = _decode_basis_lz(content, header, level)
    elif model[12] == UASTC:
        pixels = _decode_uastc(header, level, unpacked, opaque=model[31] & 15 == 0)
    else:
        raise BrokenPicture(f"its colour model {model[12]} (vkFormat {header.vk_format}) is neither ETC1S nor UASTC")
    return pixels[::-1] if _bottom_up(content, header) else pixels


def _decode_basis_lz(content: bytes, header: _Header, level: bytes) -> NDArray[np.uint8]:
    data = piece(content, header.global_offset, header.global_length, "the global data")
    if len(data) < 40:
        raise BrokenPicture("its global data is cut off")
    endpoint_count, selector_count, endpoints, selectors, tables, _ = struct.unpack_from("<2H4I", data)
    start = 20 + 20 * max(header.levels, 1)  # after one description per level
    books = etc1s.read_codebooks(
        endpoints=piece(data, start, endpoints, "the endpoint code book"),
        endpoint_count=endpoint_count,
        selectors=piece(data, start + endpoints, selectors, "the selector code book"),
        selector_count=selector_count,
        tables=piece(data, start + endpoints + selectors, tables, "the Huffman tables"),
    )
    _, color_at, color_length, alpha_at, alpha_length = struct.unpack_from("<5I", data, 20)
    pixels = np.full((header.height, header.width, 4), 255, np.uint8)
    size = {"width": header.width, "height": header.height}
    pixels[..., :3] = etc1s.decode_slice(piece(level, color_at, color_length, "the colour slice"), books, **size)
    if alpha_length:
        alpha = etc1s.decode_slice(piece(level, alpha_at, alpha_length, "the alpha slice"), books, **size)
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


def _bottom_up(content: bytes, header: _Header) -> bool:
    """Whether the metadata says that the first row is at the bottom (glTF forbids it, tools do it)."""
    metadata = content[header.metadata_offset : header.metadata_offset + header.metadata_length]
    return b"KTXorientation\0ru" in metadata
