"""The frames of one episode on their way into videos."""

from collections.abc import Iterable, Mapping

import numpy as np

from nav_eval.dataset.trajectory import Frames
from nav_eval.evaluation.export.lerobot.columns import IMAGES
from nav_eval.evaluation.export.lerobot.statistics import PictureStatistics, Statistics
from nav_eval.evaluation.export.video import VideoWriter


def film(frames: Iterable[Frames], videos: Mapping[str, VideoWriter], *, rows: int) -> dict[str, Statistics]:
    """Add the first `rows` frames to the video of each camera; the statistics of each."""
    seen = {name: PictureStatistics(rows) for name in videos}
    for _, frame in zip(range(rows), frames, strict=False):
        for name, video in videos.items():
            picture = np.asarray(frame[name], np.uint8)
            video.add(picture)
            seen[name].add(picture)
    return {IMAGES + name: statistics.result() for name, statistics in seen.items()}
