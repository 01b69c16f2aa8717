"""LeRobotDataset v3.0: many episodes to a file, both of rows and of pictures."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,import-not-found,unused-ignore]

from nav_eval.dataset.trajectory import Trajectory, task_text
from nav_eval.evaluation.export.lerobot import statistics
from nav_eval.evaluation.export.lerobot.columns import (
    IMAGES,
    Columns,
    Place,
    columns_of,
    features_of,
    subtask_texts,
)
from nav_eval.evaluation.export.lerobot.pictures import film
from nav_eval.evaluation.export.lerobot.tables import table_of, write_table, write_texts
from nav_eval.evaluation.export.registry import Exported, ExportSetup
from nav_eval.evaluation.export.video import VideoWriter

VERSION = "v3.0"
CHUNK = 1000  #: files to a folder
DATA_MB, VIDEO_MB = 100, 200
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"


def write(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    dataset = _Dataset(setup)
    try:
        for trajectory, frames in episodes:
            dataset.add(trajectory, frames)
    finally:
        dataset.close_files()
    dataset.write_meta()


class _Numbered:
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


class _Rows:
    """The parquet files."""

    def __init__(self, root: Path) -> None:
        self.files = _Numbered(root, DATA_PATH)
        self._writer: Any = None
        self._path = root

    def add(self, columns: Columns) -> None:
        table = table_of(columns)
        if self._writer is None or self._path.stat().st_size > DATA_MB * 2**20:
            self.close()
            self._path = self.files.next()
            self._writer = pq.ParquetWriter(self._path, table.schema, compression="zstd")
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class _Film:
    """The videos of one camera."""

    def __init__(self, root: Path, key: str, fps: int) -> None:
        self.files = _Numbered(root, VIDEO_PATH, video_key=key)
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


class _Dataset:
    def __init__(self, setup: ExportSetup) -> None:
        self._setup = setup
        self._root = setup.out
        self._root.mkdir(parents=True)
        self._vectors = setup.vectors
        self._with_subtasks = setup.benchmark.task.type == "lh_vln"
        self._features = features_of(setup, with_subtasks=self._with_subtasks)
        self._rows = _Rows(self._root)
        self._films = {name: _Film(self._root, IMAGES + name, setup.fps) for name in setup.sensors}
        self._tasks: dict[str, int] = {}
        self._subtasks: dict[str, int] = {}
        self._episodes: list[dict[str, Any]] = []
        self._statistics: dict[str, list[statistics.Statistics]] = {}
        self._count = 0  #: rows

    def add(self, trajectory: Trajectory, frames: Iterable[Any]) -> None:
        task = self._tasks.setdefault(task_text(trajectory), len(self._tasks))
        for text in subtask_texts(trajectory):
            self._subtasks.setdefault(text, len(self._subtasks))
        place = Place(episode=len(self._episodes), first_row=self._count, task=task)
        columns = columns_of(trajectory, place, vectors=self._vectors, fps=self._setup.fps, subtasks=self._subtasks)
        self._rows.add(columns)
        spans, seen = self._film(frames, rows=len(trajectory.actions))
        found = {name: statistics.of_column(column) for name, column in columns.items()} | seen
        for name, value in found.items():
            self._statistics.setdefault(name, []).append(value)
        self._episodes.append(self._row(trajectory, place) | spans | _flat(found))
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
        overall = {name: statistics.plain(statistics.together(parts)) for name, parts in self._statistics.items()}
        (meta / "stats.json").write_text(json.dumps(overall, indent=2))
        (meta / "info.json").write_text(json.dumps(self._info(), indent=2))

    def _film(self, frames: Iterable[Any], *, rows: int) -> tuple[dict[str, Any], dict[str, statistics.Statistics]]:
        """Where in which video the episode is, and what its pictures are like."""
        videos = {name: film_.open() for name, film_ in self._films.items()}
        starts = {name: video.seconds for name, video in videos.items()}
        seen = film(frames, videos, rows=rows)
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

    def _row(self, trajectory: Trajectory, place: Place) -> dict[str, Any]:
        chunk, file = self._rows.files.indices
        metrics = {f"metrics/{name}": _number(value) for name, value in trajectory.metrics.items()}
        return {
            "episode_index": place.episode,
            "tasks": [task_text(trajectory)],
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

    def _info(self) -> dict[str, Any]:
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


def _flat(found: dict[str, statistics.Statistics]) -> dict[str, Any]:
    return {f"stats/{name}/{key}": value.tolist() for name, part in found.items() for key, value in part.items()}


def _number(value: bool | float | None) -> float | None:
    return None if value is None else float(value)
