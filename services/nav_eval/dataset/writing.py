"""Episodes to a file of our own format, one by one, and to the same bytes every time.

The file appears under its name only when it is complete, and every episode is read back before it is
written: what this module writes, the loader accepts.
"""

import gzip
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from nav_eval.dataset.decoding import Place, decode
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.loaders.own import FORMAT, VERSION, check_all_goals
from nav_eval.dataset.validation import check_episode
from nav_eval.errors import DatasetError

_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(Episode)
_SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


class _Shape(NamedTuple):
    """What stands around the episodes."""

    head: bytes
    separator: bytes
    tail: bytes


_LINES = _Shape(b"", b"\n", b"\n")
_DOCUMENT = _Shape(b'{"format":"%s","version":%d,"episodes":[\n' % (FORMAT.encode(), VERSION), b",\n", b"\n]}\n")


def write_episodes(path: Path, episodes: Iterable[Episode]) -> int:
    """Write `episodes` in the form that the file's ending names; how many there were."""
    if not path.name.endswith(_SUFFIXES):
        raise DatasetError(f"Cannot write episodes to {path}; allowed endings are {', '.join(_SUFFIXES)}.")
    shape = _LINES if path.name.removesuffix(".gz").endswith(".jsonl") else _DOCUMENT
    count = 0
    with _appearing(path) as file:
        file.write(shape.head)
        for count, encoded in enumerate(_distinct(episodes, Place(path)), start=1):
            file.write(encoded if count == 1 else shape.separator + encoded)
        file.write(shape.tail)
    return count


def _distinct(episodes: Iterable[Episode], file: Place) -> Iterator[bytes]:
    seen: set[str] = set()
    for episode in episodes:
        if episode.episode_id in seen:
            raise file.episode(episode.episode_id).refuse("occurs twice; ids must differ.")
        seen.add(episode.episode_id)
        yield _encode(episode, file)


def _encode(episode: Episode, file: Place) -> bytes:
    """NaN would be written as null: reading back finds that, and whatever else the loader would refuse."""
    encoded = _ENCODER.encode(episode)
    place = file.episode(episode.episode_id)
    decode(encoded, _DECODER, place=place)
    check_episode(episode, file)
    check_all_goals(episode, file)
    return encoded


@contextmanager
def _appearing(path: Path) -> Iterator[IO[bytes]]:
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
