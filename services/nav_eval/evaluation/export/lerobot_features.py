"""Episodes as LeRobot's features: a row per action with what was there before it, videos, and statistics.

The last observation has no action and is left out; the stop is the last row. Actions are vectors of metres and
radians (a single index would load but not train), with the task's own number beside them. The statistics that LeRobot
normalises by are exact for numbers, and from a sample of pixels for pictures. Written with pyarrow and PyAV alone;
the layout is described in docs/trajectories.md.

Videos have a constant frame rate, exact time stamps and a key frame every second, so they can be entered anywhere.
They are encoded in a thread of their own, while the next picture is drawn; its short queue keeps memory bounded.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any, NamedTuple, Self

import av
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,import-not-found,unused-ignore]
from numpy.typing import NDArray

from nav_eval.dataset.action_vectors import STATE_NAMES, ActionVectors, compute_relative_states
from nav_eval.dataset.trajectory import Frames, Trajectory
from nav_eval.dataset.trajectory_hdf5 import make_sparse_rewards, parse_action
from nav_eval.errors import ConfigError, RecordError
from nav_eval.evaluation.export.exporters import ExportSetup
from nav_eval.sensors import RgbSensor

CODEC, PIXEL_FORMAT = "h264", "yuv420p"
_OPTIONS = {"crf": "23", "preset": "veryfast", "g": "2", "bf": "0", "threads": "1"}
MOST_QUEUED = 16  #: pictures


class VideoFailed(RecordError):
    """A video could not be written; the message says why."""


def pad_to_even(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Colour at half resolution needs even sizes: the last row or column is doubled where they are odd."""
    height, width = picture.shape[:2]
    if height % 2 == 0 and width % 2 == 0:
        return picture
    return np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


