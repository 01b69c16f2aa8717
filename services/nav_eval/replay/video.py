"""Camera pictures of an episode that is played again, one moment after the other.

A video is written as an MP4 that every browser plays: H.264, yuv420p, the index in front.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from nav_eval.action_log import parse_entry
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.errors import NavEvalError, UnknownName
from nav_eval.play import EpisodePlay
from nav_eval.records.results import EpisodeResult
from nav_eval.replay.model import Picture
from nav_eval.sensors import CameraSensor, DepthSensor, ImageGoalSensor, RgbSensor
from nav_eval.simulator.base import Observations, Simulator
from nav_eval.tasks import Task

CameraFrames = dict[str, NDArray[np.uint8]]  #: what each camera shows at one moment, in colour

MOST_VIEWS = 3  #: shown unless asked otherwise
SIDES = {1: 320, 2: 240}  #: pixels of the longer side when so few views share the page
LEAST_SIDE = 183  #: half of LH-VLN's cameras


@dataclass(frozen=True, kw_only=True, slots=True)
class PictureSize:
    """How large pictures are kept: 500 steps of three views at 183 pixels are about 6 MB, 8 MB in a page."""

    side: int | None = None  #: pixels of the longer side; None: by how many views share the page
    quality: int = 70  #: JPEG's

    def longest(self, views: int) -> int:
        return self.side or SIDES.get(views, LEAST_SIDE)


def choose_cameras(benchmark: BenchmarkConfig, robot: str | None, asked: Sequence[str] | None) -> list[str]:
    """The cameras to show: those asked for, or the colour ones (the others if there are none)."""
    suite = benchmark.sensors(benchmark.robot(robot).name)
    known = [name for name, config in suite.items() if isinstance(config, CameraSensor)]
    if asked is None:
        colour = [name for name in known if isinstance(suite[name], RgbSensor)]
        return (colour or known)[:MOST_VIEWS]
    unknown = sorted(set(asked) - set(known))
    if unknown:
        raise UnknownName(
            f"{benchmark.name} has no camera {unknown[0]!r}; it has {', '.join(known) or 'none'}. "
            "--sensors none leaves them out."
        )
    return list(asked)


def find_goal_cameras(benchmark: BenchmarkConfig, robot: str | None) -> list[str]:
    """The sensors that show the goal's picture (ImageNav)."""
    suite = benchmark.sensors(benchmark.robot(robot).name)
    return [name for name, config in suite.items() if isinstance(config, ImageGoalSensor)]


class CameraReplay:
    """Plays a log with the cameras on."""

    def __init__(self, benchmark: BenchmarkConfig, simulator: Simulator, *, task: Task, cameras: Sequence[str]) -> None:
        self._simulator = simulator
        self._task = task
        self._cameras = tuple(cameras)
        self._suites = {robot.name: benchmark.sensors(robot.name) for robot in benchmark.scenario_config.robots}
        self._benchmark = benchmark

    def goal_picture(self, episode: Episode) -> NDArray[np.uint8] | None:
        """What an image-goal agent is shown; None for all others."""
        names = find_goal_cameras(self._benchmark, episode.private.robot)
        if not names:
            return None
        seen = self._simulator.reset(episode, sensors=names[:1])
        picture = seen[names[0]]
        return picture if isinstance(picture, np.ndarray) else None

    def shots(self, episode: Episode, result: EpisodeResult, *, entries: int) -> Iterator[CameraFrames]:
        """The start, then what is seen after each of the first `entries` entries of the log."""
        play = EpisodePlay(episode, task=self._task, simulator=self._simulator, sensors=self._cameras)
        yield self._convert_views(episode, play.observations)
        for entry in result.actions[:entries]:
            play.apply(parse_entry(entry))
            yield self._convert_views(episode, play.observe())

    def _convert_views(self, episode: Episode, seen: Observations) -> CameraFrames:
        suite = self._suites[self._benchmark.robot(episode.private.robot).name]
        return {name: to_colour(seen[name], suite[name]) for name in self._cameras}


def to_colour(picture: object, sensor: object) -> NDArray[np.uint8]:
    """Any camera's picture as people look at it: far is dark, and every id has its colour."""
    pixels = np.asarray(picture)
    if isinstance(sensor, DepthSensor):
        low, high = (0.0, 1.0) if sensor.normalize else (sensor.min_depth, sensor.max_depth)
        grey = 255.0 * (1.0 - np.clip((pixels.astype(np.float64) - low) / (high - low), 0.0, 1.0))
        return np.repeat(grey.reshape(*pixels.shape[:2], 1).astype(np.uint8), 3, axis=2)
    if pixels.ndim == 3 and pixels.dtype == np.uint8:
        return pixels
    colours: NDArray[np.uint8] = _PALETTE[pixels.reshape(pixels.shape[:2]).astype(np.int64) % len(_PALETTE)]
    return colours


def shrink(picture: NDArray[np.uint8], side: int) -> Image.Image:
    """At most `side` pixels long; never enlarged."""
    image = Image.fromarray(picture)
    image.thumbnail((side, side), Image.Resampling.BOX, reducing_gap=None)
    return image


def encode_jpeg(image: Image.Image, *, quality: int) -> bytes:
    """The picture as a file."""
    file = BytesIO()
    image.save(file, "JPEG", quality=quality, optimize=True)
    return file.getvalue()


def encode_picture(picture: NDArray[np.uint8], size: PictureSize) -> Picture:
    """A picture as it is stored."""
    image = shrink(picture, size.longest(1))
    return Picture(data=encode_jpeg(image, quality=size.quality), width=image.width, height=image.height)


def _make_palette() -> NDArray[np.uint8]:
    """Black for nothing, then colours that neighbours in number do not share."""
    hues = (np.arange(1021) * 0.61803398875) % 1.0
    channels = [np.abs(((hues * 6.0 + shift) % 6.0) - 3.0) - 1.0 for shift in (0.0, 4.0, 2.0)]
    colours: NDArray[np.float64] = 60.0 + 180.0 * np.clip(np.stack(channels, axis=1), 0.0, 1.0)
    colours[0] = 0.0
    return colours.astype(np.uint8)


_PALETTE = _make_palette()


PRESET, CRF = "veryfast", "23"


class VideoMissing(NavEvalError):
    """Videos need PyAV: pip install 'nav-eval[video]'."""


def check_video() -> None:
    """Refuse now rather than after hours of evaluation."""
    try:
        import av  # noqa: F401
    except ImportError as error:
        raise VideoMissing from error


def write_video(path: Path, frames: Iterable[Image.Image], *, fps: int = 5) -> int:
    """Write frames of one size as they come; returns how many. The file appears when it is complete."""
    check_video()
    import av
    from av.video.frame import VideoFrame

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    count = 0
    try:
        with av.open(str(partial), "w", format="mp4", options={"movflags": "+faststart"}) as container:
            stream = None
            for image in frames:
                if stream is None:
                    stream = container.add_stream("libx264", rate=fps, options={"preset": PRESET, "crf": CRF})
                    stream.width, stream.height, stream.pix_fmt = image.width, image.height, "yuv420p"
                frame = VideoFrame.from_ndarray(np.asarray(image), format="rgb24")
                container.mux(stream.encode(frame))
                count += 1
            if stream is not None:
                container.mux(stream.encode(None))
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return count
