"""Vectors, quaternions, poses, exact angles, and conversions between other people's frames and ours: one home.

Ours: metres, right-handed, Y up, −Z forward; quaternions x, y, z, w; yaw positive to the left. What scores are made
of uses + − × ÷ √ only, so that every machine gets the same bits; the functions that need a sine or a matrix
serve pictures, sensors and files.

Headings are used thousands of times per episode, and libm implementations differ in the last bit. So an angle that
moves an agent is an integer count of microdegrees, and its cosine and sine come from integer arithmetic rounded once:
the nearest double, everywhere. Whole turns and quarter turns are exact.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec

from nav_eval.errors import RecordError

Coordinate: TypeAlias = Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)]
"""Metres. Nothing we navigate is 1000 km wide; a larger number is a mistake, and squares stay finite."""
Vec3: TypeAlias = tuple[Coordinate, Coordinate, Coordinate]
Quaternion: TypeAlias = tuple[float, float, float, float]
if TYPE_CHECKING:  # records are read without numpy, which takes longer to import than a short file to be read
    import numpy as np
    from numpy.typing import NDArray

    RotationMatrix: TypeAlias = NDArray[np.float64]

IDENTITY_ROTATION: Quaternion = (0.0, 0.0, 0.0, 1.0)


class Pose(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """Where something stands and which way it faces."""

    position: Vec3
    rotation: Quaternion = IDENTITY_ROTATION


def measure_distance(start: Vec3, end: Vec3) -> float:
    """Metres as the crow flies; spelled out because library norms differ in the last bit."""
    x, y, z = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    return math.sqrt(x * x + y * y + z * z)


def multiply_rotations(first: Quaternion, second: Quaternion) -> Quaternion:
    """The rotation `second`, then `first`."""
    x1, y1, z1, w1 = first
    x2, y2, z2, w2 = second
    return (
        w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
        w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
        w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
    )


def invert_rotation(rotation: Quaternion) -> Quaternion:
    """The inverse of a unit quaternion: its conjugate."""
    x, y, z, w = rotation
    return (-x, -y, -z, w)


def make_rotation(yaw: float, pitch: float = 0.0, roll: float = 0.0) -> Quaternion:
    """Radians: yaw to the left about world Y, then pitch upwards about the turned X, then roll about its Z."""
    around_x = (math.sin(pitch / 2), 0.0, 0.0, math.cos(pitch / 2))
    around_z = (0.0, 0.0, math.sin(roll / 2), math.cos(roll / 2))
    return multiply_rotations(multiply_rotations(make_yaw_rotation(yaw), around_x), around_z)


def make_yaw_rotation(yaw: float) -> Quaternion:
    """The rotation that turns the agent to the left by `yaw` radians."""
    return (0.0, math.sin(yaw / 2), 0.0, math.cos(yaw / 2))


def get_yaw(rotation: Quaternion) -> float:
    """How far to the left of −Z the agent looks, in (−π, π]."""
    forward = rotate_vector(rotation, (0.0, 0.0, -1.0))
    return math.atan2(-forward[0], -forward[2])


def rotate_vector(rotation: Quaternion, vector: Vec3) -> Vec3:
    import numpy as np

    x, y, z = to_rotation_matrix(rotation) @ np.asarray(vector)
    return (float(x), float(y), float(z))


def to_rotation_matrix(rotation: Quaternion) -> "RotationMatrix":
    """The 3 × 3 matrix of a unit quaternion; its columns are the turned right, up and backward directions."""
    import numpy as np

    x, y, z, w = rotation
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


MICRODEGREES = 1_000_000  #: per degree
FULL_TURN = 360 * MICRODEGREES

_BITS = 160
_ONE = 1 << _BITS


def to_microdegrees(degrees: float) -> int:
    """The angle in whole microdegrees, the nearest one."""
    return round(Fraction(degrees) * MICRODEGREES)


@lru_cache(maxsize=1 << 16)
def get_unit_vector(angle: int) -> tuple[float, float]:
    """Cosine and sine of an angle in microdegrees."""
    quarter, rest = divmod(angle % FULL_TURN, FULL_TURN // 4)
    cosine, sine = _compute_first_quarter(rest)
    for _ in range(quarter):
        cosine, sine = -sine, cosine
    return (cosine + 0.0, sine + 0.0)  # no negative zeros


def get_cosine(degrees: float) -> float:
    return get_unit_vector(to_microdegrees(degrees))[0]


def rotate_plane_vector(vector: tuple[float, float], angle: int) -> tuple[float, float]:
    """The vector (along, left) turned by an angle in microdegrees."""
    cosine, sine = get_unit_vector(angle)
    return (cosine * vector[0] - sine * vector[1], sine * vector[0] + cosine * vector[1])


def _compute_first_quarter(angle: int) -> tuple[float, float]:
    if 2 * angle > FULL_TURN // 4:  # series of angles up to 45° only, and mirror images stay exact
        cosine, sine = _sum_series(FULL_TURN // 4 - angle)
        return sine, cosine
    return _sum_series(angle)


def _sum_series(angle: int) -> tuple[float, float]:
    """Taylor's sums in fixed point; the rounding to a double is the only one that counts."""
    radians = _compute_pi() * 2 * angle // FULL_TURN
    sums, term, order = [0, 0], _ONE, 0
    while term:
        sums[order % 2] += -term if order % 4 >= 2 else term
        order += 1
        term = term * radians // (order << _BITS)
    return tuple(float(Fraction(total, _ONE)) for total in sums)  # type: ignore[return-value]


@lru_cache(maxsize=1)
def _compute_pi() -> int:
    """Machin's formula in fixed point."""
    return 4 * (4 * _compute_inverse_arctangent(5) - _compute_inverse_arctangent(239))


def _compute_inverse_arctangent(n: int) -> int:
    total, power, order = 0, _ONE // n, 1
    while power:
        total += (power if order % 4 == 1 else -power) // order
        power //= n * n
        order += 2
    return total


def to_z_up(numbers: Sequence[float]) -> tuple[float, ...]:
    """A position (x, y, z) or quaternion (x, y, z, w) of our frame in one whose z is up: our −z is its y."""
    if len(numbers) not in (3, 4):
        raise RecordError(f"a pose of this dataset has 3 numbers and a quaternion 4, not {len(numbers)}.")
    x, y, z, *w = numbers
    return (x, -z, y, *w)


def from_z_up(position: Vec3) -> Vec3:
    """A position in a frame whose z is up in ours."""
    x, y, z = position
    return (x, z, -y)


def from_lh_vln_yaw(degrees: float) -> float:
    """LH-VLN's recorded yaw (180 looks along −Z, left positive) as ours, in (−π, π]."""
    yaw = math.radians(degrees - 180.0)
    return math.atan2(math.sin(yaw), math.cos(yaw))