class VideoWriter:
    """One `.mp4`; pictures are height × width × 3, uint8, all of one size."""

    def __init__(self, path: Path, *, fps: int) -> None:
        self.path = path
        self.frames = 0
        self._fps = fps
        self._queue: Queue[NDArray[np.uint8] | None] = Queue(MOST_QUEUED)
        self._error: Exception | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        self._thread = Thread(target=self._encode_all, name=f"video {path.name}", daemon=True)
        self._thread.start()

    @property
    def seconds(self) -> float:
        """How long it is by now."""
        return self.frames / self._fps

    @property
    def nbytes(self) -> int:
        """How much of it is on disk; what is still being encoded is not."""
        return self.path.stat().st_size if self.path.exists() else 0

    def add(self, picture: NDArray[np.uint8]) -> None:
        """The next picture; it must not be changed afterwards."""
        if self._error is None:
            self._queue.put(pad_to_even(picture))
            self.frames += 1
        else:
            self.close()

    def close(self) -> None:
        """Finish the file; raises what went wrong in the thread."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        if self._error is not None:
            raise VideoFailed(f"Cannot write {self.path}: {self._error}.") from self._error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _encode_all(self) -> None:
        try:
            with av.open(str(self.path), "w", options={"movflags": "+faststart"}) as container:
                self._encode(container)
        except Exception as error:  # noqa: BLE001 - the end of a thread; close() raises it again
            self._error = error
            while self._queue.get() is not None:  # let whoever waits for room go on
                pass

    def _encode(self, container: Any) -> None:  # noqa: ANN401 - PyAV's
        stream: Any = None
        for number, picture in enumerate(self._iter_pictures()):
            if stream is None:
                stream = container.add_stream("libx264", rate=self._fps, options=_OPTIONS)
                stream.height, stream.width = picture.shape[:2]
                stream.pix_fmt = PIXEL_FORMAT
                stream.time_base = stream.codec_context.time_base = Fraction(1, self._fps)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, self._fps)
            container.mux(stream.encode(frame))
        if stream is not None:
            container.mux(stream.encode(None))

    def _iter_pictures(self) -> Iterator[NDArray[np.uint8]]:
        while (picture := self._queue.get()) is not None:
            yield picture


IMAGES = "observation.images."
SUBTASK = "subtask_index"
Columns = dict[str, NDArray[Any]]


class EpisodeIndex(NamedTuple):
    """Where an episode stands in its dataset."""

    episode: int
    first_row: int
    task: int


def make_columns(
    trajectory: Trajectory, place: EpisodeIndex, *, vectors: ActionVectors, fps: int, subtasks: Mapping[str, int]
) -> Columns:
    """Everything but the pictures."""
    actions = [parse_action(entry) for entry in trajectory.actions]
    count = len(actions)
    frame = np.arange(count, dtype=np.int64)
    done = np.zeros(count, np.bool_)
    done[-1:] = True
    columns: Columns = {
        "action": np.array([vectors.encode(*action) for action in actions], np.float32),
        "action.index": np.array([vectors.index(name) for name, _ in actions], np.int64),
        "observation.state": compute_relative_states(trajectory.positions, trajectory.yaws)[:-1],
        "next.reward": make_sparse_rewards(trajectory),
        "next.done": done,
        "timestamp": (frame / fps).astype(np.float32),
        "frame_index": frame,
        "episode_index": np.full(count, place.episode, np.int64),
        "index": place.first_row + frame,
        "task_index": np.full(count, place.task, np.int64),
    }
    if subtasks:
        columns[SUBTASK] = np.array([subtasks[text] for text in list_subtask_texts(trajectory)], np.int64)
    return columns


def list_subtask_texts(trajectory: Trajectory) -> list[str]:
    """Which sub-task each action belongs to; none for tasks without."""
    targets = [str(subtask["target"]) for subtask in trajectory.subtasks]
    texts, stage = [], 0
    for entry in trajectory.actions if targets else ():
        texts.append(targets[min(stage, len(targets) - 1)])
        stage += entry == "stop"
    return texts


def describe_features(setup: ExportSetup, *, with_subtasks: bool) -> dict[str, dict[str, Any]]:
    """What `info.json` says about the columns and the videos."""
    vectors = setup.vectors
    features: dict[str, dict[str, Any]] = {
        "action": _describe_feature("float32", len(vectors.names), list(vectors.names)),
        "action.index": _describe_feature("int64"),
        "observation.state": _describe_feature("float32", len(STATE_NAMES), list(STATE_NAMES)),
        "next.reward": _describe_feature("float32"),
        "next.done": _describe_feature("bool"),
        "timestamp": _describe_feature("float32"),
        **{name: _describe_feature("int64") for name in ("frame_index", "episode_index", "index", "task_index")},
    }
    if with_subtasks:
        features[SUBTASK] = _describe_feature("int64")
    return features | {IMAGES + name: _describe_video(setup, name) for name in setup.sensors}


def _describe_feature(dtype: str, size: int = 1, names: list[str] | None = None) -> dict[str, Any]:
    return {"dtype": dtype, "shape": [size], "names": names}


def _describe_video(setup: ExportSetup, name: str) -> dict[str, Any]:
    sensor = setup.benchmark.sensors()[name]
    if not isinstance(sensor, RgbSensor):
        raise ConfigError(
            f"LeRobot's videos hold colour; {name!r} is {sensor.kind}. Leave it out, or use --format hdf5 or minari."
        )
    height, width = sensor.height + sensor.height % 2, sensor.width + sensor.width % 2
    return {
        "dtype": "video",
        "shape": [height, width, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": height,
            "video.width": width,
            "video.codec": CODEC,
            "video.pix_fmt": PIXEL_FORMAT,
            "video.is_depth_map": False,
            "video.fps": setup.fps,
            "video.channels": 3,
            "has_audio": False,
        },
    }


_INDEX = "__index_level_0__"


def make_table(columns: Columns) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Numbers as scalars, vectors as lists of a fixed size."""
    return pa.table({name: _make_array(column) for name, column in columns.items()})


def write_table(table: Any, path: Path) -> None:  # noqa: ANN401
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd")


def write_texts(texts: Sequence[str], path: Path, *, column: str) -> None:
    """A pandas frame with the texts as its index and their numbers as its column, written without pandas."""
    numbers = pa.array(range(len(texts)), pa.int64())
    table = pa.table({column: numbers, _INDEX: pa.array(texts, pa.string())})
    write_table(table.replace_schema_metadata({"pandas": json.dumps(_make_pandas_metadata(column))}), path)


def _make_pandas_metadata(column: str) -> dict[str, Any]:
    def note(name: str | None, field: str, pandas: str, numpy: str) -> dict[str, Any]:
        return {"name": name, "field_name": field, "pandas_type": pandas, "numpy_type": numpy, "metadata": None}

    names = note(None, "None", "unicode", "object") | {"name": None, "metadata": {"encoding": "UTF-8"}}
    return {
        "index_columns": [_INDEX],
        "column_indexes": [names],
        "columns": [note(column, column, "int64", "int64"), note(None, _INDEX, "unicode", "object")],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.2.0",
    }


