"""The .basis container, which HM3D puts into its GLBs (GOOGLE_texture_basis, image/x-basis)."""

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.reading.basis import etc1s, uastc
from nav_eval.scene.reading.basis.picture import BrokenPicture, Claim, piece

SIGNATURE = b"sB"
HEADER_BYTES, SLICE_BYTES = 77, 23
ETC1S, UASTC = 0, 1
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
    header = piece(content, 0, HEADER_BYTES, "the header")
    slices, kind, flags = _number(header, 14, 3), header[20], _number(header, 21, 2)
    color = _slice(content, 0)
    claim(color.width, color.height)
    if kind == UASTC:
        blocks = piece(content, color.offset, color.length, "the picture")
        pixels = uastc.decode_blocks(blocks, width=color.width, height=color.height)
        if not flags & HAS_ALPHA_SLICES:
            pixels[..., 3] = 255
    elif kind == ETC1S and not flags & FOREIGN_CODEBOOK:
        pixels = _decode_etc1s(content, color, _slice(content, 1) if flags & HAS_ALPHA_SLICES and slices > 1 else None)
    else:
        raise BrokenPicture(f"its texture format {kind} (flags {flags}) is neither ETC1S nor UASTC on its own")
    return pixels[::-1] if flags & ROWS_BOTTOM_FIRST else pixels


def _decode_etc1s(content: bytes, color: _Slice, alpha: _Slice | None) -> NDArray[np.uint8]:
    tables_at, tables_length = struct.unpack_from("<2I", content, 57)
    books = etc1s.read_codebooks(
        endpoints=piece(content, _number(content, 41, 4), _number(content, 45, 3), "the endpoint code book"),
        endpoint_count=_number(content, 39, 2),
        selectors=piece(content, _number(content, 50, 4), _number(content, 54, 3), "the selector code book"),
        selector_count=_number(content, 48, 2),
        tables=piece(content, tables_at, tables_length, "the Huffman tables"),
    )
    pixels = np.full((color.height, color.width, 4), 255, np.uint8)
    pixels[..., :3] = _paint(content, color, books)
    if alpha is not None and alpha[:2] == color[:2]:
        pixels[..., 3] = _paint(content, alpha, books)[..., 1]
    return pixels


def _paint(content: bytes, part: _Slice, books: etc1s.Codebooks) -> NDArray[np.uint8]:
    data = piece(content, part.offset, part.length, "a slice")
    return etc1s.decode_slice(data, books, width=part.width, height=part.height)


def _slice(content: bytes, index: int) -> _Slice:
    start = _number(content, 65, 4) + SLICE_BYTES * index
    table = piece(content, start, SLICE_BYTES, "the slice table")
    width, height = struct.unpack_from("<2H", table, 5)
    offset, length = struct.unpack_from("<2I", table, 13)
    return _Slice(width, height, offset, length)


def _number(content: bytes, offset: int, size: int) -> int:
    return int.from_bytes(content[offset : offset + size], "little")
