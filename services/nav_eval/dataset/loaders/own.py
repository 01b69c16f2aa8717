"""Our own format: `nav_eval`. Episodes as `nav_eval.dataset.episode` defines them, nothing lost.

`.jsonl` holds one episode per line; `.json` holds `{"format": "nav_eval", "version": 1, "episodes": […]}`.
Either may be gzipped. `nav_eval.dataset.writing` writes both.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from nav_eval.dataset.decoding import Place, decode
from nav_eval.dataset.document import read_array
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.registry import register_dataset
from nav_eval.dataset.request import DatasetRequest
from nav_eval.dataset.source import MIB, SourceFile
from nav_eval.dataset.validation import check_goals, checked

FORMAT, VERSION = "nav_eval", 1

_DECODER = msgspec.json.Decoder(Episode)


class _Document(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, gc=False):
    format: Literal["nav_eval"]
    version: Literal[1]
    episodes: list[Episode]


@register_dataset(FORMAT)
def load_own(request: DatasetRequest) -> Iterator[Episode]:
    """`.json`, `.jsonl` and their gzipped forms."""
    path = request.main_file()
    source = request.source(path)
    is_lines = ".jsonl" in path.suffixes[-2:]
    episodes = _read_lines(source) if is_lines else read_array(source, _Document, Episode)[1]
    return checked(_with_sound_goals(episodes, Place(path)), path)


def _with_sound_goals(episodes: Iterator[Episode], file: Place) -> Iterator[Episode]:
    for episode in episodes:
        check_all_goals(episode, file)
        yield episode


def check_all_goals(episode: Episode, file: Place) -> None:
    """Goals of the episode and of its sub-tasks."""
    place = file.episode(episode.episode_id)
    check_goals(episode.goals, place)
    for subtask in episode.subtasks:
        check_goals(subtask.goals, place)


def _read_lines(source: SourceFile) -> Iterator[Episode]:
    file = Place(source.path)
    for number, line in enumerate(_lines(source), start=1):
        if line.strip():
            yield decode(line, _DECODER, place=file.at(f"line {number}"))


def _lines(source: SourceFile) -> Iterator[bytes]:
    pieces: list[bytes] = []
    for chunk in source.chunks():
        first, *others = chunk.split(b"\n")
        pieces.append(first)
        for line in others:
            yield b"".join(pieces)
            pieces = [line]
        if sum(map(len, pieces)) > source.limits.value:
            raise Place(source.path).refuse(f"a line is longer than {source.limits.value // MIB} MiB; split it.")
    yield b"".join(pieces)