def _make_array(column: "np.ndarray[Any, Any]") -> Any:  # noqa: ANN401
    if column.ndim == 1:
        return pa.array(column)
    return pa.FixedSizeListArray.from_arrays(pa.array(column.reshape(-1)), column.shape[1])


QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
SAMPLED_FRAMES = 100  #: of an episode
SAMPLED_PIXELS = 150  #: of a picture's longer side
Statistics = dict[str, NDArray[Any]]


def compute_statistics(column: NDArray[Any]) -> Statistics:
    """Of the rows of one column; one value per number in a row."""
    rows = column.reshape(len(column), -1).astype(np.float64)
    return {
        "min": rows.min(axis=0),
        "max": rows.max(axis=0),
        "mean": rows.mean(axis=0),
        "std": rows.std(axis=0),
        "count": np.array([len(rows)]),
        **{name: np.quantile(rows, share, axis=0) for name, share in QUANTILES.items()},
    }


class PictureStatistics:
    """Of the pictures of one camera along one episode, as they go by; values are in [0, 1]."""

    def __init__(self, frames: int) -> None:
        self._every = max(1, frames // SAMPLED_FRAMES)
        self._seen = 0
        self._count = 0
        self._histogram = np.zeros((3, 256), np.int64)

    def add(self, picture: NDArray[np.uint8]) -> None:
        if self._seen % self._every == 0:
            stride = max(1, max(picture.shape[:2]) // SAMPLED_PIXELS)
            sample = picture[::stride, ::stride]
            for channel in range(3):
                self._histogram[channel] += np.bincount(sample[..., channel].ravel(), minlength=256)
            self._count += 1
        self._seen += 1

    def result(self) -> Statistics:
        levels = np.arange(256) / 255.0
        total = self._histogram.sum(axis=1)
        mean = self._histogram @ levels / total
        variance = self._histogram @ levels**2 / total - mean**2
        below = np.cumsum(self._histogram, axis=1) / total[:, None]
        values = {
            "min": levels[np.argmax(self._histogram > 0, axis=1)],
            "max": levels[255 - np.argmax(self._histogram[:, ::-1] > 0, axis=1)],
            "mean": mean,
            "std": np.sqrt(np.maximum(variance, 0.0)),
            **{name: levels[np.argmax(below >= share, axis=1)] for name, share in QUANTILES.items()},
        }
        return {**{name: value.reshape(3, 1, 1) for name, value in values.items()}, "count": np.array([self._count])}


def merge_statistics(parts: Sequence[Mapping[str, NDArray[Any]]]) -> Statistics:
    """Of several episodes as one; quantiles are the mean of the episodes', as LeRobot's own."""
    counts = np.array([float(part["count"][0]) for part in parts])
    weights = counts / counts.sum()

    def weigh(name: str) -> NDArray[Any]:
        return np.tensordot(weights, np.stack([part[name] for part in parts]), axes=1)

    mean = weigh("mean")
    spread = [part["std"] ** 2 + (part["mean"] - mean) ** 2 for part in parts]
    return {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": mean,
        "std": np.sqrt(np.tensordot(weights, np.stack(spread), axes=1)),
        "count": np.array([int(counts.sum())]),
        **{name: weigh(name) for name in QUANTILES},
    }


def to_json(statistics: Mapping[str, NDArray[Any]], *, names: Sequence[str] | None = None) -> dict[str, Any]:
    """As JSON has it."""
    return {name: value.tolist() for name, value in statistics.items() if names is None or name in names}


def write_frames(frames: Iterable[Frames], videos: Mapping[str, VideoWriter], *, rows: int) -> dict[str, Statistics]:
    """Add the first `rows` frames to the video of each camera; the statistics of each."""
    seen = {name: PictureStatistics(rows) for name in videos}
    for _, frame in zip(range(rows), frames, strict=False):
        for name, video in videos.items():
            picture = np.asarray(frame[name], np.uint8)
            video.add(picture)
            seen[name].add(picture)
    return {IMAGES + name: statistics.result() for name, statistics in seen.items()}
