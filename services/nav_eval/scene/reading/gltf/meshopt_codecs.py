"""The three meshopt bit streams, as the extension's appendix describes them.

Compiled, because they are decoded byte by byte. Every read is checked against the end of the data:
the functions return False for a stream that does not add up.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

FIFO = 16
GROUP = 16
U32 = 0xFFFFFFFF
EDGE, VERTEX, NEXT, LAST, EXTRA = range(5)  # what an index decoder keeps track of


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def _bit_length(control: int, mode: int) -> int:
    """Bits per delta: control 0 and 1 are version 1's two tables, 4 is version 0's."""
    if control == 0:
        return (0, 1, 2, 4)[mode]
    if control == 1:
        return (1, 2, 4, 8)[mode]
    return (0, 2, 4, 8)[mode]


@njit(cache=True)
def _unpack_byte(
    data: NDArray[np.uint8], position: int, end: int, control: int, groups: int, deltas: NDArray[np.uint8]
) -> int:
    """The deltas of one byte of the element, in groups of sixteen."""
    header = position
    position += (groups + 3) // 4
    for group in range(groups):
        if position > end:
            return -1
        bits = _bit_length(control, (data[header + group // 4] >> (group % 4 * 2)) & 3)
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


@njit(cache=True)
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
                value = (value + _unzigzag(delta)) & full
            for offset in range(width):
                values[row, part + offset] = (value >> (8 * offset)) & 255
        for offset in range(width):
            last[part + offset] = values[len(values) - 1, part + offset]
    return True


@njit(cache=True)
def _gather(column: NDArray[np.uint8], start: int, width: int) -> int:
    """A little-endian number of `width` bytes."""
    value = 0
    for offset in range(width):
        value |= int(column[start + offset]) << (8 * offset)
    return value


@njit(cache=True)
def unpack_indices(data: NDArray[np.uint8], values: NDArray[np.uint32]) -> bool:
    """Mode INDICES: fill `values` from deltas against one of two running baselines."""
    end = len(data) - 4
    cursor = np.array([0, 0, 0, 0, 1])
    last = np.zeros(2, np.int64)
    for index in range(len(values)):
        code = _varint(data, cursor, end)
        if cursor[EXTRA] > end:
            return False
        last[code & 1] = (last[code & 1] + _unzigzag(code >> 1)) & U32
        values[index] = last[code & 1]
    return bool(cursor[EXTRA] == end)


@njit(cache=True)
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
            corners = _beside_edge(code, version, data, end, cursor, edges, vertices)
        else:
            corners = _free_standing(code & 15, data, end, cursor, edges, vertices)
        values[3 * triangle], values[3 * triangle + 1], values[3 * triangle + 2] = corners
    return bool(cursor[EXTRA] == end)


@njit(cache=True)
def _beside_edge(
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
        c = _spelled_out(data, cursor, end)
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


@njit(cache=True)
def _free_standing(
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
        a = _spelled_out(data, cursor, end)
    if second == 15:
        b = _spelled_out(data, cursor, end)
    if third == 15:
        c = _spelled_out(data, cursor, end)
    _push_vertex(vertices, cursor, a)
    if second in (0, 15):
        _push_vertex(vertices, cursor, b)
    if third in (0, 15):
        _push_vertex(vertices, cursor, c)
    _push_edge(edges, cursor, b, a)
    _push_edge(edges, cursor, c, b)
    _push_edge(edges, cursor, a, c)
    return a, b, c


@njit(cache=True)
def _varint(data: NDArray[np.uint8], cursor: NDArray[np.int64], end: int) -> int:
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


@njit(cache=True)
def _unzigzag(value: int) -> int:
    return -(value >> 1) - 1 if value & 1 else value >> 1


@njit(cache=True)
def _spelled_out(data: NDArray[np.uint8], cursor: NDArray[np.int64], end: int) -> int:
    """An index stored as the difference to the last one of its kind."""
    cursor[LAST] = (cursor[LAST] + _unzigzag(_varint(data, cursor, end))) & U32
    return int(cursor[LAST])


@njit(cache=True)
def _take_next(cursor: NDArray[np.int64]) -> int:
    """The lowest index that was not used yet."""
    index = cursor[NEXT]
    cursor[NEXT] = (index + 1) & U32
    return int(index)


@njit(cache=True)
def _push_edge(edges: NDArray[np.int64], cursor: NDArray[np.int64], a: int, b: int) -> None:
    edges[cursor[EDGE], 0], edges[cursor[EDGE], 1] = a, b
    cursor[EDGE] = (cursor[EDGE] + 1) % FIFO


@njit(cache=True)
def _push_vertex(vertices: NDArray[np.int64], cursor: NDArray[np.int64], index: int) -> None:
    vertices[cursor[VERTEX]] = index
    cursor[VERTEX] = (cursor[VERTEX] + 1) % FIFO
