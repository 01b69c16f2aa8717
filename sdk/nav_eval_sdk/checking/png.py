"""PNG, written with the standard library alone."""

from __future__ import annotations

import struct
import zlib

from nav_eval_sdk.agent import Array


def png(pixels: Array) -> bytes:
    """A picture of 8 or 16 bits, grey (height × width) or coloured (height × width × 3 or 4)."""
    height, width = pixels.shape[:2]
    kind = 0 if pixels.ndim == 2 else {3: 2, 4: 6}[pixels.shape[2]]
    rows = pixels.astype(pixels.dtype.newbyteorder(">")).tobytes()
    size = len(rows) // height
    filtered = b"".join(b"\0" + rows[start : start + size] for start in range(0, len(rows), size))
    header = struct.pack(">IIBBBBB", width, height, pixels.dtype.itemsize * 8, kind, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(filtered, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
