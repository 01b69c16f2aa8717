"""One line of `episodes.jsonl`: how an episode ended and why, and every raw quantity that scoring needs.

An `EpisodeOutcome` is what statistics look at; an `EpisodeResult` adds what only replay and
verification need and what takes the space. Reading a file as outcomes skips the rest in C. Keys that
this version does not know are ignored, so that a newer runner's files stay readable. A `ResultLine` is a
line on its way from a simulator to the store: decoded once, where it arrives, and kept as it came.

A `Cause` says why an episode or a submission ended early, with what the team can do next. An agent's fault ends its
episode, which is scored as it stands; the run goes on. `infrastructure` is ours: retried, never scored, never charged
to a quota.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, BinaryIO, Self, TypeAlias, TypeVar

import msgspec

from nav_eval.errors import RecordError
from nav_eval.records.geometry import Vec3

Metres: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
"""A distance; NaN, infinite and negative ones are refused. Null says that there is none."""


class Cause(StrEnum):
    """What ended it."""

    IMAGE_INVALID = "image_invalid"  #: the upload is no image that we can run
    AGENT_START_TIMEOUT = "agent_start_timeout"  #: the agent did not become ready in time
    AGENT_CRASH = "agent_crash"  #: the agent's process ended, or its code raised an error
    AGENT_OOM = "agent_oom"  #: it asked for more memory than it may have
    AGENT_TIMEOUT = "agent_timeout"  #: no reply within the time for one reset, one action or the episode
    PROTOCOL_ERROR = "protocol_error"  #: the reply is not what agent.proto or the task allows
    CANCELLED = "cancelled"  #: the team or the organiser stopped it
    INFRASTRUCTURE = "infrastructure"  #: our fault: retried, never scored, never charged

    @property
    def advice(self) -> str:
        """One sentence that tells the team what to do next."""
        return _ADVICE[self]

    @property
    def is_ours(self) -> bool:
        """Retried, never scored, never charged to a quota."""
        return self is Cause.INFRASTRUCTURE


UNSCORED = frozenset({Cause.IMAGE_INVALID, Cause.CANCELLED, Cause.INFRASTRUCTURE})
"""Causes that say nothing about the agent's navigation: no episode ends in the means by them."""

_ADVICE = {
    Cause.IMAGE_INVALID: "Build for linux/amd64, save one image with `docker save`, and upload again.",
    Cause.AGENT_START_TIMEOUT: "Serve first and load weights afterwards; `nav-eval-sdk check` shows when it answers.",
    Cause.AGENT_CRASH: "Read the end of the agent's log, where the error stands; `nav-eval-sdk check` shows it too.",
    Cause.AGENT_OOM: "Lower the batch size or the model's size, or free what an episode leaves behind.",
    Cause.AGENT_TIMEOUT: "Make `reset` and `act` faster, or answer several actions at once; "
    "`nav-eval-sdk check` prints the times.",
    Cause.PROTOCOL_ERROR: "Run `nav-eval-sdk check` on the agent: it names the reply that is wrong and how to fix it.",
    Cause.CANCELLED: "Submit again when you are ready.",
    Cause.INFRASTRUCTURE: "Nothing: the evaluation is repeated by itself and your quota is untouched.",
}


LONGEST_LINE = 256 * 2**20
"""Bytes of one episode; a longer line is not ours."""


class EpisodeStatus(StrEnum):
    """How an episode ended."""

    COMPLETED = "completed"  #: by a stop or by the step limit
    FAILED = "failed"  #: by a fault; the cause says whose
    TIMEOUT = "timeout"  #: by the clock
    CANCELLED = "cancelled"  #: by a person


def get_status(cause: Cause | None) -> EpisodeStatus:
    """How an episode ended that this ended; None is its own end."""
    if cause is None:
        return EpisodeStatus.COMPLETED
    if cause is Cause.AGENT_TIMEOUT:
        return EpisodeStatus.TIMEOUT
    return EpisodeStatus.CANCELLED if cause is Cause.CANCELLED else EpisodeStatus.FAILED


@dataclass(frozen=True, kw_only=True, slots=True)
class SubtaskRecord:
    """What scoring needs to know about one sub-task, and nothing else."""

    success: bool  #: stopped strictly closer than the success distance
    oracle_success: bool  #: was that close at some step while active
    navigation_error: float | None  #: geodesic metres at the stop, or where the episode ended
    ground_truth_distance: float | None  #: the expert's metres (`documented`), or the distance when it began
    ground_truth_steps: int  #: expert actions; the CGT weight
    steps: int | None  #: actions taken, the stop included
    path_length: float | None = None  #: metres travelled; SPL is in steps where it is missing


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


REPLAY_FIELDS = ("trajectory", "actions", "randomization", "action_digest")
"""Keys that only replay and verification need, and that take the space."""
LONGEST_OUTCOME = 1 << 20
"""Bytes of a line without them."""
LONGEST_RESULT = 64 << 20
"""Bytes of a line that a worker takes from a simulator; no episode has so many steps."""


