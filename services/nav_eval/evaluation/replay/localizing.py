"""Localization on a map: answers live in the scan's own frame, Z up, and face −x when they are not turned.

Nobody walks, and a scan's frame is centred on its bounding box, which only the scan knows: the poses are shown
on a plain sheet, x to the right and y upwards.
"""

import math
from collections.abc import Sequence

from nav_eval.dataset.episode import Pose, Vec3
from nav_eval.evaluation.replay.model import Guess, Step
from nav_eval.frames import rotate
from nav_eval.metrics.localization import position_error, rotation_error


def on_sheet(pose: Pose) -> tuple[Vec3, float]:
    """Place and yaw in our frame."""
    x, y, z = pose.position
    along_x, along_y, _ = rotate(pose.rotation, (-1.0, 0.0, 0.0))
    return (x, z, -y), math.atan2(-along_x, along_y)


def guesses_of(truth: Pose, answers: Sequence[Pose]) -> list[Guess]:
    """The answers with their errors, as the metric measures them."""
    guesses = []
    for answer in answers:
        position, yaw = on_sheet(answer)
        guesses.append(
            Guess(
                position=position,
                yaw=yaw,
                position_error=position_error(truth.position, answer.position),
                rotation_error=rotation_error(truth.rotation, answer.rotation),
            )
        )
    return guesses


def steps_of(truth: Pose, actions: Sequence[str | None]) -> list[Step]:
    """The true pose, once for every action and once before them."""
    position, yaw = on_sheet(truth)
    return [Step(position=position, yaw=yaw, action=action) for action in actions]
