"""ETC1S blocks under BasisLZ: two code books and, per 4 × 4 block, two indices into them.

A block has one base colour (5 bits per channel), one of eight intensity tables, and for each pixel
one of the four steps of that table. Which blocks are which is coded with Huffman tables, runs and
references to neighbours; the KTX 2.0 specification describes it under "BasisLZ/ETC1S".
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.scene.formats.basis import bits
from nav_eval.scene.formats.basis.bits import BrokenPicture

#: Eight tables of steps from the base colour, darkest first.
STEPS = np.array(
    [
        [-8, -2, 2, 8], [-17, -5, 5, 17], [-29, -9, 9, 29], [-42, -13, 13, 42],
        [-60, -18, 18, 60], [-80, -24, 24, 80], [-106, -33, 33, 106], [-183, -47, 47, 183],
    ]
)  # fmt: skip
REPEAT_PREDICTION = 256
MIN_REPEATS = 3
RUN_THRESHOLD = 3
LONG_RUN = 63
PREDICTIONS, DELTAS, SELECTORS, RUNS = range(4)  # the Huffman tables of a slice
LEFT, ABOVE, ABOVE_LEFT, CODED = range(4)  # where a block's endpoint comes from
LAST_PREDICTION, REPEATS, RUN, ROVER = range(4)  # what a slice decoder keeps track of


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Codebooks:
    """What all slices of a picture share."""

    endpoints: NDArray[np.uint8]  #: N × 4: red, green, blue (5 bits each), intensity table
    selectors: NDArray[np.uint8]  #: N × 4 × 4: step 0…3 per pixel
    tables: tuple[NDArray[np.int32], ...]  #: prediction, endpoint delta, selector, run length
    history: int  #: how many recent selectors can be referred to


def read_codebooks(
    *, endpoints: bytes, endpoint_count: int, selectors: bytes, selector_count: int, tables: bytes
) -> Codebooks:
    """Unpack the three global sections."""
    colors, colors_ok = _read_endpoints(bits.pad_bytes(endpoints), endpoint_count)
    patterns, patterns_ok = _read_selectors(bits.pad_bytes(selectors), selector_count)
    if not (colors_ok and patterns_ok and endpoint_count and selector_count):
        raise BrokenPicture("the ETC1S code books are broken")
    data, position = bits.pad_bytes(tables), np.zeros(1, np.int64)
    huffman = tuple(bits.read_huffman_table(data, position) for _ in range(4))
    history = bits.take_bits(data, position, 13)
    if position[0] > 8 * len(tables):
        raise BrokenPicture("the ETC1S Huffman tables are cut off")
    return Codebooks(endpoints=colors, selectors=patterns, tables=huffman, history=history)


def decode_slice(content: bytes, books: Codebooks, *, width: int, height: int) -> NDArray[np.uint8]:
    """The pixels of one slice: height × width × 3, in the order in which rows are stored."""
    indices = np.zeros(((height + 3) // 4, (width + 3) // 4, 2), np.uint16)
    history = np.zeros(books.history, np.int64)
    if not _read_blocks(
        bits.pad_bytes(content), indices, books.tables, len(books.endpoints), len(books.selectors), history
    ):
        raise BrokenPicture("an ETC1S slice is cut off or broken")
    pixels = np.empty((height, width, 3), np.uint8)
    _paint(indices, books.endpoints, books.selectors, STEPS, pixels)
    return pixels


@compile_kernel
def _read_endpoints(data: NDArray[np.uint8], count: int) -> tuple[NDArray[np.uint8], bool]:
    """Colours and intensity tables, each coded as the difference to the entry before."""
    position = np.zeros(1, np.int64)
    low = bits.read_huffman_table(data, position)
    middle = bits.read_huffman_table(data, position)
    high = bits.read_huffman_table(data, position)
    intensity = bits.read_huffman_table(data, position)
    gray = bits.take_bits(data, position, 1)
    endpoints = np.zeros((count, 4), np.uint8)
    color = np.array([16, 16, 16, 0])
    for index in range(count):
        step = bits.read_symbol(data, position, intensity)
        if step < 0:
            return endpoints, False
        color[3] = (color[3] + step) & 7
        for channel in range(1 if gray else 3):
            table = low if color[channel] <= 9 else (middle if color[channel] <= 21 else high)
            step = bits.read_symbol(data, position, table)
            if step < 0:
                return endpoints, False
            color[channel] = (color[channel] + step) & 31
        if gray:
            color[1:3] = color[0]
        endpoints[index] = color
    return endpoints, bool(position[0] <= 8 * (len(data) - bits.PADDING))


@compile_kernel
def _read_selectors(data: NDArray[np.uint8], count: int) -> tuple[NDArray[np.uint8], bool]:
    """Patterns of steps: four bytes each, plain or as exclusive-or with the entry before."""
    position = np.zeros(1, np.int64)
    selectors = np.zeros((count, 4, 4), np.uint8)
    if bits.take_bits(data, position, 2) != 0:  # code books of other files: never in glTF
        return selectors, False
    plain = bits.take_bits(data, position, 1)
    table = np.zeros(1, np.int32)
    if not plain:
        table = bits.read_huffman_table(data, position)
    row_bits = np.zeros(4, np.int64)
    for index in range(count):
        for row in range(4):
            if plain or index == 0:
                row_bits[row] = bits.take_bits(data, position, 8)
            else:
                step = bits.read_symbol(data, position, table)
                if step < 0:
                    return selectors, False
                row_bits[row] ^= step
            for column in range(4):
                selectors[index, row, column] = (row_bits[row] >> (2 * column)) & 3
    return selectors, bool(position[0] <= 8 * (len(data) - bits.PADDING))


@compile_kernel
def _read_variable(data: NDArray[np.uint8], position: NDArray[np.int64], chunk: int) -> int:
    """A number in chunks of `chunk` bits, each led by a bit that says whether another follows."""
    value = shift = 0
    while shift < 32:
        part = bits.take_bits(data, position, chunk + 1)
        value |= (part & ((1 << chunk) - 1)) << shift
        shift += chunk
        if not part >> chunk:
            break
    return value


@compile_kernel
def _read_blocks(
    data: NDArray[np.uint8],
    indices: NDArray[np.uint16],
    tables: tuple[NDArray[np.int32], ...],
    endpoint_count: int,
    selector_count: int,
    history: NDArray[np.int64],
) -> bool:
    """Fill `indices` (rows × columns × endpoint, selector); False where the stream does not add up."""
    rows, columns, _ = indices.shape
    position, state = np.zeros(1, np.int64), np.zeros(4, np.int64)
    state[ROVER] = len(history) // 2
    below = np.zeros((columns + 1) // 2, np.int64)  # predictions of the odd row, read with the even one
    prediction = endpoint = 0
    for row in range(rows):
        for column in range(columns):
            if column % 2 == 0 and row % 2 == 1:
                prediction = below[column // 2]
            elif column % 2 == 0:
                prediction = _read_prediction(data, position, tables[PREDICTIONS], state)
                if prediction < 0:
                    return False
                below[column // 2] = prediction >> 4
            source, prediction = prediction & 3, prediction >> 2
            if source == LEFT and column:
                pass
            elif source == ABOVE and row:
                endpoint = indices[row - 1, column, 0]
            elif source == ABOVE_LEFT and row and column:
                endpoint = indices[row - 1, column - 1, 0]
            else:
                step = bits.read_symbol(data, position, tables[DELTAS])
                if source != CODED or step < 0:
                    return False
                endpoint = (endpoint + step) % endpoint_count
            selector = _read_selector(data, position, tables, state, history, selector_count)
            if selector < 0:
                return False
            indices[row, column, 0], indices[row, column, 1] = endpoint, selector
    return bool(position[0] <= 8 * (len(data) - bits.PADDING))


@compile_kernel
def _read_prediction(
    data: NDArray[np.uint8], position: NDArray[np.int64], table: NDArray[np.int32], state: NDArray[np.int64]
) -> int:
    """Where the endpoints of the next 2 × 2 blocks come from: two bits each."""
    if state[REPEATS]:
        state[REPEATS] -= 1
        return int(state[LAST_PREDICTION])
    prediction = bits.read_symbol(data, position, table)
    if prediction == REPEAT_PREDICTION:
        state[REPEATS] = _read_variable(data, position, 4) + MIN_REPEATS - 1
        return int(state[LAST_PREDICTION])
    state[LAST_PREDICTION] = prediction
    return prediction


@compile_kernel
def _read_selector(
    data: NDArray[np.uint8],
    position: NDArray[np.int64],
    tables: tuple[NDArray[np.int32], ...],
    state: NDArray[np.int64],
    history: NDArray[np.int64],
    count: int,
) -> int:
    """A block's pattern: a new one, a recent one, or (in a run) the most recent again; −1 where broken."""
    code = count
    if state[RUN]:
        state[RUN] -= 1
    else:
        code = bits.read_symbol(data, position, tables[SELECTORS])
        if code == count + len(history):
            run = bits.read_symbol(data, position, tables[RUNS])
            if run < 0:
                return bits.BROKEN
            state[RUN] = (_read_variable(data, position, 7) if run == LONG_RUN else run) + RUN_THRESHOLD - 1
            code = count
    if code < 0 or code >= count + len(history):
        return bits.BROKEN
    if code < count:
        if len(history):
            history[state[ROVER]] = code
            state[ROVER] = state[ROVER] + 1 if state[ROVER] + 1 < len(history) else len(history) // 2
        return code
    place = code - count  # a recent one moves half-way to the front
    selector = history[place]
    history[place], history[place // 2] = history[place // 2], selector
    return int(selector)


@compile_kernel
def _paint(
    indices: NDArray[np.uint16],
    endpoints: NDArray[np.uint8],
    selectors: NDArray[np.uint8],
    steps: NDArray[np.int64],
    pixels: NDArray[np.uint8],
) -> None:
    """Colour the pixels of every block."""
    height, width, channels = pixels.shape
    for row in range(height):
        for column in range(width):
            block = indices[row // 4, column // 4]
            step = steps[endpoints[block[0], 3], selectors[block[1], row % 4, column % 4]]
            for channel in range(channels):
                base = endpoints[block[0], channel]
                pixels[row, column, channel] = min(max((base << 3 | base >> 2) + step, 0), 255)
