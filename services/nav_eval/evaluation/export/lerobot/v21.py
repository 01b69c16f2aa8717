"""LeRobotDataset v2.1, one file per episode: what openpi and GR00T train on."""

import json
from collections.abc import Iterable
from typing import Any

from nav_eval.dataset.trajectory import Trajectory, task_text
from nav_eval.dataset.vectors import STATE_NAMES
from nav_eval.evaluation.export.lerobot import statistics
from nav_eval.evaluation.export.lerobot.columns import IMAGES, Place, columns_of, features_of
from nav_eval.evaluation.export.lerobot.pictures import film
from nav_eval.evaluation.export.lerobot.tables import table_of, write_table
from nav_eval.evaluation.export.registry import Exported, ExportSetup
from nav_eval.evaluation.export.video import VideoWriter

VERSION = "v2.1"
CHUNK = 1000  #: episodes to a folder
DATA_PATH = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
VIDEO_PATH = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
_KEPT = ("min", "max", "mean", "std", "count")


def write(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    dataset = _Dataset(setup)
    for trajectory, frames in episodes:
        dataset.add(trajectory, frames)
    dataset.write_meta()


class _Dataset:
    def __init__(self, setup: ExportSetup) -> None:
        self._setup = setup
        self._root = setup.out
        (self._root / "meta").mkdir(parents=True)
        self._vectors = setup.vectors
        self._features = features_of(setup, with_subtasks=False)
        self._tasks: dict[str, int] = {}
        self._count = self._rows = 0  #: episodes and rows so far

    def add(self, trajectory: Trajectory, frames: Iterable[Any]) -> None:
        task = self._tasks.setdefault(task_text(trajectory), len(self._tasks))
        place = Place(episode=self._count, first_row=self._rows, task=task)
        columns = columns_of(trajectory, place, vectors=self._vectors, fps=self._setup.fps, subtasks={})
        write_table(table_of(columns), self._root / DATA_PATH.format(**self._names))
        found = {name: statistics.of_column(column) for name, column in columns.items()}
        found |= self._film(frames, rows=len(trajectory.actions))
        self._note(trajectory, found)
        self._count, self._rows = self._count + 1, self._rows + len(trajectory.actions)

    def write_meta(self) -> None:
        tasks = [{"task_index": number, "task": text} for text, number in self._tasks.items()]
        (self._root / "meta/tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
        (self._root / "meta/info.json").write_text(json.dumps(self._info(), indent=2))
        (self._root / "meta/modality.json").write_text(json.dumps(self._modality(), indent=2))

    @property
    def _names(self) -> dict[str, int]:
        return {"episode_chunk": self._count // CHUNK, "episode_index": self._count}

    def _film(self, frames: Iterable[Any], *, rows: int) -> dict[str, statistics.Statistics]:
        videos = {
            name: VideoWriter(
                self._root / VIDEO_PATH.format(video_key=IMAGES + name, **self._names), fps=self._setup.fps
            )
            for name in self._setup.sensors
        }
        try:
            return film(frames, videos, rows=rows)
        finally:
            for video in videos.values():
                video.close()

    def _note(self, trajectory: Trajectory, found: dict[str, statistics.Statistics]) -> None:
        """The lines of this episode; written as it ends, so that memory does not grow with the dataset."""
        line = {"episode_index": self._count, "tasks": [task_text(trajectory)], "length": len(trajectory.actions)}
        extra = {"episode_id": trajectory.episode_id, "scene_id": trajectory.scene_id, "success": trajectory.success}
        stats = {name: statistics.plain(part, names=_KEPT) for name, part in found.items()}
        self._append("episodes.jsonl", line | extra)
        self._append("episodes_stats.jsonl", {"episode_index": self._count, "stats": stats})

    def _append(self, name: str, line: dict[str, Any]) -> None:
        with (self._root / "meta" / name).open("a") as file:
            file.write(json.dumps(line) + "\n")

    def _info(self) -> dict[str, Any]:
        return {
            "codebase_version": VERSION,
            "robot_type": self._setup.benchmark.robot().name,
            "total_episodes": self._count,
            "total_frames": self._rows,
            "total_tasks": len(self._tasks),
            "total_videos": self._count * len(self._setup.sensors),
            "total_chunks": -(-self._count // CHUNK),
            "chunks_size": CHUNK,
            "fps": self._setup.fps,
            "splits": {"train": f"0:{self._count}"},
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH if self._setup.sensors else None,
            "features": self._features,
        }

    def _modality(self) -> dict[str, Any]:
        """How GR00T names the parts."""
        return {
            "state": {"pose": {"start": 0, "end": len(STATE_NAMES)}},
            "action": {"motion": {"start": 0, "end": len(self._vectors.names)}},
            "video": {name: {"original_key": IMAGES + name} for name in self._setup.sensors},
            "annotation": {"human.task_description": {"original_key": "task_index"}},
        }
