"""Are the files of a run written as we write them?

Reading is lenient: 1 is read as 1.0, a key that nobody knows is skipped, of a key that stands twice the last one
counts. Other readers do otherwise, so that such a place could say what nothing has checked. Here each is a difference.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from nav_eval.errors import RecordError
from nav_eval.evaluation.differences import Difference, compare_stated
from nav_eval.evaluation.run_folder import EPISODES_FILE, MANIFEST_FILE, REPORT_FILE, RunManifest
from nav_eval.records.results import EpisodeResult, number_lines, read_bytes

FILES = (MANIFEST_FILE, EPISODES_FILE, REPORT_FILE)


def refuse_devices(run: Path) -> None:
    """A pipe or a device in the place of a file would be read for ever."""
    if not run.is_dir():
        raise RecordError(f"{run} is not the folder of a run; `nav-eval evaluate … --out FOLDER` makes one.")
    for file in (run / name for name in FILES):
        if file.exists() and not file.is_file():
            raise RecordError(f"{file} is not a file; put back the one that the run wrote.")


def list_other_files(run: Path) -> list[str]:
    """Files beside those of the run: nothing says where they come from."""
    return sorted(path.name for path in run.iterdir() if path.name not in FILES)


def find_odd_writing(run: Path) -> Iterator[Difference]:
    """Where a file could be read otherwise than we read it."""
    for file in (run / MANIFEST_FILE, run / REPORT_FILE):
        if file.exists():
            yield from _find_repeated(file.name, read_bytes(file), str(file))
    manifest = run / MANIFEST_FILE
    yield from _compare_writing(MANIFEST_FILE, read_bytes(manifest), RunManifest, str(manifest))
    episodes = run / EPISODES_FILE
    for number, line in number_lines(read_bytes(episodes)) if episodes.exists() else ():
        where = f"{EPISODES_FILE} line {number}"
        yield from _find_repeated(where, line, f"{episodes} line {number}")
        yield from _compare_writing(where, line, EpisodeResult, f"{episodes} line {number}")


def _find_repeated(where: str, document: bytes, path: str) -> Iterator[Difference]:
    """Keys that stand twice in an object."""
    repeated: list[str] = []

    def look(pairs: list[tuple[str, object]]) -> None:
        if len(dict(pairs)) != len(pairs):
            repeated.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)

    try:  # Python's whole numbers may have 4,300 digits
        json.loads(document.decode(), object_pairs_hook=look, parse_int=float)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{path}: not valid JSON ({error}).") from error
    for name in repeated:
        yield Difference(where=where, what=f"key {name}", stated="there twice", found="there once")


def _compare_writing(
    where: str, document: bytes, kind: type[RunManifest] | type[EpisodeResult], path: str
) -> Iterator[Difference]:
    """What stands there, and what we would write after reading it; a default may be left out or not."""
    try:  # NaN and halves of characters pass where Python reads
        stated: dict[str, Any] = msgspec.json.decode(document)
        found = msgspec.json.decode(msgspec.json.encode(msgspec.json.decode(document, type=kind)))
    except msgspec.MsgspecError as error:
        raise RecordError(f"{path}: not JSON as a run writes it ({error}).") from error
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    for key, value in stated.items():
        if key not in known:
            yield Difference(where=where, what=f"key {key}", stated="there", found="none")
        elif key in found:
            yield from compare_stated(where, key, value, found[key])
