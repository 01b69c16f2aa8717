"""JSON in, typed records out, and a refusal that names file, record, field and value.

msgspec says where it failed only as a path into what it was given. Here that path is followed again,
slowly and only when something is wrong, to tell the reader which value it was.

Episode files are an object with one long array, or with many members. Small files are decoded in one call, which is
the fast way. Large files are walked value by value with bounded memory. A file that fails the fast way is walked as
well, because the slow way knows at which record it failed.
"""

import json
import math
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec

from nav_eval.dataset.json_file import MIB, JsonScanner, SourceFile
from nav_eval.errors import DatasetError

T = TypeVar("T")

DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_LOCATED = re.compile(r"(?P<problem>.*) - at `(?:key` in `)?\$(?P<path>.*)`", re.DOTALL)
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+)\]")
_NAMES = ("episode_id", "question_id", "id")
_LONGEST_VALUE = 80

PathStep = str | int
Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Where in a dataset something stands, for messages."""

    file: Path
    record: str = ""  #: "episode '7'"; nothing when the file as a whole is meant

    def at(self, record: str) -> "RecordPlace":
        return RecordPlace(self.file, record)

    def episode(self, episode_id: object) -> "RecordPlace":
        return RecordPlace(self.file, f"episode {str(episode_id)!r}")

    def refuse(self, problem: str) -> DatasetError:
        """The error to raise; the caller's sentence says what is allowed."""
        return DatasetError(": ".join(filter(None, (str(self.file), self.record, problem))))


def decode_record(data: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[T], *, place: RecordPlace) -> T:
    """The record in `data`, or a refusal that names what is wrong with it."""
    try:
        return decoder.decode(data)
    except DECODE_ERRORS as error:
        raise explain_error(error, bytes(data), place=place) from error


def explain_error(error: Exception, data: bytes, *, place: RecordPlace) -> DatasetError:
    """What to tell the reader about a failed decoding of `data`."""
    if isinstance(error, RecursionError):
        return place.refuse("is nested too deeply.")
    if isinstance(error, UnicodeDecodeError):
        return place.refuse("is not UTF-8 text.")
    try:
        tree = json.loads(data)  # lenient: takes the NaN and Infinity that Python itself writes
    except json.JSONDecodeError as malformed:
        return place.refuse(f"is not valid JSON at line {malformed.lineno} column {malformed.colno}: {malformed.msg}.")
    except RecursionError:
        return place.refuse("is nested too deeply.")
    except ValueError:
        return place.refuse(f"is not valid JSON: {error}.")
    return _explain_value(str(error), tree, place=_name_record(place, tree))


def _explain_value(message: str, tree: Json, *, place: RecordPlace) -> DatasetError:
    for steps, value in _find_non_finite(tree, []):
        return place.refuse(f"{_format_path(steps)} is {value}; only finite numbers are allowed.")
    located = _LOCATED.fullmatch(message)
    if located is None:
        return place.refuse(f"{_lower_first(message)}.")
    steps = list(_split_path(located["path"]))
    subject = f"{_format_path(steps)}{_format_value(tree, steps)}: " if steps else ""
    return place.refuse(f"{subject}{_lower_first(located['problem'])}.")


def _name_record(place: RecordPlace, tree: Json) -> RecordPlace:
    """A record that carries its own name is called by it."""
    named = tree.get("public", tree) if isinstance(tree, dict) else None
    if not isinstance(named, dict):
        return place
    name = next((named[key] for key in _NAMES if isinstance(named.get(key), str | int)), None)
    return place if name is None else place.episode(name)


def _split_path(path: str) -> Iterator[PathStep]:
    for step in _STEP.finditer(path.partition("[...]")[0]):  # a dict's values have no names in these paths
        yield step["field"] if step["index"] is None else int(step["index"])


