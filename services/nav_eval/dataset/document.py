"""Documents of the shape that episode files have: an object with one long array, or with many members.

Small files are decoded in one call, which is the fast way. Large files are walked value by value
with bounded memory. A file that fails the fast way is walked as well, because the slow way knows at
which record it failed.
"""

import tempfile
from collections.abc import Iterator
from typing import Protocol, TypeVar

import msgspec

from nav_eval.dataset.decoding import DECODE_ERRORS, Place, decode
from nav_eval.dataset.scanner import JsonScanner
from nav_eval.dataset.source import MIB, SourceFile
from nav_eval.errors import DatasetError

D = TypeVar("D", bound=msgspec.Struct)
T = TypeVar("T")

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
    members = _members_in_memory(source)
    return _stream_members(source) if members is None else iter(members.items())


def read_table(source: SourceFile) -> "MemberTable":
    """The members of the file's object by key, in bounded memory."""
    members = _members_in_memory(source)
    return MembersOnDisk(_stream_members(source)) if members is None else members


def _members_in_memory(source: SourceFile) -> dict[str, msgspec.Raw] | None:
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
    return decode(msgspec.json.encode(header), msgspec.json.Decoder(document_type), place=Place(source.path))


def _stream_array(source: SourceFile, element_type: type[T], *, array: str) -> Iterator[T]:
    scanner, decoder, file = JsonScanner(source), msgspec.json.Decoder(element_type), Place(source.path)
    for key in scanner.members():
        if key != array:
            scanner.skip()
            continue
        for index in scanner.elements():
            yield decode(scanner.value(), decoder, place=file.at(f"{array}[{index}]"))


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
        raise Place(source.path).refuse(f"is larger than {source.limits.whole // MIB} MiB; such a record is small.")
    return decode(data, decoder, place=Place(source.path))
