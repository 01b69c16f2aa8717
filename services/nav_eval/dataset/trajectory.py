"""Trajectory datasets: what agents did, kept to be learnt from, filtered and split.

A `Trajectory` is one episode as it was played. A `TrajectoryDataset` is many of them, of which only the heads
(who, where, how long, how well) are in memory; the rest is read when it is asked for. A `TrajectoryWriter`
puts them into a file: `.jsonl`, `.json`, or `.hdf5`, which also holds observations.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar, overload

import msgspec
from numpy.typing import NDArray

from nav_eval.dataset.action_vectors import ActionVectors
from nav_eval.dataset.trajectory_filter import Filter, Record
from nav_eval.errors import RecordError
from nav_eval.randomness import derive_seed
from nav_eval.records.geometry import Vec3, measure_distance

LoggedAction: TypeAlias = str | dict[str, Any]
"""The name alone, or `{"action": name, "action_args": {…}}`; an answer has `poses`, seven numbers each."""
Frames: TypeAlias = Mapping[str, NDArray[Any]]
"""The arrays of one moment, by sensor."""
Group: TypeAlias = Literal["episode", "scene"]


class TrajectoryHead(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one can choose by."""

    episode_id: str
    scene_id: str | None = None
    length: int = 0
    """Actions."""
    status: str = "completed"
    cause: str | None = None
    """Why it did not complete."""
    metrics: dict[str, bool | float | None] = {}
    instruction: str | None = None
    object_category: str | None = None
    success: bool = False
    metadata: dict[str, Any] = {}
    """Agent, benchmark, engine version and whatever else a run knows about itself."""

    def fields(self) -> Record:
        """What a filter may name; later ones win over a metric or a note of the same name."""
        return {
            **self.metadata,
            **self.metrics,
            "episode": self.episode_id,
            "scene": self.scene_id,
            "length": self.length,
            "status": self.status,
            "cause": self.cause,
            "instruction": self.instruction,
            "object_category": self.object_category,
            "success": self.success,
        }


class Trajectory(TrajectoryHead, frozen=True, kw_only=True, omit_defaults=True):
    """One episode as it was played. There is one more pose than there are actions: the start is the first."""

    actions: tuple[LoggedAction, ...] = ()
    positions: tuple[Vec3, ...] = ()
    yaws: tuple[float, ...] = ()
    """Radians to the left of −Z."""
    tilts: tuple[float, ...] = ()
    """Radians that the cameras look up; empty if they never did."""
    terminated: bool = True
    """The agent's own stop ended it, not the step limit or a fault."""
    subtasks: tuple[dict[str, Any], ...] = ()
    """Long-horizon tasks: what each was and how it went."""

    @property
    def path_length(self) -> float:
        """Metres."""
        return sum(measure_distance(a, b) for a, b in zip(self.positions, self.positions[1:], strict=False))


def describe_task(head: TrajectoryHead) -> str:
    """What the agent was told, in words."""
    if head.instruction:
        return head.instruction
    return f"Find: {head.object_category}" if head.object_category else "Go to the goal."


class TrajectorySource(Protocol):
    """Where trajectories are read from."""

    def heads(self) -> Iterable[tuple[TrajectoryHead, Any]]:
        """Every head with a key that `load` takes."""
        ...

    def load(self, key: Any) -> Trajectory:  # noqa: ANN401 - its own
        ...

    def frames(self, key: Any) -> Iterator[Frames]:  # noqa: ANN401
        """What was observed at each pose, where that was kept; otherwise nothing."""
        ...


