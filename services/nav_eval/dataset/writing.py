"""Episodes to a file of our own format, one by one, and to the same bytes every time.

The file appears under its name only when it is complete, and every episode is read back before it is
written: what this module writes, the loader accepts.
"""

import gzip
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from nav_eval.dataset.decoding import Place, decode
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.loaders.own import FORMAT, VERSION, check_all_goals
from nav_eval.dataset.validation import check_episode
from nav_eval.errors import DatasetError

_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(Episode)
_SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


def write_episodes(path: Path, episodes: Iterable[Episode]) -> int:
    """Write `episodes` in the form that the file's ending names; how many there were."""
    if not path.name.endswith(_SUFFIXES):
        raise DatasetError(f"Cannot write episodes to {path}; allowed endings are {', '.join(_SUFFIXES)}.")
    lines = path.name.removesuffix(".gz").endswith(".jsonl")
    count = 0
    with _appearing(path) as file:
        file.write(
            b"" if lines else msgspec.json.encode({"format": FORMAT, "version": VERSION})[:-1] + b',"episodes":[\n'
        )
        for count, encoded in enumerate(_distinct(episodes, Place(path)), start=1):
            file.write(encoded if lines or count == 1 else b",\n" + encoded)
            file.write(b"\n" if lines else b"")
        file.write(b"" if lines else b"\n]}\n")
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
        unfinished.unlink(missing_ok=True)
