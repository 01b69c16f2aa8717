"""Localization on a map: where the agent said that it is, and where it is.

Episodes of ours have poses in our frame and are shown on the map of their scene. SQA3D's are in the scan's own
frame (Z up, centred on a box that only the scan knows, facing −x when not turned): those are shown on a plain
sheet, x to the right and y upwards.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from nav_eval.dataset.episode import Episode, Pose, Vec3
from nav_eval.evaluation.replay.model import Guess
from nav_eval.frames import rotate, yaw_of
from nav_eval.metrics.localization import position_error, rotation_error
from nav_eval.tasks.localization import METRIC_FRAME, z_up


class Spot(NamedTuple):
    """A pose as a map shows it."""

    position: Vec3
    yaw: float


def is_on_the_scenes_map(episode: Episode) -> bool:
    """Whether the episode's poses are in our frame."""
    return episode.private.info.get("frame") != METRIC_FRAME


def spot_of(pose: Pose, *, ours: bool) -> Spot:
    if ours:
        return Spot(pose.position, yaw_of(pose.rotation))
    x, y, z = pose.position
    along_x, along_y, _ = rotate(pose.rotation, (-1.0, 0.0, 0.0))
    return Spot((x, z, -y), math.atan2(-along_x, along_y))


def guesses_of(truth: Pose, answers: Sequence[Pose], *, ours: bool) -> list[Guess]:
    """The answers with their errors, as the metric measures them."""
    return [_guess(truth, answer, ours=ours) for answer in answers]


def _guess(truth: Pose, answer: Pose, *, ours: bool) -> Guess:
    spot = spot_of(answer, ours=ours)
    places = [z_up(pose.position) if ours else pose.position for pose in (truth, answer)]
    rotations = [z_up(pose.rotation) if ours else pose.rotation for pose in (truth, answer)]
    return Guess(
        position=spot.position,
        yaw=spot.yaw,
        position_error=position_error(*places),
        rotation_error=rotation_error(*rotations),
    )
