"""Localization is judged in SQA3D's frame, whichever frame the episode has."""

import math

import pytest

from nav_eval.dataset.episode import Episode, PrivateEpisode, PublicEpisode
from nav_eval.metrics.localization import METRIC_NAMES
from nav_eval.records.geometry import Pose, Vec3, make_yaw_rotation
from nav_eval.scene.navigation import OpenPlane
from nav_eval.tasks import Progress, TaskRules
from nav_eval.tasks.localization import LocalizationTask


def progress(frame: str | None, truth: Pose) -> Progress:
    info = {} if frame is None else {"frame": frame}
    private = PrivateEpisode(scene_id="house.glb", start=truth, info=info)
    episode = Episode(public=PublicEpisode(episode_id="one"), private=private)
    return LocalizationTask(TaskRules(metrics=METRIC_NAMES)).start(episode, OpenPlane())


def about_z(degrees: float) -> tuple[float, float, float, float]:
    half = math.radians(degrees) / 2
    return (0.0, 0.0, math.sin(half), math.cos(half))


@pytest.mark.parametrize(
    ("guess", "degrees", "right"),
    [
        ((3.0, 0.0, -2.0), 40.0, (1, 1, 1, 1)),  # the truth
        ((3.0, 2.8, -2.0), 40.0, (1, 1, 1, 1)),  # another floor: height does not count
        ((3.0, 0.0, -2.6), 40.0, (0, 1, 1, 1)),  # 0.6 m along our z, which SQA3D would take for height
        ((3.0, 0.0, 2.0), 40.0, (0, 0, 1, 1)),  # mirrored
        ((3.0, 0.0, -2.0), 60.0, (1, 1, 0, 1)),  # 20° too far to the left
        ((3.0, 0.0, -2.0), -140.0, (1, 1, 0, 0)),  # the other way round
    ],
)
def test_our_frame(guess: Vec3, degrees: float, right: tuple[int, ...]) -> None:
    judged = progress("nav_eval", Pose((3.0, 0.0, -2.0), make_yaw_rotation(math.radians(40.0))))
    judged.answer([Pose(guess, make_yaw_rotation(math.radians(degrees)))])
    assert tuple(judged.result().metrics.values()) == right


def test_an_episode_that_names_no_frame_has_ours() -> None:
    judged = progress(None, Pose((0.0, 0.0, 0.0), make_yaw_rotation(1.0)))
    judged.answer([Pose((0.0, 9.0, 0.0), make_yaw_rotation(1.0))])
    assert set(judged.result().metrics.values()) == {1.0}


def test_sqa3d_keeps_its_own_frame() -> None:
    judged = progress("sqa3d", Pose((1.0, 2.0, 0.0), about_z(30.0)))
    judged.answer([Pose((1.0, 2.0, 0.0), about_z(40.0))])
    assert set(judged.result().metrics.values()) == {1.0}
