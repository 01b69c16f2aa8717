"""Our own format: `nav_eval`. Episodes as `nav_eval.dataset.episode` defines them, nothing lost.

`.jsonl` holds one episode per line; `.json` holds `{"format": "nav_eval", "version": 1, "episodes": […]}`.
Either may be gzipped. A file that is written appears under its name only when it is complete, the same bytes every
time, and every episode is read back before it is written: what is written here, the loader accepts.
"""

import gzip
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Literal, NamedTuple

import msgspec

from nav_eval.dataset.episode import Episode, check_episode, check_episodes, check_goals
from nav_eval.dataset.json_file import MIB, SourceFile
from nav_eval.dataset.json_records import RecordPlace, decode_record, read_array
from nav_eval.dataset.loader import DatasetRequest, register_dataset
from nav_eval.errors import DatasetError

FORMAT, VERSION = "nav_eval", 1

_DECODER = msgspec.json.Decoder(Episode)


class _Document(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, gc=False):
    format: Literal["nav_eval"]
    version: Literal[1]
    episodes: list[Episode]


@register_dataset(FORMAT)
def load_native(request: DatasetRequest) -> Iterator[Episode]:
    """`.json`, `.jsonl` and their gzipped forms."""
    path = request.main_file()
    source = request.source(path)
    is_lines = ".jsonl" in path.suffixes[-2:]
    episodes = _read_lines(source) if is_lines else read_array(source, _Document, Episode)[1]
    return check_episodes(_check_goals_of(episodes, RecordPlace(path)), path)


def _check_goals_of(episodes: Iterator[Episode], file: RecordPlace) -> Iterator[Episode]:
    for episode in episodes:
        check_all_goals(episode, file)
        yield episode


def check_all_goals(episode: Episode, file: RecordPlace) -> None:
    """Goals of the episode and of its sub-tasks."""
    place = file.episode(episode.episode_id)
    check_goals(episode.goals, place)
    for subtask in episode.subtasks:
        check_goals(subtask.goals, place)


def _read_lines(source: SourceFile) -> Iterator[Episode]:
    file = RecordPlace(source.path)
    for number, line in enumerate(_split_lines(source), start=1):
        if line.strip():
            yield decode_record(line, _DECODER, place=file.at(f"line {number}"))


def _split_lines(source: SourceFile) -> Iterator[bytes]:
    pieces: list[bytes] = []
    for chunk in source.chunks():
        first, *others = chunk.split(b"\n")
        pieces.append(first)
        for line in others:
            yield b"".join(pieces)
            pieces = [line]
        if sum(map(len, pieces)) > source.limits.value:
            raise RecordPlace(source.path).refuse(f"a line is longer than {source.limits.value // MIB} MiB; split it.")
    yield b"".join(pieces)


_ENCODER = msgspec.json.Encoder(order="deterministic")
_SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


class _FileFrame(NamedTuple):
    """What stands around the episodes."""

    head: bytes
    separator: bytes
    tail: bytes


_LINES = _FileFrame(b"", b"\n", b"\n")
_DOCUMENT = _FileFrame(b'{"format":"%s","version":%d,"episodes":[\n' % (FORMAT.encode(), VERSION), b",\n", b"\n]}\n")


def check_ending(path: Path) -> None:
    """Whether episodes can be written there: better known before they are made."""
    if not path.name.endswith(_SUFFIXES):
        raise DatasetError(f"Cannot write episodes to {path}; allowed endings are {', '.join(_SUFFIXES)}.")


def write_episodes(path: Path, episodes: Iterable[Episode]) -> int:
    """Write `episodes` in the form that the file's ending names; how many there were."""
    check_ending(path)
    shape = _LINES if path.name.removesuffix(".gz").endswith(".jsonl") else _DOCUMENT
    count = 0
    with _open_unfinished(path) as file:
        file.write(shape.head)
        for count, encoded in enumerate(_encode_distinct(episodes, RecordPlace(path)), start=1):
            file.write(encoded if count == 1 else shape.separator + encoded)
        file.write(shape.tail)
    return count


def _encode_distinct(episodes: Iterable[Episode], file: RecordPlace) -> Iterator[bytes]:
    seen: set[str] = set()
    for episode in episodes:
        if episode.episode_id in seen:
            raise file.episode(episode.episode_id).refuse("occurs twice; ids must differ.")
        seen.add(episode.episode_id)
        yield _encode_episode(episode, file)


def _encode_episode(episode: Episode, file: RecordPlace) -> bytes:
    """NaN would be written as null: reading back finds that, and whatever else the loader would refuse."""
    encoded = _ENCODER.encode(episode)
    place = file.episode(episode.episode_id)
    decode_record(encoded, _DECODER, place=place)
    check_episode(episode, file)
    check_all_goals(episode, file)
    return encoded


@contextmanager
def _open_unfinished(path: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when it is whole, or leaves nothing behind."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield raw
        unfinished.replace(path)
    except OSError as error:
        raise DatasetError(f"Cannot write {path}: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            unfinished.unlink()
