"""JSON lines in, typed records out, and every refusal names the line.

The whole file is decoded in one call, because that is what makes re-scoring 10⁵ lines a matter of a
second. Only when something is wrong is the file walked line by line, to find out where.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from nav_eval.errors import RecordError

T = TypeVar("T")


def read_lines(path: Path, record_type: type[T]) -> list[T]:
    """All records of a JSON-lines file; blank lines are skipped."""
    data = read_bytes(path)
    decoder = msgspec.json.Decoder(record_type)
    try:
        return decoder.decode_lines(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return [_decode(decoder, line, where=f"{path} line {number}") for number, line in numbered_lines(data)]


def read_document(path: Path, record_type: type[T]) -> T:
    """One JSON document."""
    return _decode(msgspec.json.Decoder(record_type), read_bytes(path), where=str(path))


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RecordError(f"Cannot read {path}: {error.strerror}.") from error


def numbered_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, with their numbers in the file."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            yield number, line


def _decode(decoder: msgspec.json.Decoder[T], data: bytes, *, where: str) -> T:
    try:
        return decoder.decode(data)
    except UnicodeDecodeError as error:
        raise RecordError(f"{where}: not UTF-8 text.") from error
    except msgspec.ValidationError as error:
        raise RecordError(f"{where}: {error}.") from error
    except msgspec.DecodeError as error:
        return _decode_lenient(data, decoder.type, where=where, reason=str(error))


def _decode_lenient(data: bytes, record_type: type[T], *, where: str, reason: str) -> T:
    """Python writes Infinity and NaN, which are not JSON; the record's own checks decide about them."""
    try:
        return msgspec.convert(json.loads(data), record_type)
    except msgspec.ValidationError as error:
        raise RecordError(f"{where}: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{where}: not valid JSON ({reason}).") from error
