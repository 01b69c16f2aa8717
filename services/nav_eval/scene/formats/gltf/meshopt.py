"""The three bit streams of meshopt (EXT_ and KHR_meshopt_compression), and the filters on what they hold.

Compiled, because they are decoded byte by byte. Every read is checked against the end of the data: the
functions return False for a stream that does not add up.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel

FIFO = 16
GROUP = 16
U32 = 0xFFFFFFFF
EDGE, VERTEX, NEXT, LAST, EXTRA = range(5)  # what an index decoder keeps track of


@compile_kernel
def unpack_attributes(data: NDArray[np.uint8], values: NDArray[np.uint8]) -> bool:
    """Mode ATTRIBUTES, versions 0 and 1: fill `values` (count × stride)."""
    count, stride = values.shape
    version = data[0] & 0x0F
    tail = stride + (stride // 4 if version else 0)
    end = len(data) - max(tail, 24 if version else 32)
    if end < 1:
        return False
    start = len(data) - tail
    last = data[start : start + stride].copy()
    channels = np.zeros(stride // 4, np.uint8)
    if version:
        channels[:] = data[start + stride :]
    deltas = np.zeros((stride, 256), np.uint8)
    block = min((8192 // stride) & ~15, 256)
    position = 1
    for first in range(0, count, block):
        size = min(block, count - first)
        position = _unpack_block(data, position, end, version, size, deltas)
        if position < 0:
            return False
        for channel in range(stride // 4):
            if not _add_deltas(values[first : first + size], deltas, last, channel * 4, channels[channel]):
                return False
    return bool(position == end)


@compile_kernel
def _unpack_block(
    data: NDArray[np.uint8], position: int, end: int, version: int, size: int, deltas: NDArray[np.uint8]
) -> int:
    """The deltas of one block, byte by byte of the element; the position after it, or −1."""
    stride = len(deltas)
    control_at = position
    if version:
        position += stride // 4
    if position > end:
        return -1
    for byte in range(stride):
        control = (data[control_at + byte // 4] >> (byte % 4 * 2)) & 3 if version else 4
        if control == 2:
            deltas[byte, :] = 0
        elif control == 3:
            if position + size > end:
                return -1
            deltas[byte, :size] = data[position : position + size]
            position += size
        else:
            position = _unpack_byte(data, position, end, control, (size + GROUP - 1) // GROUP, deltas[byte])
            if position < 0:
                return -1
    return position


@compile_kernel
def _get_bit_length(control: int, mode: int) -> int:
    """Bits per delta: control 0 and 1 are version 1's two tables, 4 is version 0's."""
    if control == 0:
        return (0, 1, 2, 4)[mode]
    if control == 1:
        return (1, 2, 4, 8)[mode]
    return (0, 2, 4, 8)[mode]


@compile_kernel
def _unpack_byte(
    data: NDArray[np.uint8], position: int, end: int, control: int, groups: int, deltas: NDArray[np.uint8]
) -> int:
    """The deltas of one byte of the element, in groups of sixteen."""
    header = position
    position += (groups + 3) // 4
    for group in range(groups):
        if position > end:
            return -1
        bits = _get_bit_length(control, (data[header + group // 4] >> (group % 4 * 2)) & 3)
        packed, position = position, position + 2 * bits
        if position > end:
            return -1
        for index in range(GROUP):
            value = 0
            if bits == 1:
                value = (data[packed + index // 8] >> (index % 8)) & 1
            elif bits:
                per_byte = 8 // bits
                shift = (per_byte - 1 - index % per_byte) * bits
                value = (data[packed + index // per_byte] >> shift) & ((1 << bits) - 1)
            if 0 < bits < 8 and value == (1 << bits) - 1:  # the sentinel: a whole byte follows the group
                if position >= end:
                    return -1
                value = data[position]
                position += 1
            deltas[group * GROUP + index] = value
    return position


@compile_kernel
def _add_deltas(
    values: NDArray[np.uint8], deltas: NDArray[np.uint8], last: NDArray[np.uint8], byte: int, channel: int
) -> bool:
    """Turn deltas into values for the four bytes of a channel; `last` is the element before."""
    mode, rotation = channel & 15, channel >> 4
    if mode > 2 or (mode < 2 and rotation):
        return False
    width = 1 << mode  # differences of bytes, of 16-bit numbers, or exclusive-or of 32-bit numbers
    full = (1 << (8 * width)) - 1
    for part in range(byte, byte + 4, width):
        value = _gather(last, part, width)
        for row in range(len(values)):
            delta = _gather(deltas[:, row], part, width)
            if mode == 2:
                value ^= ((delta >> rotation) | (delta << (32 - rotation))) & full
            else:
                value = (value + _decode_zigzag(delta)) & full
            for offset in range(width):
                values[row, part + offset] = (value >> (8 * offset)) & 255
        for offset in range(width):
            last[part + offset] = values[len(values) - 1, part + offset]
    return True


@compile_kernel
def _gather(column: NDArray[np.uint8], start: int, width: int) -> int:
    """A little-endian number of `width` bytes."""
    value = 0
    for offset in range(width):
        value |= int(column[start + offset]) << (8 * offset)
    return value


@compile_kernel
def unpack_indices(data: NDArray[np.uint8], values: NDArray[np.uint32]) -> bool:
    """Mode INDICES: fill `values` from deltas against one of two running baselines."""
    end = len(data) - 4
    cursor = np.array([0, 0, 0, 0, 1])
    last = np.zeros(2, np.int64)
    for index in range(len(values)):
        code = _read_varint(data, cursor, end)
        if cursor[EXTRA] > end:
            return False
        last[code & 1] = (last[code & 1] + _decode_zigzag(code >> 1)) & U32
        values[index] = last[code & 1]
    return bool(cursor[EXTRA] == end)


@compile_kernel
def unpack_triangles(data: NDArray[np.uint8], values: NDArray[np.uint32]) -> bool:
    """Mode TRIANGLES: fill `values` (three per triangle) from codes that refer to recent edges and vertices."""
    version, triangles, end = data[0] & 15, len(values) // 3, len(data) - 16
    cursor = np.array([0, 0, 0, 0, 1 + triangles])
    edges, vertices = np.zeros((FIFO, 2), np.int64), np.zeros(FIFO, np.int64)
    for triangle in range(triangles):
        if cursor[EXTRA] > end:
            return False
        code = data[1 + triangle]
        if code >> 4 < 15:
            corners = _decode_edge_triangle(code, version, data, end, cursor, edges, vertices)
        else:
            corners = _decode_free_triangle(code & 15, data, end, cursor, edges, vertices)
        values[3 * triangle], values[3 * triangle + 1], values[3 * triangle + 2] = corners
    return bool(cursor[EXTRA] == end)


@compile_kernel
def _decode_edge_triangle(
    code: int, version: int, data: NDArray[np.uint8], end: int,
    cursor: NDArray[np.int64], edges: NDArray[np.int64], vertices: NDArray[np.int64],
) -> tuple[int, int, int]:  # fmt: skip
    """A triangle on a recent edge: its third vertex is new, recent, next to the last one, or spelled out."""
    high, low = code >> 4, code & 15
    edge = (cursor[EDGE] - 1 - high) % FIFO
    a, b = edges[edge, 0], edges[edge, 1]
    neighbours = low in (13, 14) and version > 0  # version 0 has no codes for "next to the last one"
    if low == 0:
        c = _take_next(cursor)
    elif low == 15:
        c = _read_index(data, cursor, end)
    elif neighbours:
        c = (cursor[LAST] + (1 if low == 14 else -1)) & U32
        cursor[LAST] = c
    else:
        c = vertices[(cursor[VERTEX] - 1 - low) % FIFO]
    if low in (0, 15) or neighbours:
        _push_vertex(vertices, cursor, c)
    _push_edge(edges, cursor, c, b)
    _push_edge(edges, cursor, a, c)
    return a, b, c


@compile_kernel
def _decode_free_triangle(
    low: int, data: NDArray[np.uint8], end: int,
    cursor: NDArray[np.int64], edges: NDArray[np.int64], vertices: NDArray[np.int64],
) -> tuple[int, int, int]:  # fmt: skip
    """A triangle on its own: each vertex is new, recent, or (codes 14 and 15 only) spelled out."""
    pair = data[end + low]  # one of sixteen common cases, from the table at the end
    if low >= 14:
        if cursor[EXTRA] >= end:
            cursor[EXTRA] = end + 1
            return 0, 0, 0
        pair = data[cursor[EXTRA]]
        cursor[EXTRA] += 1
        if pair == 0:
            cursor[NEXT] = 0
    second, third = pair >> 4, pair & 15
    # New vertices are numbered before those that are spelled out are read.
    a = _take_next(cursor) if low != 15 else 0
    b = _take_next(cursor) if second == 0 else vertices[(cursor[VERTEX] - second) % FIFO]
    c = _take_next(cursor) if third == 0 else vertices[(cursor[VERTEX] - third) % FIFO]
    if low == 15:
        a = _read_index(data, cursor, end)
    if second == 15:
        b = _read_index(data, cursor, end)
    if third == 15:
        c = _read_index(data, cursor, end)
    _push_vertex(vertices, cursor, a)
    if second in (0, 15):
        _push_vertex(vertices, cursor, b)
    if third in (0, 15):
        _push_vertex(vertices, cursor, c)
    _push_edge(edges, cursor, b, a)
    _push_edge(edges, cursor, c, b)
    _push_edge(edges, cursor, a, c)
    return a, b, c


@compile_kernel
def _read_varint(data: NDArray[np.uint8], cursor: NDArray[np.int64], end: int) -> int:
    """An unsigned LEB128 number at the cursor, which is moved past the end where there is none."""
    value = 0
    for index in range(5):
        if cursor[EXTRA] >= end:
            break
        byte = data[cursor[EXTRA]]
        cursor[EXTRA] += 1
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return int(value & U32)
    cursor[EXTRA] = end + 1
    return 0


@compile_kernel
def _decode_zigzag(value: int) -> int:
    return -(value >> 1) - 1 if value & 1 else value >> 1


@compile_kernel
def _read_index(data: NDArray[np.uint8], cursor: NDArray[np.int64], end: int) -> int:
    """An index stored as the difference to the last one of its kind."""
    cursor[LAST] = (cursor[LAST] + _decode_zigzag(_read_varint(data, cursor, end))) & U32
    return int(cursor[LAST])


@compile_kernel
def _take_next(cursor: NDArray[np.int64]) -> int:
    """The lowest index that was not used yet."""
    index = cursor[NEXT]
    cursor[NEXT] = (index + 1) & U32
    return int(index)


@compile_kernel
def _push_edge(edges: NDArray[np.int64], cursor: NDArray[np.int64], a: int, b: int) -> None:
    edges[cursor[EDGE], 0], edges[cursor[EDGE], 1] = a, b
    cursor[EDGE] = (cursor[EDGE] + 1) % FIFO


@compile_kernel
def _push_vertex(vertices: NDArray[np.int64], cursor: NDArray[np.int64], index: int) -> None:
    vertices[cursor[VERTEX]] = index
    cursor[VERTEX] = (cursor[VERTEX] + 1) % FIFO


#: Bytes per element that each filter works on.
FILTER_STRIDES: dict[str, tuple[int, ...]] = {"OCTAHEDRAL": (4, 8), "QUATERNION": (8,), "COLOR": (4, 8)}


def apply_filter(name: str, values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """`values` (count × stride bytes) after the named filter."""
    if name == "NONE":
        return values
    decode = {
        "OCTAHEDRAL": _decode_octahedral,
        "QUATERNION": _decode_quaternion,
        "EXPONENTIAL": _decode_exponential,
        "COLOR": _decode_color,
    }[name]
    return np.ascontiguousarray(decode(values)).view(np.uint8).reshape(values.shape)


def _decode_octahedral(values: NDArray[np.uint8]) -> NDArray[Any]:
    """Unit vectors that were folded onto a square; the fourth component passes through."""
    stored: NDArray[Any] = values.view("i1" if values.shape[1] == 4 else "<i2")
    largest = 127 if values.shape[1] == 4 else 32767
    one = np.maximum(stored[:, 2].astype(np.float32), 1)
    x, y = stored[:, 0] / one, stored[:, 1] / one
    z = 1 - np.abs(x) - np.abs(y)
    fold = np.minimum(z, 0)
    x, y = x - np.copysign(fold, x), y - np.copysign(fold, y)
    vectors = np.stack([x, y, z], axis=1)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    unfolded = stored.copy()
    unfolded[:, :3] = _round_values(vectors * largest)
    return unfolded


def _decode_quaternion(values: NDArray[np.uint8]) -> NDArray[Any]:
    """Rotations without their largest component, which the last two bits name."""
    stored = values.view(np.dtype("<i2")).astype(np.int32)
    one = (stored[:, 3] | 3).astype(np.float32)
    smaller = stored[:, :3] / np.where(one == 0, 1, one)[:, None] * np.float32(np.sqrt(0.5))
    largest = np.sqrt(np.maximum(0, 1 - (smaller**2).sum(axis=1)))
    place = stored[:, 3] & 3
    rows = np.arange(len(stored))
    unfolded = np.empty((len(stored), 4), np.dtype("<i2"))
    unfolded[rows, place] = _round_values(largest * 32767)
    for offset in range(3):
        unfolded[rows, (place + 1 + offset) % 4] = _round_values(np.clip(smaller[:, offset], -1, 1) * 32767)
    return unfolded


def _decode_exponential(values: NDArray[np.uint8]) -> NDArray[Any]:
    """Floats stored as 8 bits of exponent and 24 bits of mantissa."""
    stored = values.view(np.dtype("<i4"))
    exponent, mantissa = stored >> 24, (stored << 8) >> 8
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(mantissa.astype(np.float64), exponent), "<f4")


def _decode_color(values: NDArray[np.uint8]) -> NDArray[Any]:
    """Colours stored as luma and two chroma values, of as many bits as the alpha's highest bit says."""
    signed = np.dtype("i1") if values.shape[1] == 4 else np.dtype("<i2")
    unsigned = np.dtype("u1") if values.shape[1] == 4 else np.dtype("<u2")
    chroma, plain = values.view(signed).astype(np.int32), values.view(unsigned).astype(np.int32)
    luma, co, cg, alpha = plain[:, 0], chroma[:, 1], chroma[:, 2], plain[:, 3]
    _, bits = np.frexp(alpha.astype(np.float64))
    full = np.maximum((1 << bits) - 1, 1)
    alpha = alpha & (full >> 1)
    alpha = (alpha << 1) | (alpha & 1)
    colors = np.stack([luma + co - cg, luma + cg, luma - co - cg, alpha], axis=1)
    largest = np.iinfo(unsigned).max
    return np.asarray(np.clip(_round_values(colors * (largest / full)[:, None]), 0, largest), unsigned)


def _round_values(values: NDArray[Any]) -> NDArray[Any]:
    """To the nearest integer, halves away from zero."""
    return np.asarray(np.copysign(np.floor(np.abs(values) + 0.5), values))