class TrajectoryDataset(Sequence[Trajectory]):
    """Trajectories in their order, to be filtered and split."""

    def __init__(self, entries: Iterable[tuple[TrajectoryHead, TrajectorySource, Any]]) -> None:
        self._entries = list(entries)

    @classmethod
    def of(cls, *sources: TrajectorySource) -> Self:
        """All of several sources; of an episode that occurs again, the last."""
        entries = {head.episode_id: (head, source, key) for source in sources for head, key in source.heads()}
        return cls(entries.values())

    @classmethod
    def open(cls, path: Path) -> Self:
        """A `.jsonl`, `.json` or `.hdf5` file, or a folder of such."""
        pass

        return cls.of(*find_sources(path))

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Trajectory: ...
    @overload
    def __getitem__(self, index: slice) -> "TrajectoryDataset": ...
    def __getitem__(self, index: int | slice) -> "Trajectory | TrajectoryDataset":
        if isinstance(index, slice):
            return TrajectoryDataset(self._entries[index])
        _, source, key = self._entries[index]
        return source.load(key)

    @property
    def heads(self) -> list[TrajectoryHead]:
        return [head for head, _, _ in self._entries]

    @property
    def steps(self) -> int:
        return sum(head.length for head in self.heads)

    def frames(self, index: int) -> Iterator[Frames]:
        """What was observed at each pose of one trajectory, one moment at a time."""
        _, source, key = self._entries[index]
        return source.frames(key)

    def filter(self, where: str | Filter) -> "TrajectoryDataset":
        """Those for which an expression holds: `success and spl >= 0.8 and length < 200`."""
        wanted = Filter.parse(where) if isinstance(where, str) else where
        records = [head.fields() for head in self.heads]
        wanted.check({name for record in records for name in record})
        return TrajectoryDataset(
            entry for entry, record in zip(self._entries, records, strict=True) if wanted.matches(record)
        )

    def split(
        self, shares: Mapping[str, float], *, by: Group = "scene", seed: int = 0
    ) -> dict[str, "TrajectoryDataset"]:
        """Parts with about these shares of the trajectories; no scene, or no episode, is in two of them."""
        total = sum(shares.values())
        if not shares or min(shares.values()) < 0 or total <= 0:
            raise RecordError(f"Shares are {dict(shares)}; give at least one, none of them negative.")
        groups: dict[str, list[Any]] = {}
        for entry in self._entries:
            head = entry[0]
            groups.setdefault((head.scene_id or "") if by == "scene" else head.episode_id, []).append(entry)
        drawn = sorted(groups, key=lambda name: derive_seed(seed, "split", by, name))
        parts: dict[str, list[Any]] = {name: [] for name in shares}
        for group in drawn:  # to the part that is farthest below its share
            short = {name: share / total * len(self) - len(parts[name]) for name, share in shares.items()}
            parts[max(short, key=lambda name: short[name])] += groups[group]
        order = {id(entry): number for number, entry in enumerate(self._entries)}
        return {
            name: TrajectoryDataset(sorted(entries, key=lambda entry: order[id(entry)]))
            for name, entries in parts.items()
        }


class TrajectoryFile(Protocol):
    """One form of file."""

    def write(self, trajectory: Trajectory, frames: Iterable[Frames] = ()) -> None: ...

    def close(self) -> None: ...


class TrajectoryWriter:
    """Writes trajectories one after the other; the file is whole once the `with` block ends."""

    def __init__(self, path: Path, *, vectors: ActionVectors | None = None, about: str = "nav-eval") -> None:
        """`.hdf5` needs `vectors`, how actions are written as numbers; `about` names the benchmark there."""
        pass

        self._final = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._part = path.with_name(f".{path.name}.part")
        self._file: TrajectoryFile = open_for_writing(self._part, form=path.suffix, vectors=vectors, about=about)

    def write(self, trajectory: Trajectory, frames: Iterable[Frames] = ()) -> None:
        """Add one; `frames` are its observations, as many as poses."""
        self._file.write(trajectory, frames)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if error is None:
            self._part.replace(self._final)
        else:
            self._part.unlink(missing_ok=True)


T = TypeVar("T")

