"""UASTC LDR 4 × 4: sixteen bytes per block, a subset of ASTC with its fields in a simpler order.

A block names one of nineteen modes. A mode fixes how many pairs of end colours there are (subsets,
laid out by a pattern), how finely they are stored, and how many bits each pixel's weight between
its two end colours has; in two-plane modes one channel has weights of its own. Between the mode and
the data lie hints for transcoding to other formats, which we skip. The format is described in the
wiki of Basis Universal under "UASTC LDR 4x4 Texture Specification".
"""

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.scene.formats.basis import bits
from nav_eval.scene.formats.basis.bits import BrokenPicture

BLOCK_BYTES = 16
SOLID = 8

#: Per mode: code bits, hint bits, weight bits, endpoint range, subsets, planes, components.
MODES = np.array(
    [
        [4, 15, 4, 19, 1, 1, 3], [6, 15, 2, 20, 1, 1, 3], [5, 15, 3, 8, 2, 1, 3], [5, 15, 2, 7, 3, 1, 3],
        [5, 15, 2, 12, 2, 1, 3], [5, 15, 3, 20, 1, 1, 3], [5, 15, 2, 18, 1, 2, 3], [5, 15, 2, 12, 2, 1, 3],
        [5, 0, 0, 0, 1, 1, 4], [5, 23, 2, 8, 2, 1, 4], [3, 17, 4, 13, 1, 1, 4], [2, 17, 2, 13, 1, 2, 4],
        [3, 17, 3, 19, 1, 1, 4], [5, 23, 1, 20, 1, 2, 4], [5, 23, 2, 20, 1, 1, 4], [7, 23, 4, 20, 1, 1, 2],
        [6, 23, 2, 20, 2, 1, 2], [6, 23, 2, 20, 1, 2, 2], [4, 15, 5, 11, 1, 1, 3],
    ]
)  # fmt: skip
CODE_BITS, HINT_BITS, WEIGHT_BITS, RANGE, SUBSETS, PLANES, COMPONENTS = range(7)

#: A mode's prefix code, as the number that its bits make with the first one lowest.
MODE_CODES = (1, 53, 29, 3, 19, 11, 27, 7, 23, 15, 2, 0, 6, 31, 13, 5, 21, 37, 9)

#: ASTC's ranges of integers: plain bits, and whether a trit or a quint comes on top.
RANGES = np.array(
    [
        [1, 0, 0], [0, 1, 0], [2, 0, 0], [0, 0, 1], [1, 1, 0], [3, 0, 0], [1, 0, 1], [2, 1, 0], [4, 0, 0],
        [2, 0, 1], [3, 1, 0], [5, 0, 0], [3, 0, 1], [4, 1, 0], [6, 0, 0], [4, 0, 1], [5, 1, 0], [7, 0, 0],
        [5, 0, 1], [6, 1, 0], [8, 0, 0],
    ]
)  # fmt: skip

#: How ASTC spreads the values of a range with trits or quints over 0…255: for each of nine bits the
#: plain bit that lands there (a is the lowest), and what one trit or quint counts.
SPREADS = {
    4: ("000000000", 204), 6: ("000000000", 113), 7: ("b000b0bb0", 93), 9: ("b0000bb00", 54),
    10: ("cb000cbcb", 44), 12: ("cb0000cbc", 26), 13: ("dcb000dcb", 22), 15: ("dcb0000dc", 13),
    16: ("edcb000ed", 11), 18: ("edcb0000e", 6), 19: ("fedcb000f", 5),
}  # fmt: skip

#: Which subset each of the sixteen pixels belongs to: 30 patterns of two, 11 of three, and 19 for mode 7.
PATTERNS_OF_TWO = (
    "0011001100110011 0001000100010001 1000100010001000 0001001100110111 1111111011101100 0011011101111111 "
    "1110110010000000 1111111011001000 0000000000010011 1100100000000000 0000000101111111 1111111111101000 "
    "1110100000000000 1111111100000000 0000111111111111 1111111111110000 1000111011111111 1111111101110001 "
    "0111001100010000 0011000100000000 0000100011001110 1111111101110011 1000110011001110 0011000100010000 "
    "1111011101110011 0110011001100110 1111000000001111 1010101010101010 1111000011110000 1001001101101100"
)
PATTERNS_OF_THREE = (
    "0000000011221122 1111111100002222 1111000000002222 1111222200000000 1120112011201120 0112011201120112 "
    "0211021102110211 2000200021112111 2012201220122012 1111000022221111 0022001100110022"
)
PATTERNS_OF_MODE_7 = (
    "0000111100000000 0010001000100010 1100110010000000 0000000100110011 1111111100001111 0100010001000100 "
    "0001001111111111 0111001100110011 1100000000111100 0111011100000000 0000000011101110 1100000000001100 "
    "0111001100000000 0000000111111111 1111111111110110 1100110011001000 1111111110001000 0011011011001000 "
    "1111011100000000"
)


