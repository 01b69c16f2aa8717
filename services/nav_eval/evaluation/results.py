"""One line of `episodes.jsonl`: how an episode ended, and every raw quantity that scoring needs.

An `EpisodeOutcome` is what statistics look at; an `EpisodeResult` adds what only replay and
verification need and what takes the space. Reading a file as outcomes skips the rest in C. Keys that
this version does not know are ignored, so that a newer runner's files stay readable.
"""

import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, TypeVar

import msgspec

from nav_eval.dataset.episode import Vec3
from nav_eval.errors import RecordError
from nav_eval.metrics.lh_vln import SubtaskRecord

LONGEST_LINE = 256 * 2**20
"""Bytes of one episode; a longer line is not ours."""


class EpisodeStatus(StrEnum):
    """How an episode ended."""

    COMPLETED = "completed"  #: by a stop or by the step limit
    FAILED = "failed"  #: by a fault; the cause says whose
    TIMEOUT = "timeout"  #: by the clock
    CANCELLED = "cancelled"  #: by a person


class EpisodeOutcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What aggregation knows about one episode."""

    episode_id: str
    status: EpisodeStatus
    metrics: dict[str, bool | float | None]
    """Null where a metric has no value."""
    num_steps: int
    """Actions taken."""
    scene_id: str | None = None
    cause: str | None = None
    """Why it did not complete, one of the named causes; who reads it decides what to do next."""
    detail: str | None = None
    """The cause in a sentence."""
    subtasks: tuple[SubtaskRecord, ...] = ()
    instruction: str | None = None
    instruction_length: int | None = None
    """Words; stated where the instruction itself is private."""
    shortest_path_length: float | None = None
    """Geodesic metres from the start to the goal."""
    groups: dict[str, str | float] = {}
    """Further things to group by: `{"instruction_type": "imperative"}`."""
    timing: dict[str, float] = {}
    """Seconds by what they were spent on."""


class EpisodeResult(EpisodeOutcome, frozen=True, kw_only=True, omit_defaults=True):
    """Everything about one episode."""

    trajectory: tuple[Vec3, ...] | None = None
    actions: tuple[Any, ...] = ()
    """Names, or objects with arguments, one per step."""
    randomization: dict[str, Any] | None = None
    """What domain randomisation drew."""
    action_digest: str | None = None
    """The last link of the per-step hash chain."""


OutcomeT = TypeVar("OutcomeT", bound=EpisodeOutcome)


def read_results(path: Path, kind: type[OutcomeT]) -> Iterator[OutcomeT]:
    """The records of a JSON-lines file, one at a time; blank lines are skipped, bad ones named."""
    decoder = msgspec.json.Decoder(kind)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=1):
                if line.strip():
                    yield _decode(decoder, line, where=f"{path} line {number}")
    except OSError as error:
        raise RecordError(f"Cannot read {path}: {error.strerror}.") from error


def _decode(decoder: msgspec.json.Decoder[OutcomeT], line: bytes, *, where: str) -> OutcomeT:
    if len(line) == LONGEST_LINE:
        raise RecordError(f"{where}: longer than {LONGEST_LINE >> 20} MB; this is not an episodes.jsonl.")
    try:
        return decoder.decode(line)
    except msgspec.ValidationError as error:
        raise RecordError(f"{where}: {error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = "NaN and Infinity are not JSON; write null" if b"NaN" in line or b"Infinity" in line else str(error)
        raise RecordError(f"{where}: not valid JSON ({hint}).") from error


class ResultWriter:
    """Appends one line per episode, each on disk before the next begins.

    A run that was killed while writing leaves half a line; opening the file again removes it, because
    that episode never ended as far as anybody can tell.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("a+b")
        _drop_half_line(self._file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, result: EpisodeOutcome) -> None:
        if self._file is None:
            raise ValueError("A ResultWriter writes inside its `with` block.")
        self._file.write(encode(result) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def encode(result: EpisodeOutcome) -> bytes:
    """One line without its end; strict JSON, NaN and infinite numbers as null."""
    return msgspec.json.encode(result)


def _drop_half_line(file: BinaryIO, block: int = 1 << 16) -> None:
    end = position = file.seek(0, os.SEEK_END)
    while position > 0:
        start = max(0, position - block)
        file.seek(start)
        newline = file.read(position - start).rfind(b"\n")
        if newline >= 0:
            position = start + newline + 1
            break
        position = start
    if position < end:
        file.truncate(position)
    file.seek(0, os.SEEK_END)
