"""Rerun recordings, one `.rrd` per episode: the way, the cameras, the words; `rerun OUT/EPISODE.rrd` shows it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import rerun as rr  # type: ignore[import-untyped,import-not-found,unused-ignore]

from nav_eval.dataset.trajectory import Trajectory, task_text
from nav_eval.dataset.trajectory_hdf5 import named
from nav_eval.evaluation.export.registry import Exported, ExportSetup
from nav_eval.evaluation.replay.artifacts import file_name
from nav_eval.frames import quaternion_from_yaw

JPEG_QUALITY = 85
WAY = (38, 110, 220)


def write(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    setup.out.mkdir(parents=True)
    for trajectory, frames in episodes:
        _record(setup, trajectory, frames, setup.out / f"{file_name(trajectory.episode_id)}.rrd")


def _record(setup: ExportSetup, trajectory: Trajectory, frames: Iterable[Any], path: Path) -> None:
    recording = rr.RecordingStream(f"nav-eval {setup.benchmark.task.type}", recording_id=trajectory.episode_id)
    recording.save(str(path))
    recording.log("world", rr.ViewCoordinates.RIGHT_HAND_Y_UP, static=True)
    recording.log("instruction", rr.TextDocument(task_text(trajectory)), static=True)
    recording.log("metrics", rr.TextDocument(_listed(trajectory)), static=True)
    way = np.array(trajectory.positions, np.float32)
    recording.log("world/way", rr.LineStrips3D([way], colors=[WAY], radii=[0.02]), static=True)
    pictures = iter(frames)
    for step, position in enumerate(trajectory.positions):
        recording.set_time("step", sequence=step)
        rotation = rr.Quaternion(xyzw=quaternion_from_yaw(trajectory.yaws[step]))
        recording.log("world/agent", rr.Transform3D(translation=position, quaternion=rotation))
        if step < len(trajectory.actions):
            recording.log("action", rr.TextLog(named(trajectory.actions[step])[0]))
        for name, picture in next(pictures, {}).items():
            recording.log(f"cameras/{name}", _image(picture))
    recording.flush()
    recording.disconnect()


def _image(picture: Any) -> Any:  # noqa: ANN401 - Rerun's archetypes
    if picture.ndim == 3:
        return rr.Image(picture).compress(jpeg_quality=JPEG_QUALITY)
    return rr.DepthImage(picture, meter=1.0) if picture.dtype == np.float32 else rr.SegmentationImage(picture)


def _listed(trajectory: Trajectory) -> str:
    lines = [f"{name}: {value}" for name, value in trajectory.metrics.items()]
    return "\n".join([f"success: {trajectory.success}", f"steps: {trajectory.length}", *lines])
