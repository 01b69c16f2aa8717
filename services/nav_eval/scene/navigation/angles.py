"""Sines and cosines that are the same bits on every machine.

libm implementations differ in the last bit, and a heading is used thousands of times per episode.
Here an angle is an integer count of microdegrees, and its cosine and sine come from integer
arithmetic rounded once: the nearest double, everywhere. Whole turns and quarter turns are exact.
"""

from fractions import Fraction
from functools import lru_cache

MICRODEGREES = 1_000_000  #: per degree
FULL_TURN = 360 * MICRODEGREES

_BITS = 160
_ONE = 1 << _BITS


def microdegrees(degrees: float) -> int:
    """The angle in whole microdegrees, the nearest one."""
    return round(Fraction(degrees) * MICRODEGREES)


@lru_cache(maxsize=1 << 16)
def unit_vector(angle: int) -> tuple[float, float]:
    """Cosine and sine of an angle in microdegrees."""
    quarter, rest = divmod(angle % FULL_TURN, FULL_TURN // 4)
    cosine, sine = _first_quarter(rest)
    for _ in range(quarter):
        cosine, sine = -sine, cosine
    return (cosine + 0.0, sine + 0.0)  # no negative zeros


def cosine(degrees: float) -> float:
    return unit_vector(microdegrees(degrees))[0]


def rotated(vector: tuple[float, float], angle: int) -> tuple[float, float]:
    """The vector (along, left) turned by an angle in microdegrees."""
    cosine, sine = unit_vector(angle)
    return (cosine * vector[0] - sine * vector[1], sine * vector[0] + cosine * vector[1])


def _first_quarter(angle: int) -> tuple[float, float]:
    if 2 * angle > FULL_TURN // 4:  # series of angles up to 45° only, and mirror images stay exact
        cosine, sine = _series(FULL_TURN // 4 - angle)
        return sine, cosine
    return _series(angle)


def _series(angle: int) -> tuple[float, float]:
    """Taylor's sums in fixed point; the rounding to a double is the only one that counts."""
    radians = _pi() * 2 * angle // FULL_TURN
    sums, term, order = [0, 0], _ONE, 0
    while term:
        sums[order % 2] += -term if order % 4 >= 2 else term
        order += 1
        term = term * radians // (order << _BITS)
    return tuple(float(Fraction(total, _ONE)) for total in sums)  # type: ignore[return-value]


@lru_cache(maxsize=1)
def _pi() -> int:
    """Machin's formula in fixed point."""
    return 4 * (4 * _arctangent_of_inverse(5) - _arctangent_of_inverse(239))


def _arctangent_of_inverse(n: int) -> int:
    total, power, order = 0, _ONE // n, 1
    while power:
        total += (power if order % 4 == 1 else -power) // order
        power //= n * n
        order += 2
    return total