def _parse_patterns(*lists: str) -> NDArray[np.uint8]:
    words = ["0" * 16, *(word for text in lists for word in text.split())]
    return np.array([[int(digit) for digit in word] for word in words], np.uint8)


def _find_first_pixels(patterns: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """The first pixel of each subset: its weight is stored without the highest bit, which is 0."""
    anchors = np.zeros(patterns.shape, bool)
    for row, pattern in enumerate(patterns):
        _, first = np.unique(pattern, return_index=True)
        anchors[row, first] = True
    return anchors


def _make_mode_table() -> NDArray[np.int64]:
    """The low seven bits of a block → its mode; 19 where no mode has that code."""
    modes = np.full(128, len(MODES))
    for mode, code in enumerate(MODE_CODES):
        modes[code :: 1 << MODES[mode, CODE_BITS]] = mode
    return modes


def _make_weight_table() -> NDArray[np.int64]:
    """Bits per weight → what each stored weight means, 0…64."""
    table = np.zeros((6, 32), np.int64)
    for count in range(1, 6):
        spread = [_replicate_bits(value, count, 6) for value in range(1 << count)]
        table[count, : 1 << count] = [value + (value > 32) for value in spread]
    return table


def _make_endpoint_table() -> NDArray[np.int64]:
    """Range → what each stored end colour means, 0…255."""
    table = np.zeros((len(RANGES), 256), np.int64)
    for row, (plain, trits, quints) in enumerate(RANGES.tolist()):
        for value in range((1 + 2 * trits + 4 * quints) << plain):
            low, high = value & ((1 << plain) - 1), value >> plain
            table[row, value] = _spread(low, high, row) if row in SPREADS else _replicate_bits(low, plain, 8)
    return table


def _spread(low: int, high: int, row: int) -> int:
    places, step = SPREADS[row]
    scattered = 0
    for place in places:
        scattered = scattered << 1 | (0 if place == "0" else low >> (ord(place) - ord("a")) & 1)
    mirror = 511 if low & 1 else 0
    return (mirror & 0x80) | ((high * step + scattered) ^ mirror) >> 2


def _replicate_bits(value: int, count: int, width: int) -> int:
    """`count` bits stretched to `width` by repeating them from the top; 0 for no bits."""
    stretched, filled = 0, 0
    while count and filled < width:
        stretched = stretched << count | value
        filled += count
    return stretched >> (filled - width) if count else 0


PATTERNS = _parse_patterns(PATTERNS_OF_TWO, PATTERNS_OF_THREE, PATTERNS_OF_MODE_7)
ANCHORS = _find_first_pixels(PATTERNS)
FIRST_OF_TWO, FIRST_OF_THREE, FIRST_OF_MODE_7, PATTERN_COUNT = 1, 31, 42, 61
MODE_OF_CODE = _make_mode_table()
WEIGHTS = _make_weight_table()
ENDPOINTS = _make_endpoint_table()


def decode_blocks(content: bytes, *, width: int, height: int) -> NDArray[np.uint8]:
    """The pixels: height × width × 4, in the order in which rows are stored."""
    across, down = (width + 3) // 4, (height + 3) // 4
    if len(content) < BLOCK_BYTES * across * down:
        raise BrokenPicture(f"{len(content):,} bytes are too few for {width} × {height} pixels")
    tiles = np.empty((down, across, 16, 4), np.uint8)
    if not _unpack(bits.pad_bytes(content), tiles.reshape(-1, 16, 4)):
        raise BrokenPicture("a UASTC block has an unknown mode or pattern")
    rows = tiles.reshape(down, across, 4, 4, 4).transpose(0, 2, 1, 3, 4).reshape(4 * down, 4 * across, 4)
    return np.ascontiguousarray(rows[:height, :width])


@compile_kernel
def _unpack(data: NDArray[np.uint8], tiles: NDArray[np.uint8]) -> bool:
    """Fill `tiles` (blocks × 16 pixels × RGBA)."""
    position = np.zeros(1, np.int64)
    endpoints, weights = np.zeros(18, np.int64), np.zeros((16, 2), np.int64)
    for block in range(len(tiles)):
        position[0] = 8 * BLOCK_BYTES * block
        mode = MODE_OF_CODE[data[BLOCK_BYTES * block] & 127]
        if mode == len(MODES):
            return False
        position[0] += MODES[mode, CODE_BITS] + MODES[mode, HINT_BITS]
        if mode == SOLID:
            for channel in range(4):
                tiles[block, :, channel] = bits.take_bits(data, position, 8)
            continue
        pattern = _read_pattern(data, position, mode)
        if pattern < 0:
            return False
        second_plane = -1  # the channel with weights of its own
        if MODES[mode, PLANES] == 2:
            second_plane = bits.take_bits(data, position, 2) if MODES[mode, COMPONENTS] > 2 else 3
        _read_endpoints(data, position, mode, endpoints)
        _read_weights(data, position, mode, pattern, weights)
        _mix(tiles[block], mode, pattern, second_plane, endpoints, weights)
    return True


@compile_kernel
def _read_pattern(data: NDArray[np.uint8], position: NDArray[np.int64], mode: int) -> int:
    """The row of PATTERNS that lays out the subsets, or −1."""
    subsets = MODES[mode, SUBSETS]
    if subsets == 1:
        return 0
    if subsets == 3:
        first, end = FIRST_OF_THREE, FIRST_OF_MODE_7
    elif mode == 7:
        first, end = FIRST_OF_MODE_7, PATTERN_COUNT
    else:
        first, end = FIRST_OF_TWO, FIRST_OF_THREE
    pattern = first + bits.take_bits(data, position, 4 if subsets == 3 else 5)
    return pattern if pattern < end else -1


@compile_kernel
def _read_endpoints(
    data: NDArray[np.uint8], position: NDArray[np.int64], mode: int, endpoints: NDArray[np.int64]
) -> None:
    """End colours: first all trits or quints in bundles, then everyone's plain bits."""
    row = MODES[mode, RANGE]
    plain, trits, quints = RANGES[row, 0], RANGES[row, 1], RANGES[row, 2]
    count = 2 * MODES[mode, COMPONENTS] * MODES[mode, SUBSETS]
    endpoints[:] = 0
    if trits or quints:
        base, size = (3, 5) if trits else (5, 3)
        for first in range(0, count, size):
            members = min(size, count - first)
            # As many bits as `members` digits of base 3 or 5 need.
            width = (0, 2, 4, 5, 7, 8)[members] if trits else (0, 3, 5, 7)[members]
            bundle = bits.take_bits(data, position, width)
            for member in range(members):
                endpoints[first + member] = bundle % base << plain
                bundle //= base
    for index in range(count):
        endpoints[index] = ENDPOINTS[row, endpoints[index] | bits.take_bits(data, position, plain)]


@compile_kernel
def _read_weights(
    data: NDArray[np.uint8], position: NDArray[np.int64], mode: int, pattern: int, weights: NDArray[np.int64]
) -> None:
    """Weights 0…64 of every pixel, per plane."""
    count = MODES[mode, WEIGHT_BITS]
    for pixel in range(16):
        width = count - 1 if ANCHORS[pattern, pixel] else count
        for plane in range(MODES[mode, PLANES]):
            weights[pixel, plane] = WEIGHTS[count, bits.take_bits(data, position, width)]


@compile_kernel
def _mix(
    pixels: NDArray[np.uint8],
    mode: int,
    pattern: int,
    second_plane: int,
    endpoints: NDArray[np.int64],
    weights: NDArray[np.int64],
) -> None:
    """Mix each pixel's end colours by its weight, in sixteen bits as ASTC does."""
    components = MODES[mode, COMPONENTS]
    for pixel in range(16):
        first = 2 * components * PATTERNS[pattern, pixel]
        for channel in range(4):
            source = channel
            if components == 2:  # luminance and alpha
                source = 1 if channel == 3 else 0
            if source >= components:
                pixels[pixel, channel] = 255
                continue
            weight = weights[pixel, 1 if channel == second_plane else 0]
            low, high = endpoints[first + 2 * source] * 257, endpoints[first + 2 * source + 1] * 257
            pixels[pixel, channel] = (low * (64 - weight) + high * weight + 32) >> 14
