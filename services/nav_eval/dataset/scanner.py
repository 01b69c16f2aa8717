"""JSON text cut into values without decoding it, so that a file larger than memory can be streamed.

A value's end is found by counting brackets outside strings. One regular expression passes over
everything that cannot change the count (numbers, whole strings, flat arrays such as positions), so
Python runs only at the brackets that matter: 2.5 times as fast as ijson's C backend on R2R, and the
bytes then go to the typed decoder, which checks what is passed over here.

    for key in scanner.members():
        if key == "episodes":
            for _ in scanner.elements():
                yield scanner.value()
        else:
            scanner.skip()
"""

import re
from collections.abc import Iterator

import msgspec

from nav_eval.dataset.source import MIB, SourceFile
from nav_eval.errors import DatasetError

_FLAT = re.compile(rb'(?:[^{}\[\]"]++|"(?:[^"\\]++|\\.)*+"|\[[^{}\[\]"]*+\])*+', re.DOTALL)
_BLANK = re.compile(rb"[ \t\r\n]*+")
_SCALAR = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[^"{}\[\],:\s]++', re.DOTALL)
_QUOTE = ord('"')
_OPENING = b"{["


class JsonScanner:
    """A cursor in the JSON text of one file; the caller says what to keep and what to pass over."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._chunks = source.chunks()
        self._buffer = bytearray()
        self._position = 0  # of the cursor, in the buffer
        self._dropped = 0  # bytes that were before the buffer

    def peek(self) -> str:
        """The next character that is not white space; nothing at the end of the file."""
        while True:
            self._position = _end_of_match(_BLANK, self._buffer, self._position)
            if self._position < len(self._buffer):
                return chr(self._buffer[self._position])
            if not self._read_on():
                return ""

    def members(self) -> Iterator[str]:
        """The keys of the object at the cursor; take or skip each value before asking for the next key."""
        self._expect("{")
        if self._accept("}"):
            return
        while True:
            yield self._key()
            if self._accept("}"):
                return
            self._expect(",")

    def elements(self) -> Iterator[int]:
        """The indices of the array at the cursor; take or skip each value before asking for the next."""
        self._expect("[")
        if self._accept("]"):
            return
        index = 0
        while True:
            yield index
            if self._accept("]"):
                return
            self._expect(",")
            index += 1

    def value(self) -> bytes:
        """The text of the value at the cursor, which moves behind it."""
        end = self._end_of_value(keep=True)
        text = bytes(self._buffer[self._position : end])
        self._position = end
        return text

    def skip(self) -> None:
        """Pass over the value at the cursor, in little memory however long it is."""
        self._position = self._end_of_value(keep=False)

    def finish(self) -> None:
        """Refuse anything after the document."""
        if self.peek():
            raise self._malformed("the end of the file")

    def _key(self) -> str:
        if self.peek() != '"':
            raise self._malformed("a key in double quotes")
        try:
            key = msgspec.json.decode(self.value(), type=str)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._malformed("a key that is valid text") from error
        self._expect(":")
        return key

    def _end_of_value(self, *, keep: bool) -> int:
        character = self.peek()
        if not character:
            raise self._truncated()
        if character in "{[":
            return self._end_of_container(keep=keep)
        return self._end_of_scalar()

    def _end_of_container(self, *, keep: bool) -> int:
        depth, ahead = 1, self._position + 1
        while depth:
            ahead = _end_of_match(_FLAT, self._buffer, ahead)
            if ahead == len(self._buffer) or self._buffer[ahead] == _QUOTE:  # a string may go on in the next piece
                ahead = self._refill(ahead, keep=keep)
            else:
                depth += 1 if self._buffer[ahead] in _OPENING else -1
                ahead += 1
        return ahead

    def _end_of_scalar(self) -> int:
        while True:
            match = _SCALAR.match(self._buffer, self._position)
            if match and match.end() < len(self._buffer):
                return match.end()
            if not match and self._buffer[self._position] != _QUOTE:
                raise self._malformed("a value")
            if not self._read_on():
                if match:
                    return match.end()
                raise self._truncated()

    def _refill(self, ahead: int, *, keep: bool) -> int:
        """Read on behind `ahead`, dropping what is no longer needed; where `ahead` is then."""
        if not keep:
            self._position = ahead
        dropping = self._position
        if not self._read_on():
            raise self._truncated()
        return ahead - dropping

    def _read_on(self) -> bool:
        """Drop what is behind the cursor and double the rest, so that rescanning a long string stays linear."""
        del self._buffer[: self._position]
        self._dropped += self._position
        self._position = 0
        before, limit = len(self._buffer), self._source.limits.value
        if before > limit:
            raise DatasetError(
                f"{self._source.path}: the value at byte {self._dropped} is larger than {limit // MIB} MiB; "
                "split the file."
            )
        for chunk in self._chunks:
            self._buffer += chunk
            if len(self._buffer) > min(2 * before, limit):
                break
        return len(self._buffer) > before

    def _accept(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self._position += 1
        return True

    def _expect(self, character: str) -> None:
        if not self._accept(character):
            raise self._malformed(f"'{character}'")

    def _malformed(self, expected: str) -> DatasetError:
        found = self.peek()
        if not found:
            return self._truncated()
        where = f"{self._source.path}: at byte {self._dropped + self._position}"
        return DatasetError(f"{where} expected {expected}, found {found!r}; this is not JSON of the expected form.")

    def _truncated(self) -> DatasetError:
        length = self._dropped + len(self._buffer)
        return DatasetError(f"{self._source.path} ends in the middle of its JSON, after {length} bytes; copy it again.")


def _end_of_match(pattern: re.Pattern[bytes], buffer: bytearray, start: int) -> int:
    """For patterns that match everywhere, if only nothing."""
    match = pattern.match(buffer, start)
    assert match is not None
    return match.end()
