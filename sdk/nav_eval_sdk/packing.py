"""msgpack, as much of it as our messages need, so that nothing has to be installed for it."""

from __future__ import annotations

import struct
from typing import Any

from nav_eval_sdk.errors import BadRequest

MOST_NESTED = 32


def pack(value: Any) -> bytes:  # noqa: ANN401
    """Documents of None, booleans, numbers, texts, bytes, lists and dictionaries."""
    parts: list[bytes] = []
    _write(value, parts)
    return b"".join(parts)


def unpack(data: bytes) -> Any:  # noqa: ANN401
    """The document in `data`; bytes inside it are views, not copies."""
    try:
        value, end = _read(memoryview(data), 0, 0)
    except (IndexError, struct.error, UnicodeDecodeError, TypeError) as error:
        raise BadRequest(f"{len(data)} bytes are no msgpack: {error}.") from error
    if end != len(data):
        raise BadRequest(f"{len(data) - end} bytes follow the msgpack document.")
    return value


def _write(value: Any, parts: list[bytes]) -> None:  # noqa: ANN401
    if value is None:
        parts.append(b"\xc0")
    elif isinstance(value, bool):
        parts.append(b"\xc3" if value else b"\xc2")
    elif isinstance(value, int):
        parts.append(_integer(value))
    elif isinstance(value, float):
        parts.append(struct.pack(">Bd", 0xCB, value))
    elif isinstance(value, str):
        _write_sized(value.encode(), parts, codes=(0xD9, 0xDA, 0xDB))
    elif isinstance(value, (bytes, bytearray, memoryview)):
        _write_sized(bytes(value), parts, codes=(0xC4, 0xC5, 0xC6))
    elif isinstance(value, (list, tuple)):
        parts.append(struct.pack(">BI", 0xDD, len(value)))
        for item in value:
            _write(item, parts)
    elif isinstance(value, dict):
        parts.append(struct.pack(">BI", 0xDF, len(value)))
        for key, item in value.items():
            _write(key, parts)
            _write(item, parts)
    else:
        raise TypeError(f"{type(value).__name__} cannot be written as msgpack")


def _integer(value: int) -> bytes:
    if 0 <= value < 128:
        return struct.pack("B", value)
    return struct.pack(">BQ", 0xCF, value) if value >= 0 else struct.pack(">Bq", 0xD3, value)


def _write_sized(data: bytes, parts: list[bytes], *, codes: tuple[int, int, int]) -> None:
    size = len(data)
    kind = 0 if size < 1 << 8 else 1 if size < 1 << 16 else 2
    parts += (struct.pack(">B" + "BHI"[kind], codes[kind], size), data)


_NUMBERS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_SIZES = {1: ">B", 2: ">H", 4: ">I"}
_BYTES = {0xC4: 1, 0xC5: 2, 0xC6: 4}
_TEXTS = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_LISTS = {0xDC: 2, 0xDD: 4}
_MAPS = {0xDE: 2, 0xDF: 4}


def _read(data: memoryview, at: int, depth: int) -> tuple[Any, int]:  # noqa: PLR0911
    """The value that begins at `at`, and where it ends."""
    if depth > MOST_NESTED:
        raise BadRequest("A msgpack document is nested too deeply.")
    code = data[at]
    at += 1
    if code < 0x80:
        return code, at
    if code >= 0xE0:
        return code - 0x100, at
    if code <= 0x8F:
        return _map(data, at, code & 0x0F, depth)
    if code <= 0x9F:
        return _list(data, at, code & 0x0F, depth)
    if code <= 0xBF:
        return _text(data, at, code & 0x1F)
    if code in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[code], at
    if code in _NUMBERS:
        form = _NUMBERS[code]
        return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    return _sized(data, at, code, depth)


def _sized(data: memoryview, at: int, code: int, depth: int) -> tuple[Any, int]:
    for codes, read in ((_BYTES, _binary), (_TEXTS, _text)):
        if code in codes:
            size, at = _size(data, at, codes[code])
            return read(data, at, size)
    for codes, read_items in ((_LISTS, _list), (_MAPS, _map)):
        if code in codes:
            size, at = _size(data, at, codes[code])
            return read_items(data, at, size, depth)
    raise BadRequest(f"msgpack code 0x{code:02x} is not used in this protocol.")


def _size(data: memoryview, at: int, width: int) -> tuple[int, int]:
    return struct.unpack_from(_SIZES[width], data, at)[0], at + width


def _binary(data: memoryview, at: int, size: int) -> tuple[memoryview, int]:
    if at + size > len(data):
        raise IndexError("it ends too early")
    return data[at : at + size], at + size


def _text(data: memoryview, at: int, size: int) -> tuple[str, int]:
    raw, end = _binary(data, at, size)
    return str(raw, "utf-8"), end


def _list(data: memoryview, at: int, size: int, depth: int) -> tuple[list[Any], int]:
    items = []
    for _ in range(size):
        item, at = _read(data, at, depth + 1)
        items.append(item)
    return items, at


def _map(data: memoryview, at: int, size: int, depth: int) -> tuple[dict[Any, Any], int]:
    items = {}
    for _ in range(size):
        key, at = _read(data, at, depth + 1)
        items[key], at = _read(data, at, depth + 1)
    return items, at
