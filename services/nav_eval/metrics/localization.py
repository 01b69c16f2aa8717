"""Accuracy of situated localization (SQA3D): the best of up to three guessed poses.

Position and rotation are judged separately, each by its own best guess. The rotation error is the
difference of the z components of the rotation *vectors*, as the published metric has it; for
rotations that are not about z this is not the yaw. The arithmetic below follows the published chain
operation by operation, because an error of exactly 15° or 30° is decided by its last bit.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from nav_eval.errors import RecordError

MAX_GUESSES = 3
POSITION_THRESHOLDS = {"acc@0.5m": 0.5, "acc@1.0m": 1.0}
ROTATION_THRESHOLDS = {"acc@15deg": 15.0, "acc@30deg": 30.0}
METRIC_NAMES = (*POSITION_THRESHOLDS, *ROTATION_THRESHOLDS)

Numbers = Sequence[float]


class LocalizationError(NamedTuple):
    """How far the best guesses are from the truth; infinite where nothing was answered."""

    position: float
    """Metres in the x-y plane of the scan."""
    rotation: float
    """Degrees about z."""


UNANSWERED = LocalizationError(math.inf, math.inf)


def compute_position_error(truth: Numbers, guess: Numbers) -> float:
    """Distance in the floor plane; the height is ignored."""
    dx, dy = guess[0] - truth[0], guess[1] - truth[1]
    return math.sqrt(dx * dx + dy * dy)


def compute_rotation_error(truth: Numbers, guess: Numbers) -> float:
    """Degrees between two rotations about z, the short way round."""
    difference = abs(_get_rotation_vector_z(truth) - _get_rotation_vector_z(guess))
    return min(difference, 2 * math.pi - difference) / math.pi * 180


def compute_best_errors(
    *, position: Numbers, rotation: Numbers, guessed_positions: Sequence[Numbers], guessed_rotations: Sequence[Numbers]
) -> LocalizationError:
    """The least position error and the least rotation error, independent of each other."""
    for kind, truth, guesses in (("position", position, guessed_positions), ("rotation", rotation, guessed_rotations)):
        _check_guesses(kind, guesses)
        for pose in (truth, *guesses):
            _check_pose(kind, pose)
    return LocalizationError(
        min(compute_position_error(position, guess) for guess in guessed_positions),
        min(compute_rotation_error(rotation, guess) for guess in guessed_rotations),
    )


def compute_accuracies(error: LocalizationError) -> dict[str, float]:
    """1 or 0 for each threshold, strictly below counts."""
    positions = {name: float(error.position < limit) for name, limit in POSITION_THRESHOLDS.items()}
    rotations = {name: float(error.rotation < limit) for name, limit in ROTATION_THRESHOLDS.items()}
    return positions | rotations


def compute_mean_accuracies(errors: Sequence[LocalizationError]) -> dict[str, float]:
    """The share of situations below each threshold."""
    if not errors:
        raise RecordError("There are no annotations to score.")
    each = [compute_accuracies(error) for error in errors]
    return {name: math.fsum(values[name] for values in each) / len(each) for name in METRIC_NAMES}


def _check_guesses(kind: str, guesses: Sequence[Numbers]) -> None:
    if not 1 <= len(guesses) <= MAX_GUESSES:
        raise RecordError(f"{len(guesses)} {kind}s were given; give 1 to {MAX_GUESSES}.")


def _check_pose(kind: str, numbers: Numbers) -> None:
    sizes = {"position": (2, 3), "rotation": (4,)}[kind]
    if len(numbers) not in sizes:
        raise RecordError(f"a {kind} has {len(numbers)} numbers; it needs {' or '.join(map(str, sizes))}.")
    if not all(math.isfinite(value) for value in numbers):
        raise RecordError(f"a {kind} holds a number that is not finite: {list(numbers)}.")
    if kind == "rotation" and math.sqrt(sum(value * value for value in numbers)) == 0:
        raise RecordError("a rotation is all zeros; give a quaternion as x, y, z, w.")


def _get_rotation_vector_z(quaternion: Numbers) -> float:
    norm = math.sqrt(sum(value * value for value in quaternion))
    x, y, z, w = (value / norm for value in quaternion)
    if (w, x, y, z) < (0, 0, 0, 0):  # of q and −q, the one whose first non-zero number is positive
        x, y, z, w = -x, -y, -z, -w
    angle = 2 * math.atan2(math.sqrt(x * x + y * y + z * z), w)
    if angle <= 1e-3:  # the quotient below loses its digits near 0
        square = angle * angle
        return (2 + square / 12 + 7 * square * square / 2880) * z
    return angle / math.sin(angle / 2) * z