def _format_path(steps: list[PathStep]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")


def _format_value(tree: Json, steps: list[PathStep]) -> str:
    """The value at the end of the path, unless it is a container: then the problem says enough."""
    try:
        for step in steps:
            tree = tree[step]
    except (KeyError, IndexError, TypeError):
        return ""
    if isinstance(tree, dict | list):
        return ""
    text = json.dumps(tree, ensure_ascii=False)
    return f" is {text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + '…'}"


def _find_non_finite(tree: Json, steps: list[PathStep]) -> Iterator[tuple[list[PathStep], str]]:
    if isinstance(tree, float) and not math.isfinite(tree):
        yield steps, json.dumps(tree)
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for step, child in children:
        yield from _find_non_finite(child, [*steps, step])


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


D = TypeVar("D", bound=msgspec.Struct)

RawMember = bytes | msgspec.Raw


def read_array(
    source: SourceFile, document_type: type[D], element_type: type[T], *, array: str = "episodes"
) -> tuple[D, Iterator[T]]:
    """The document, and the elements of its array one by one; when streamed, the document's own array is empty."""
    data = source.whole()
    if data is not None:
        try:
            document = msgspec.json.decode(data, type=document_type)
        except DECODE_ERRORS:
            pass  # walked below, to find out where
        else:
            return document, iter(getattr(document, array))
    return _read_header(source, document_type, array=array), _stream_array(source, element_type, array=array)


def read_members(source: SourceFile) -> Iterator[tuple[str, RawMember]]:
    """The members of the file's object, not yet decoded, in file order."""
    members = _read_members(source)
    return _stream_members(source) if members is None else iter(members.items())


def read_table(source: SourceFile) -> "MemberTable":
    """The members of the file's object by key, in bounded memory."""
    members = _read_members(source)
    return MembersOnDisk(_stream_members(source)) if members is None else members


def _read_members(source: SourceFile) -> dict[str, msgspec.Raw] | None:
    data = source.whole()
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except DECODE_ERRORS:
        return None


def _read_header(source: SourceFile, document_type: type[D], *, array: str) -> D:
    """Everything but the array, which may stand before or after the rest."""
    wanted = {field.encode_name for field in msgspec.structs.fields(document_type)}
    header: dict[str, msgspec.Raw] = {}
    scanner = JsonScanner(source)
    for key in scanner.members():
        if key == array:
            header[key] = msgspec.Raw(b"[]")
            scanner.skip()
        elif key in wanted:
            header[key] = msgspec.Raw(scanner.value())
        else:
            scanner.skip()
    scanner.finish()
    return decode_record(
        msgspec.json.encode(header), msgspec.json.Decoder(document_type), place=RecordPlace(source.path)
    )


def _stream_array(source: SourceFile, element_type: type[T], *, array: str) -> Iterator[T]:
    scanner, decoder, file = JsonScanner(source), msgspec.json.Decoder(element_type), RecordPlace(source.path)
    for key in scanner.members():
        if key != array:
            scanner.skip()
            continue
        for index in scanner.elements():
            yield decode_record(scanner.value(), decoder, place=file.at(f"{array}[{index}]"))


def _stream_members(source: SourceFile) -> Iterator[tuple[str, bytes]]:
    scanner = JsonScanner(source)
    for key in scanner.members():
        yield key, scanner.value()
    scanner.finish()


class MemberTable(Protocol):
    """Members by key, whatever holds them."""

    def get(self, key: str, /) -> RawMember | None: ...


class MembersOnDisk:
    """Members of a large file, looked up by key in any order: the text is on disk, only its places are in memory."""

    def __init__(self, members: Iterator[tuple[str, bytes]]) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 — lives as long as the table
        self._places: dict[str, tuple[int, int]] = {}
        try:
            for key, text in members:
                self._places[key] = (self._file.tell(), len(text))
                self._file.write(text)
        except OSError as error:
            folder = tempfile.gettempdir()
            raise DatasetError(f"Cannot unpack to {folder}: {error.strerror}; set TMPDIR to a larger disk.") from error

    def get(self, key: str, /) -> bytes | None:
        if key not in self._places:
            return None
        position, length = self._places[key]
        self._file.seek(position)
        return self._file.read(length)


def read_value(source: SourceFile, decoder: msgspec.json.Decoder[T]) -> T:
    """A file that is one small record."""
    data = source.whole()
    if data is None:
        raise RecordPlace(source.path).refuse(
            f"is larger than {source.limits.whole // MIB} MiB; such a record is small."
        )
    return decode_record(data, decoder, place=RecordPlace(source.path))
