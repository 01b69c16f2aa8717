"""Bytes, bits and Huffman codes of Basis pictures, least significant bit first, as in Deflate.

A Huffman table is an array that is indexed with the next bits of the stream; an entry holds the
symbol and, in the lowest five bits, the length of its code. Length 0 marks bits that are no code.
Reading past the end yields zeros; whoever reads checks the position when done.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.errors import SceneError

MAX_CODE_LENGTH = 16
CODE_LENGTH_ORDER = np.array([17, 18, 19, 20, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15, 16])
SHORT_ZEROS, LONG_ZEROS, SHORT_REPEAT, LONG_REPEAT = 17, 18, 19, 20
PADDING = 8
BROKEN = -1


def pad_bytes(content: bytes) -> NDArray[np.uint8]:
    """The bytes as an array that may safely be read a little past its end."""
    return np.frombuffer(content + bytes(PADDING), np.uint8)


@compile_kernel
def take_bits(data: NDArray[np.uint8], position: NDArray[np.int64], count: int) -> int:
    """The next `count` bits (at most 16) as a number."""
    value = peek_bits(data, position[0]) & ((1 << count) - 1)
    position[0] += count
    return int(value)


@compile_kernel
def peek_bits(data: NDArray[np.uint8], position: int) -> int:
    """At least the next 25 bits."""
    start = min(position >> 3, len(data) - 4)
    window = int(data[start]) | int(data[start + 1]) << 8 | int(data[start + 2]) << 16 | int(data[start + 3]) << 24
    return window >> (position & 7)


@compile_kernel
def read_symbol(data: NDArray[np.uint8], position: NDArray[np.int64], table: NDArray[np.int32]) -> int:
    """The next Huffman-coded symbol, or −1 where the bits are no code."""
    entry = table[peek_bits(data, position[0]) & (len(table) - 1)]
    length = entry & 31
    if length == 0:
        return BROKEN
    position[0] += length
    return int(entry >> 5)


@compile_kernel
def build_huffman_table(lengths: NDArray[np.uint8]) -> NDArray[np.int32]:
    """The table for canonical codes of the given lengths; a table of one zero where they do not fit."""
    counts = np.bincount(lengths, minlength=MAX_CODE_LENGTH + 1)
    counts[0] = 0
    longest = 0
    used = 0
    first = np.zeros(MAX_CODE_LENGTH + 2, np.int64)
    for length in range(1, MAX_CODE_LENGTH + 1):
        first[length + 1] = (first[length] + counts[length]) << 1
        used += counts[length] << (MAX_CODE_LENGTH - length)
        if counts[length]:
            longest = length
    table = np.zeros(1 << longest, np.int32)
    if used > 1 << MAX_CODE_LENGTH:
        return table[:1]
    for index in range(len(lengths)):
        length = lengths[index]
        if length == 0:
            continue
        code = 0
        for bit in range(length):  # the stream holds a code's first bit lowest
            code |= ((first[length] >> bit) & 1) << (length - 1 - bit)
        first[length] += 1
        table[code :: 1 << length] = (index << 5) | length
    return table


@compile_kernel
def read_huffman_table(data: NDArray[np.uint8], position: NDArray[np.int64]) -> NDArray[np.int32]:
    """A table whose code lengths are themselves Huffman-coded; one zero where that is broken."""
    total = take_bits(data, position, 14)
    count = take_bits(data, position, 5)
    lengths = np.zeros(total, np.uint8)
    code_lengths = np.zeros(len(CODE_LENGTH_ORDER), np.uint8)
    if total == 0 or count > len(CODE_LENGTH_ORDER):
        return build_huffman_table(lengths)
    for index in range(count):
        code_lengths[CODE_LENGTH_ORDER[index]] = take_bits(data, position, 3)
    codes = build_huffman_table(code_lengths)
    filled = 0
    while filled < total:
        code = read_symbol(data, position, codes)
        value, run = code, 1
        if code == SHORT_ZEROS:
            value, run = 0, take_bits(data, position, 3) + 3
        elif code == LONG_ZEROS:
            value, run = 0, take_bits(data, position, 7) + 11
        elif code >= SHORT_REPEAT:
            run = take_bits(data, position, 2) + 3 if code == SHORT_REPEAT else take_bits(data, position, 7) + 7
            value = lengths[filled - 1] if filled else 0
        if code < 0 or filled + run > total or (code >= SHORT_REPEAT and value == 0):
            return np.zeros(1, np.int32)
        lengths[filled : filled + run] = value
        filled += run
    return build_huffman_table(lengths)


#: Called with width and height before any pixel is decoded; refuses what is too large.
Claim: TypeAlias = Callable[[int, int], None]


class BrokenPicture(SceneError):
    """A Basis picture is cut off or broken; compress it again."""


def take_bytes(content: bytes, offset: int, length: int, what: str) -> bytes:
    """`length` bytes at `offset`, all of them."""
    part = content[offset : offset + length]
    if len(part) < length or length < 0:
        raise BrokenPicture(f"{what} lies past the end of the file")
    return part
