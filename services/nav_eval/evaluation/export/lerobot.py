"""LeRobotDataset v3.0, with many episodes to a file, and v2.1, with one each: what openpi and GR00T train on."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,import-not-found,unused-ignore]

from nav_eval.dataset.action_vectors import STATE_NAMES
from nav_eval.dataset.trajectory import Trajectory, describe_task
from nav_eval.evaluation.export import lerobot_features
from nav_eval.evaluation.export.exporters import Exported, ExportSetup
from nav_eval.evaluation.export.lerobot_features import (
    IMAGES,
    Columns,
    EpisodeIndex,
    VideoWriter,
    describe_features,
    list_subtask_texts,
    make_columns,
    make_table,
    write_frames,
    write_table,
    write_texts,
)

VERSION = "v3.0"
CHUNK = 1000  #: files to a folder
DATA_MB, VIDEO_MB = 100, 200
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"


def write_v3(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    dataset = _DatasetV3(setup)
    try:
        for trajectory, frames in episodes:
            dataset.add(trajectory, frames)
    finally:
        dataset.close_files()
    dataset.write_meta()


class _FileSeries:
    """A series of files: number 1000 of a chunk is number 0 of the next."""

    def __init__(self, root: Path, pattern: str, **names: str) -> None:
        self._root, self._pattern, self._names = root, pattern, names
        self.number = -1

    @property
    def indices(self) -> tuple[int, int]:
        return divmod(self.number, CHUNK)

    def next(self) -> Path:
        self.number += 1
        chunk, file = self.indices
        path = self._root / self._pattern.format(chunk_index=chunk, file_index=file, **self._names)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


class _ParquetFiles:
    """The parquet files."""

    def __init__(self, root: Path) -> None:
        self.files = _FileSeries(root, DATA_PATH)
        self._writer: Any = None
        self._path = root

    def add(self, columns: Columns) -> None:
        table = make_table(columns)
        if self._writer is None or self._path.stat().st_size > DATA_MB * 2**20:
            self.close()
            self._path = self.files.next()
            self._writer = pq.ParquetWriter(self._path, table.schema, compression="zstd")
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class _CameraVideos:
    """The videos of one camera."""

    def __init__(self, root: Path, key: str, fps: int) -> None:
        self.files = _FileSeries(root, VIDEO_PATH, video_key=key)
        self._fps = fps
        self.video: VideoWriter | None = None

    def open(self) -> VideoWriter:
        """Where the next episode goes."""
        if self.video is None or self.video.nbytes > VIDEO_MB * 2**20:
            self.close()
            self.video = VideoWriter(self.files.next(), fps=self._fps)
        return self.video

    def close(self) -> None:
        if self.video is not None:
            video, self.video = self.video, None
            video.close()


class _DatasetV3:
    def __init__(self, setup: ExportSetup) -> None:
        self._setup = setup
        self._root = setup.out
        self._root.mkdir(parents=True)
        self._vectors = setup.vectors
        self._with_subtasks = setup.benchmark.task.type == "lh_vln"
        self._features = describe_features(setup, with_subtasks=self._with_subtasks)
        self._rows = _ParquetFiles(self._root)
        self._films = {name: _CameraVideos(self._root, IMAGES + name, setup.fps) for name in setup.sensors}
        self._tasks: dict[str, int] = {}
        self._subtasks: dict[str, int] = {}
        self._episodes: list[dict[str, Any]] = []
        self._statistics: dict[str, list[lerobot_features.Statistics]] = {}
        self._count = 0  #: rows

    def add(self, trajectory: Trajectory, frames: Iterable[Any]) -> None:
        task = self._tasks.setdefault(describe_task(trajectory), len(self._tasks))
        for text in list_subtask_texts(trajectory):
            self._subtasks.setdefault(text, len(self._subtasks))
        place = EpisodeIndex(episode=len(self._episodes), first_row=self._count, task=task)
        columns = make_columns(trajectory, place, vectors=self._vectors, fps=self._setup.fps, subtasks=self._subtasks)
        self._rows.add(columns)
        spans, seen = self._write_videos(frames, rows=len(trajectory.actions))
        found = {name: lerobot_features.compute_statistics(column) for name, column in columns.items()} | seen
        for name, value in found.items():
            self._statistics.setdefault(name, []).append(value)
        self._episodes.append(self._make_row(trajectory, place) | spans | _flatten(found))
        self._count += len(trajectory.actions)

    def close_files(self) -> None:
        self._rows.close()
        for film_ in self._films.values():
            film_.close()

    def write_meta(self) -> None:
        meta = self._root / "meta"
        write_texts(list(self._tasks), meta / "tasks.parquet", column="task_index")
        if self._subtasks:
            write_texts(list(self._subtasks), meta / "subtasks.parquet", column="subtask_index")
        episodes = self._root / EPISODES_PATH.format(chunk_index=0, file_index=0)
        write_table(pa.Table.from_pylist(self._episodes), episodes)
        overall = {
            name: lerobot_features.to_json(lerobot_features.merge_statistics(parts))
            for name, parts in self._statistics.items()
        }
        (meta / "stats.json").write_text(json.dumps(overall, indent=2))
        (meta / "info.json").write_text(json.dumps(self._make_info(), indent=2))

    def _write_videos(
        self, frames: Iterable[Any], *, rows: int
    ) -> tuple[dict[str, Any], dict[str, lerobot_features.Statistics]]:
        """Where in which video the episode is, and what its pictures are like."""
        videos = {name: film_.open() for name, film_ in self._films.items()}
        starts = {name: video.seconds for name, video in videos.items()}
        seen = write_frames(frames, videos, rows=rows)
        spans: dict[str, Any] = {}
        for name, film_ in self._films.items():
            chunk, file = film_.files.indices
            spans |= {
                f"videos/{IMAGES}{name}/chunk_index": chunk,
                f"videos/{IMAGES}{name}/file_index": file,
                f"videos/{IMAGES}{name}/from_timestamp": starts[name],
                f"videos/{IMAGES}{name}/to_timestamp": videos[name].seconds,
            }
        return spans, seen

    def _make_row(self, trajectory: Trajectory, place: EpisodeIndex) -> dict[str, Any]:
        chunk, file = self._rows.files.indices
        metrics = {f"metrics/{name}": _to_float(value) for name, value in trajectory.metrics.items()}
        return {
            "episode_index": place.episode,
            "tasks": [describe_task(trajectory)],
            "length": len(trajectory.actions),
            "data/chunk_index": chunk,
            "data/file_index": file,
            "dataset_from_index": place.first_row,
            "dataset_to_index": place.first_row + len(trajectory.actions),
            "meta/episodes/chunk_index": 0,
            "meta/episodes/file_index": 0,
            "episode_id": trajectory.episode_id,
            "scene_id": trajectory.scene_id,
            "success": trajectory.success,
            **metrics,
        }

    def _make_info(self) -> dict[str, Any]:
        return {
            "codebase_version": VERSION,
            "robot_type": self._setup.benchmark.robot().name,
            "total_episodes": len(self._episodes),
            "total_frames": self._count,
            "total_tasks": len(self._tasks),
            "chunks_size": CHUNK,
            "data_files_size_in_mb": DATA_MB,
            "video_files_size_in_mb": VIDEO_MB,
            "fps": self._setup.fps,
            "splits": {"train": f"0:{len(self._episodes)}"},
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH if self._films else None,
            "features": self._features,
            "nav_eval": {"benchmark": self._setup.benchmark.name, **self._setup.about},
        }


def _flatten(found: dict[str, lerobot_features.Statistics]) -> dict[str, Any]:
    return {f"stats/{name}/{key}": value.tolist() for name, part in found.items() for key, value in part.items()}


def _to_float(value: bool | float | None) -> float | None:
    return None if value is None else float(value)


VERSION_21 = "v2.1"
CHUNK_21 = 1000  #: episodes to a folder
DATA_PATH_21 = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
VIDEO_PATH_21 = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
_KEPT = ("min", "max", "mean", "std", "count")


def write_v21(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    dataset = _DatasetV21(setup)
    for trajectory, frames in episodes:
        dataset.add(trajectory, frames)
    dataset.write_meta()


class _DatasetV21:
    def __init__(self, setup: ExportSetup) -> None:
        self._setup = setup
        self._root = setup.out
        (self._root / "meta").mkdir(parents=True)
        self._vectors = setup.vectors
        self._features = describe_features(setup, with_subtasks=False)
        self._tasks: dict[str, int] = {}
        self._count = self._rows = 0  #: episodes and rows so far

    def add(self, trajectory: Trajectory, frames: Iterable[Any]) -> None:
        task = self._tasks.setdefault(describe_task(trajectory), len(self._tasks))
        place = EpisodeIndex(episode=self._count, first_row=self._rows, task=task)
        columns = make_columns(trajectory, place, vectors=self._vectors, fps=self._setup.fps, subtasks={})
        write_table(make_table(columns), self._root / DATA_PATH_21.format(**self._names))
        found = {name: lerobot_features.compute_statistics(column) for name, column in columns.items()}
        found |= self._write_videos(frames, rows=len(trajectory.actions))
        self._append_episode(trajectory, found)
        self._count, self._rows = self._count + 1, self._rows + len(trajectory.actions)

    def write_meta(self) -> None:
        tasks = [{"task_index": number, "task": text} for text, number in self._tasks.items()]
        (self._root / "meta/tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
        (self._root / "meta/info.json").write_text(json.dumps(self._make_info(), indent=2))
        (self._root / "meta/modality.json").write_text(json.dumps(self._make_modality(), indent=2))

    @property
    def _names(self) -> dict[str, int]:
        return {"episode_chunk": self._count // CHUNK_21, "episode_index": self._count}

    def _write_videos(self, frames: Iterable[Any], *, rows: int) -> dict[str, lerobot_features.Statistics]:
        videos = {
            name: VideoWriter(
                self._root / VIDEO_PATH_21.format(video_key=IMAGES + name, **self._names), fps=self._setup.fps
            )
            for name in self._setup.sensors
        }
        try:
            return write_frames(frames, videos, rows=rows)
        finally:
            for video in videos.values():
                video.close()

    def _append_episode(self, trajectory: Trajectory, found: dict[str, lerobot_features.Statistics]) -> None:
        """The lines of this episode; written as it ends, so that memory does not grow with the dataset."""
        line = {"episode_index": self._count, "tasks": [describe_task(trajectory)], "length": len(trajectory.actions)}
        extra = {"episode_id": trajectory.episode_id, "scene_id": trajectory.scene_id, "success": trajectory.success}
        stats = {name: lerobot_features.to_json(part, names=_KEPT) for name, part in found.items()}
        self._append("episodes.jsonl", line | extra)
        self._append("episodes_stats.jsonl", {"episode_index": self._count, "stats": stats})

    def _append(self, name: str, line: dict[str, Any]) -> None:
        with (self._root / "meta" / name).open("a") as file:
            file.write(json.dumps(line) + "\n")

    def _make_info(self) -> dict[str, Any]:
        return {
            "codebase_version": VERSION_21,
            "robot_type": self._setup.benchmark.robot().name,
            "total_episodes": self._count,
            "total_frames": self._rows,
            "total_tasks": len(self._tasks),
            "total_videos": self._count * len(self._setup.sensors),
            "total_chunks": -(-self._count // CHUNK_21),
            "chunks_size": CHUNK_21,
            "fps": self._setup.fps,
            "splits": {"train": f"0:{self._count}"},
            "data_path": DATA_PATH_21,
            "video_path": VIDEO_PATH_21 if self._setup.sensors else None,
            "features": self._features,
        }

    def _make_modality(self) -> dict[str, Any]:
        """How GR00T names the parts."""
        return {
            "state": {"pose": {"start": 0, "end": len(STATE_NAMES)}},
            "action": {"motion": {"start": 0, "end": len(self._vectors.names)}},
            "video": {name: {"original_key": IMAGES + name} for name in self._setup.sensors},
            "annotation": {"human.task_description": {"original_key": "task_index"}},
        }
