"""The numbers that `randomness.make_generator` leads to, a few at a time: opening numpy's generator takes longer than
drawing a thousand of them, and a reset with randomisation draws for half a dozen purposes.

A stream is what numpy calls `Generator(PCG64(seed))`: its seed sequence, PCG64 (XSL-RR, 128 bits), doubles of 53 bits
and bounded integers by Lemire's method. Kernels draw from it where they need numbers.
"""

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_uncounted_inline, compile_uncounted_kernel
from nav_eval.randomness import derive_digest

Words = NDArray[np.uint64]

_STATE, _INCREMENT, _SPARE, _HAS_SPARE, _POOL = 0, 2, 4, 5, 6
"""Places in a stream: two numbers of 128 bits, the high half first, half a word that was left over, and
room in which seeds are mixed, by words of 32 bits."""
_POOL_WORDS = 4
_MULTIPLIER_HIGH, _MULTIPLIER_LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)


def make_stream() -> Words:
    """Room for a stream."""
    return np.empty(_POOL + _POOL_WORDS, dtype=np.uint64)


def hash_keys(seed: int, *keys: str | int) -> Words:
    """What a stream for one purpose starts from: `randomness.derive_seed` as words."""
    return np.frombuffer(derive_digest(seed, *keys), dtype=np.uint64)


def draw_units(seed: int, *keys: str | int, count: int) -> NDArray[np.float64]:
    """What `make_generator(seed, *keys).random(count)` gives."""
    units = np.empty(count)
    _draw_units(hash_keys(seed, *keys), make_stream(), units)
    return units


def draw_below(bound: int, seed: int, *keys: str | int) -> int:
    """What `make_generator(seed, *keys).integers(bound)` gives."""
    return int(_draw_below(hash_keys(seed, *keys), make_stream(), bound))


@compile_uncounted_kernel
def _draw_units(seed: Words, stream: Words, out: NDArray[np.float64]) -> None:
    open_stream(seed, stream)
    for i in range(len(out)):
        out[i] = take_unit(stream)


@compile_uncounted_kernel
def _draw_below(seed: Words, stream: Words, bound: int) -> int:
    open_stream(seed, stream)
    return take_below(stream, bound)


@compile_uncounted_inline
def open_stream(seed: Words, stream: Words) -> None:
    """Start a stream."""
    constant = np.uint32(0x43B0D7E5)
    for i in range(_POOL_WORDS):
        half = np.uint32((seed[i // 2] >> (_HALF * np.uint64(i % 2))) & _LOW_HALF)
        stream[_POOL + i], constant = _hash(half, constant, np.uint32(0x931E8875))
    for source in range(_POOL, _POOL + _POOL_WORDS):
        for target in range(_POOL, _POOL + _POOL_WORDS):
            if source != target:
                hashed, constant = _hash(np.uint32(stream[source]), constant, np.uint32(0x931E8875))
                stream[target] = _mix(np.uint32(stream[target]), hashed)
    constant = np.uint32(0x8B51F9DD)
    for i in range(4):
        low, constant = _hash(np.uint32(stream[_POOL + 2 * i % _POOL_WORDS]), constant, np.uint32(0x58F38DED))
        high, constant = _hash(np.uint32(stream[_POOL + (2 * i + 1) % _POOL_WORDS]), constant, np.uint32(0x58F38DED))
        stream[i] = np.uint64(low) | (np.uint64(high) << _HALF)
    start_high, start_low, high, low = stream[0], stream[1], stream[2], stream[3]
    stream[_INCREMENT], stream[_INCREMENT + 1] = (
        (high << np.uint64(1)) | (low >> np.uint64(63)),
        low << np.uint64(1) | np.uint64(1),
    )
    stream[_STATE], stream[_STATE + 1] = np.uint64(0), np.uint64(0)
    stream[_HAS_SPARE] = np.uint64(0)
    _step(stream)
    low = stream[_STATE + 1] + start_low
    stream[_STATE] += start_high + np.uint64(low < start_low)
    stream[_STATE + 1] = low
    _step(stream)


@compile_uncounted_inline
def _hash(value: np.uint32, constant: np.uint32, factor: np.uint32) -> tuple[np.uint32, np.uint32]:
    """A word mixed with a constant, and the next constant."""
    following = np.uint32(constant * factor)
    mixed = np.uint32((value ^ constant) * following)
    return np.uint32(mixed ^ (mixed >> np.uint32(16))), following


@compile_uncounted_inline
def _mix(one: np.uint32, other: np.uint32) -> np.uint32:
    mixed = np.uint32(np.uint32(0xCA01F9DD) * one) - np.uint32(np.uint32(0x4973F715) * other)
    mixed = np.uint32(mixed)
    return np.uint32(mixed ^ (mixed >> np.uint32(16)))


@compile_uncounted_inline
def _step(stream: Words) -> None:
    """The state times the multiplier, plus the increment, in 128 bits."""
    high, low = stream[_STATE], stream[_STATE + 1]
    product = low * _MULTIPLIER_LOW
    carried = _multiply_high(low, _MULTIPLIER_LOW) + low * _MULTIPLIER_HIGH + high * _MULTIPLIER_LOW
    total = product + stream[_INCREMENT + 1]
    stream[_STATE] = carried + stream[_INCREMENT] + np.uint64(total < product)
    stream[_STATE + 1] = total


@compile_uncounted_inline
def _multiply_high(one: np.uint64, other: np.uint64) -> np.uint64:
    """The upper 64 bits of a product."""
    a, b, c, d = one >> _HALF, one & _LOW_HALF, other >> _HALF, other & _LOW_HALF
    middle = a * d + (b * d >> _HALF)
    lower = b * c + (middle & _LOW_HALF)
    return np.uint64(a * c + (middle >> _HALF) + (lower >> _HALF))


@compile_uncounted_inline
def take_word(stream: Words) -> np.uint64:
    """64 bits."""
    _step(stream)
    high, low = stream[_STATE], stream[_STATE + 1]
    mixed, turn = high ^ low, high >> np.uint64(58)
    return np.uint64((mixed >> turn) | (mixed << ((np.uint64(64) - turn) & np.uint64(63))))


@compile_uncounted_inline
def take_unit(stream: Words) -> float:
    """Uniform in [0, 1)."""
    return np.float64(take_word(stream) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compile_uncounted_inline
def take_below(stream: Words, bound: int) -> int:
    """A whole number from 0 on, below a bound of at most 2**32 - 1."""
    limit = np.uint64(bound)
    product = _take_half(stream) * limit
    if product & _LOW_HALF < limit:
        rest = (np.uint64(0x100000000) - limit) % limit
        while product & _LOW_HALF < rest:
            product = _take_half(stream) * limit
    return int(np.int64(product >> _HALF))


@compile_uncounted_inline
def _take_half(stream: Words) -> np.uint64:
    """32 bits: the lower ones of a word, then the upper ones."""
    if stream[_HAS_SPARE]:
        stream[_HAS_SPARE] = np.uint64(0)
        return np.uint64(stream[_SPARE])
    word = take_word(stream)
    stream[_SPARE], stream[_HAS_SPARE] = word >> _HALF, np.uint64(1)
    return np.uint64(word & _LOW_HALF)