@dataclass(frozen=True, slots=True)
class ResultLine:
    """A line of episodes.jsonl as it came, with what everybody needs to know of it."""

    outcome: EpisodeOutcome
    cause: Cause | None  #: the outcome's, one of those that are known
    fields: Mapping[str, msgspec.Raw]  #: every key, unknown ones too, as it stands in the line

    @classmethod
    def from_bytes(cls, line: bytes) -> "ResultLine":
        """Decode what a simulator sent; the message of a refusal names the field."""
        if len(line) > LONGEST_RESULT:
            raise RecordError(f"A result has {len(line):,} bytes; no episode has so many steps.")
        try:
            fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
            _check_summary_size(sum(len(bytes(value)) for key, value in fields.items() if key not in REPLAY_FIELDS))
            outcome = _OUTCOMES.decode(line)
            cause = None if outcome.cause is None else msgspec.convert(outcome.cause, Cause)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RecordError(f"This is not a line of episodes.jsonl: {error}.") from error
        return cls(outcome, cause, fields)

    def with_cause(self, cause: Cause, detail: str) -> "ResultLine":
        """The same line, ended by something else than the simulator could know."""
        said = {"cause": msgspec.Raw(msgspec.json.encode(cause)), "detail": msgspec.Raw(msgspec.json.encode(detail))}
        outcome = msgspec.structs.replace(self.outcome, cause=cause.value, detail=detail)
        return ResultLine(outcome, cause, {**self.fields, **said})

    def to_bytes(self) -> bytes:
        """The whole line."""
        return msgspec.json.encode(self.fields)

    def to_summary(self) -> bytes:
        """The line without what only replay needs, as the store keeps it in a row."""
        return msgspec.json.encode({key: value for key, value in self.fields.items() if key not in REPLAY_FIELDS})


def decode_outcome(line: bytes | str) -> EpisodeOutcome:
    """What a line without its long parts says; the message of a refusal names the field."""
    _check_summary_size(len(line))
    try:
        return _OUTCOMES.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RecordError(f"This is not a line of episodes.jsonl: {error}.") from error


def _check_summary_size(size: int) -> None:
    if size > LONGEST_OUTCOME:
        raise RecordError(f"A result has {size:,} bytes; without trajectory and actions it must be under 1 MB.")


_OUTCOMES = msgspec.json.Decoder(EpisodeOutcome)

T = TypeVar("T")
OutcomeT = TypeVar("OutcomeT", bound=EpisodeOutcome)


def read_results(path: Path, kind: type[OutcomeT]) -> Iterator[OutcomeT]:
    """The records of a JSON-lines file, one at a time; blank lines are skipped, bad ones named."""
    decoder = msgspec.json.Decoder(kind)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=1):
                if len(line) == LONGEST_LINE:
                    limit = f"{LONGEST_LINE >> 20} MB"
                    raise RecordError(f"{path} line {number}: longer than {limit}; this is not an episodes.jsonl.")
                if line.strip():
                    yield _decode_record(decoder, line, where=f"{path} line {number}")
    except OSError as error:
        raise RecordError(f"Cannot read {path}: {error.strerror}.") from error


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
        self._file.write(encode_result(result) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def encode_result(result: EpisodeOutcome) -> bytes:
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


def read_lines(path: Path, record_type: type[T]) -> list[T]:
    """All records of a JSON-lines file; blank lines are skipped.

    Decoded in one call: 10⁵ lines in a second. Only when something is wrong are they walked, to find out where.
    """
    data = read_bytes(path)
    decoder = msgspec.json.Decoder(record_type)
    try:
        return decoder.decode_lines(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return [decode_line(text, record_type, where=f"{path} line {line}") for line, text in number_lines(data)]


def decode_line(line: bytes, record_type: type[T], *, where: str) -> T:
    """One record; the message of a refusal says where."""
    return _decode_record(msgspec.json.Decoder(record_type), line, where=where, takes_nan=True)


def read_document(path: Path, record_type: type[T]) -> T:
    """One JSON document."""
    return _decode_record(msgspec.json.Decoder(record_type), read_bytes(path), where=str(path), takes_nan=True)


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RecordError(f"Cannot read {path}: {error.strerror}.") from error


def number_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, with their numbers in the file."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            yield number, line


def _decode_record(decoder: msgspec.json.Decoder[T], data: bytes, *, where: str, takes_nan: bool = False) -> T:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise RecordError(f"{where}: {error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if takes_nan:
            return _decode_lenient(data, decoder.type, where=where, reason=str(error))
        raise RecordError(f"{where}: not valid JSON ({_explain_unreadable(data, str(error))}).") from error


def _explain_unreadable(data: bytes, reason: str) -> str:
    """What a file is instead of lines of JSON, where that can be seen."""
    if data.startswith(b"\x1f\x8b"):
        return "it is gzip: unpack it, if it holds the lines of a run"
    if data.startswith(b"\xef\xbb\xbf"):
        return "it begins with a byte-order mark: save it as UTF-8 without one"
    if b"NaN" in data or b"Infinity" in data:
        return "NaN and Infinity are not JSON; write null"
    if "truncated" in reason:
        return "it breaks off; `nav-eval evaluate` with the same --out goes on with a run that was cut off"
    return reason


def _decode_lenient(data: bytes, record_type: type[T], *, where: str, reason: str) -> T:
    """Python writes Infinity and NaN, which are not JSON; the record's own checks decide about them."""
    try:
        return msgspec.convert(json.loads(data), record_type)
    except msgspec.ValidationError as error:
        raise RecordError(f"{where}: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{where}: not valid JSON ({reason}).") from error


def require_unique_ids(ids: Iterable[str | int | None], *, path: object) -> None:
    """An episode that stands twice in a file would count twice."""
    known = [episode_id for episode_id in ids if episode_id is not None]
    if len(set(known)) == len(known):
        return
    twice, _ = Counter(known).most_common(1)[0]
    raise RecordError(f"{path}: episode {twice!r} occurs more than once; keep one line per episode.")
