"""Trajectories in JSON: a line each, or one document; and which form a file has."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from nav_eval.dataset.trajectory import Frames, Trajectory, TrajectoryFile, TrajectoryHead, TrajectorySource
from nav_eval.dataset.vectors import ActionVectors
from nav_eval.errors import RecordError

T = TypeVar("T")

SUFFIXES = (".jsonl", ".json", ".hdf5", ".h5")
LONGEST_LINE = 256 * 2**20  #: bytes of one trajectory; a longer line is not ours
LARGEST_DOCUMENT = 2 * 2**30  #: bytes; larger sets belong into .jsonl

_HEAD = msgspec.json.Decoder(TrajectoryHead)
_WHOLE = msgspec.json.Decoder(Trajectory)


class JsonLines:
    """A file with a trajectory per line. Only where the lines begin is kept in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def heads(self) -> Iterator[tuple[TrajectoryHead, tuple[int, int]]]:
        try:
            with self._path.open("rb") as file:
                at = 0
                for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=1):
                    if line.strip():
                        yield _decoded(_HEAD, line, f"{self._path} line {number}"), (at, len(line))
                    at += len(line)
        except OSError as error:
            raise RecordError(f"Cannot read {self._path}: {error.strerror}.") from error

    def load(self, key: tuple[int, int]) -> Trajectory:
        start, length = key
        with self._path.open("rb") as file:
            file.seek(start)
            return _decoded(_WHOLE, file.read(length), f"{self._path} at byte {start}")

    def frames(self, key: Any) -> Iterator[Frames]:  # noqa: ANN401 - JSON holds no pictures
        return iter(())


class JsonDocument:
    """A file that is one list of trajectories."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.stat().st_size > LARGEST_DOCUMENT:
            raise RecordError(f"{path} is larger than {LARGEST_DOCUMENT >> 30} GB; keep as many as .jsonl.")
        self._all = _decoded(msgspec.json.Decoder(list[Trajectory]), path.read_bytes(), str(path))

    def heads(self) -> Iterator[tuple[TrajectoryHead, int]]:
        return ((trajectory, index) for index, trajectory in enumerate(self._all))

    def load(self, key: int) -> Trajectory:
        return self._all[key]

    def frames(self, key: int) -> Iterator[Frames]:
        return iter(())


class JsonFile:
    """Writes either of the two."""

    def __init__(self, path: Path, *, as_lines: bool) -> None:
        self._file = path.open("wb")
        self._as_lines = as_lines
        self._separator = b"" if as_lines else b"[\n"

    def write(self, trajectory: Trajectory, frames: Iterable[Frames] = ()) -> None:
        """Frames are left out: JSON is no place for pictures."""
        if self._as_lines:
            self._file.write(msgspec.json.encode(trajectory) + b"\n")
            return
        self._file.write(self._separator + msgspec.json.encode(trajectory))
        self._separator = b",\n"

    def close(self) -> None:
        if not self._as_lines:
            self._file.write(b"[]" if self._separator == b"[\n" else b"\n]\n")
        self._file.close()


def sources_at(path: Path) -> list[TrajectorySource]:
    """What there is to read at a path."""
    if path.is_dir():
        if (path / "run.json").exists():
            raise RecordError(f"{path} is a run; open it with RunTrajectories, or export it: nav-eval export {path}.")
        files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and not file.name.startswith("."))
        if not files:
            raise RecordError(f"{path} holds no trajectories; they are in files that end in {', '.join(SUFFIXES)}.")
        return [_source(file) for file in files]
    if not path.exists():
        raise RecordError(f"There is no {path}.")
    return [_source(path)]


def open_for_writing(path: Path, *, form: str, vectors: ActionVectors | None, about: str) -> TrajectoryFile:
    """A file of the form that an ending names."""
    if form in (".hdf5", ".h5"):
        if vectors is None:
            raise RecordError("HDF5 holds actions as numbers; give `vectors` to the writer.")
        from nav_eval.dataset.trajectory_hdf5 import Hdf5File

        return Hdf5File(path, vectors=vectors, about=about)
    if form in (".jsonl", ".json"):
        return JsonFile(path, as_lines=form == ".jsonl")
    raise RecordError(f"Trajectories cannot be written as {form!r}; allowed endings are {', '.join(SUFFIXES)}.")


def _source(path: Path) -> TrajectorySource:
    if path.suffix in (".hdf5", ".h5"):
        from nav_eval.dataset.trajectory_hdf5 import Hdf5Source

        return Hdf5Source(path)
    if path.suffix == ".jsonl":
        return JsonLines(path)
    if path.suffix == ".json":
        return JsonDocument(path)
    raise RecordError(f"{path} is not a file of trajectories; allowed endings are {', '.join(SUFFIXES)}.")


def _decoded(decoder: "msgspec.json.Decoder[T]", data: bytes, where: str) -> T:
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"{where}: not a trajectory ({error}).") from error
