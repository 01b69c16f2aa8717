"""Rerun recordings, one `.rrd` per episode: the way, the cameras, the words; `rerun OUT/EPISODE.rrd` shows it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import rerun as rr  # type: ignore[import-untyped,import-not-found,unused-ignore]

from nav_eval.dataset.trajectory import Trajectory, describe_task
from nav_eval.dataset.trajectory_hdf5 import parse_action
from nav_eval.evaluation.export.exporters import Exported, ExportSetup
from nav_eval.evaluation.run_folder import make_file_name
from nav_eval.records.geometry import make_yaw_rotation

JPEG_QUALITY = 85
PATH_COLOUR = (38, 110, 220)


def write(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    setup.out.mkdir(parents=True)
    for trajectory, frames in episodes:
        _record(setup, trajectory, frames, setup.out / f"{make_file_name(trajectory.episode_id)}.rrd")


def _record(setup: ExportSetup, trajectory: Trajectory, frames: Iterable[Any], path: Path) -> None:
    recording = rr.RecordingStream(f"nav-eval {setup.benchmark.task.type}", recording_id=trajectory.episode_id)
    recording.save(str(path))
    recording.log("world", rr.ViewCoordinates.RIGHT_HAND_Y_UP, static=True)
    recording.log("instruction", rr.TextDocument(describe_task(trajectory)), static=True)
    recording.log("metrics", rr.TextDocument(_format_metrics(trajectory)), static=True)
    way = np.array(trajectory.positions, np.float32)
    recording.log("world/way", rr.LineStrips3D([way], colors=[PATH_COLOUR], radii=[0.02]), static=True)
    pictures = iter(frames)
    for step, position in enumerate(trajectory.positions):
        recording.set_time("step", sequence=step)
        rotation = rr.Quaternion(xyzw=make_yaw_rotation(trajectory.yaws[step]))
        recording.log("world/agent", rr.Transform3D(translation=position, quaternion=rotation))
        if step < len(trajectory.actions):
            recording.log("action", rr.TextLog(parse_action(trajectory.actions[step])[0]))
        for name, picture in next(pictures, {}).items():
            recording.log(f"cameras/{name}", _make_image(picture))
    recording.flush()
    recording.disconnect()


def _make_image(picture: Any) -> Any:  # noqa: ANN401 - Rerun's archetypes
    if picture.ndim == 3:
        return rr.Image(picture).compress(jpeg_quality=JPEG_QUALITY)
    return rr.DepthImage(picture, meter=1.0) if picture.dtype == np.float32 else rr.SegmentationImage(picture)


def _format_metrics(trajectory: Trajectory) -> str:
    lines = [f"{name}: {value}" for name, value in trajectory.metrics.items()]
    return "\n".join([f"success: {trajectory.success}", f"steps: {trajectory.length}", *lines])