SUFFIXES = (".jsonl", ".json", ".hdf5", ".h5")
LONGEST_LINE = 256 * 2**20  #: bytes of one trajectory; a longer line is not ours
LARGEST_DOCUMENT = 2 * 2**30  #: bytes; larger sets belong into .jsonl

_HEAD = msgspec.json.Decoder(TrajectoryHead)
_WHOLE = msgspec.json.Decoder(Trajectory)


class JsonLinesSource:
    """A file with a trajectory per line. Only where the lines begin is kept in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def heads(self) -> Iterator[tuple[TrajectoryHead, tuple[int, int]]]:
        try:
            with self._path.open("rb") as file:
                at = 0
                for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=1):
                    if line.strip():
                        yield _decode_trajectory(_HEAD, line, f"{self._path} line {number}"), (at, len(line))
                    at += len(line)
        except OSError as error:
            raise RecordError(f"Cannot read {self._path}: {error.strerror}.") from error

    def load(self, key: tuple[int, int]) -> Trajectory:
        start, length = key
        with self._path.open("rb") as file:
            file.seek(start)
            return _decode_trajectory(_WHOLE, file.read(length), f"{self._path} at byte {start}")

    def frames(self, key: Any) -> Iterator[Frames]:  # noqa: ANN401 - JSON holds no pictures
        return iter(())


class JsonDocumentSource:
    """A file that is one list of trajectories."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.stat().st_size > LARGEST_DOCUMENT:
            raise RecordError(f"{path} is larger than {LARGEST_DOCUMENT >> 30} GB; keep as many as .jsonl.")
        self._all = _decode_trajectory(msgspec.json.Decoder(list[Trajectory]), path.read_bytes(), str(path))

    def heads(self) -> Iterator[tuple[TrajectoryHead, int]]:
        return ((trajectory, index) for index, trajectory in enumerate(self._all))

    def load(self, key: int) -> Trajectory:
        return self._all[key]

    def frames(self, key: int) -> Iterator[Frames]:
        return iter(())


class JsonTrajectoryFile:
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


def find_sources(path: Path) -> list[TrajectorySource]:
    """What there is to read at a path."""
    if path.is_dir():
        if (path / "run.json").exists():
            raise RecordError(f"{path} is a run; open it with RunTrajectories, or export it: nav-eval export {path}.")
        files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and not file.name.startswith("."))
        if not files:
            raise RecordError(f"{path} holds no trajectories; they are in files that end in {', '.join(SUFFIXES)}.")
        return [_open_source(file) for file in files]
    if not path.exists():
        raise RecordError(f"There is no {path}.")
    return [_open_source(path)]


def open_for_writing(path: Path, *, form: str, vectors: ActionVectors | None, about: str) -> TrajectoryFile:
    """A file of the form that an ending names."""
    if form in (".hdf5", ".h5"):
        if vectors is None:
            raise RecordError("HDF5 holds actions as numbers; give `vectors` to the writer.")
        from nav_eval.dataset.trajectory_hdf5 import Hdf5TrajectoryFile

        return Hdf5TrajectoryFile(path, vectors=vectors, about=about)
    if form in (".jsonl", ".json"):
        return JsonTrajectoryFile(path, as_lines=form == ".jsonl")
    raise RecordError(f"Trajectories cannot be written as {form!r}; allowed endings are {', '.join(SUFFIXES)}.")


def _open_source(path: Path) -> TrajectorySource:
    if path.suffix in (".hdf5", ".h5"):
        from nav_eval.dataset.trajectory_hdf5 import Hdf5Source

        return Hdf5Source(path)
    if path.suffix == ".jsonl":
        return JsonLinesSource(path)
    if path.suffix == ".json":
        return JsonDocumentSource(path)
    raise RecordError(f"{path} is not a file of trajectories; allowed endings are {', '.join(SUFFIXES)}.")


def _decode_trajectory(decoder: "msgspec.json.Decoder[T]", data: bytes, where: str) -> T:
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"{where}: not a trajectory ({error}).") from error
