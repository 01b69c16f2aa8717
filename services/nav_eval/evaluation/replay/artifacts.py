"""Videos and maps of a whole run, made after it: the evaluation is neither slowed nor changed by them."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.replay.drawing import FrameDrawing, MapDrawing
from nav_eval.evaluation.replay.model import Replay
from nav_eval.evaluation.replay.studio import Studio
from nav_eval.evaluation.replay.video import check_video, write_video

VIDEOS, MAPS = "videos", "maps"
GAP = 12  #: pixels between the storeys of a map


def check_wishes(benchmark: BenchmarkConfig) -> None:
    """Refuse what cannot be written before anything is played."""
    if benchmark.output.save_video:
        check_video()


def illustrate(run: Path, benchmark: BenchmarkConfig, *, cache: Path) -> list[Path]:
    """Write what `output.save_video` and `output.save_maps` ask for; files that are there are kept."""
    output = benchmark.output
    if not (output.save_video or output.save_maps):
        return []
    with Studio(run, cache=cache) as studio:
        return list(_illustrations(studio, run, videos=output.save_video, maps=output.save_maps))


def _illustrations(studio: Studio, run: Path, *, videos: bool, maps: bool) -> Iterator[Path]:
    for episode_id in studio.results:
        name = file_name(episode_id)
        video, picture = run / VIDEOS / f"{name}.mp4", run / MAPS / f"{name}.png"
        wanted = [path for path, asked in ((video, videos), (picture, maps)) if asked and not path.exists()]
        if not wanted:
            continue
        replay = studio.replay(episode_id)
        if picture in wanted:
            write_map(picture, replay)
        if video in wanted:
            write_replay_video(video, replay, studio)
        yield from wanted


def write_replay_video(path: Path, replay: Replay, studio: Studio, *, fps: int = 5) -> int:
    """Cameras, map and words, step by step."""
    drawing = FrameDrawing(replay)
    frames = (drawing.frame(number, shot) for number, shot in enumerate(studio.shots(replay)))
    return write_video(path, frames, fps=fps)


def write_map(path: Path, replay: Replay) -> None:
    """The storeys of an episode side by side, with the whole way on them."""
    storeys = [MapDrawing(replay, index).whole() for index in range(len(replay.floors))]
    size = (sum(s.width for s in storeys) + GAP * (len(storeys) - 1), max(s.height for s in storeys))
    sheet = Image.new("RGB", size, (255, 255, 255))
    left = 0
    for storey in storeys:
        sheet.paste(storey, (left, 0))
        left += storey.width + GAP
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path, optimize=True)


def file_name(episode_id: str) -> str:
    """A file name for any id: plain ids as they are, others made plain and told apart by a digest."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", episode_id):
        return episode_id
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", episode_id).strip("_")[:60]
    return f"{plain or 'episode'}-{hashlib.sha256(episode_id.encode()).hexdigest()[:12]}"
