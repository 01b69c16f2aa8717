"""Bytes on their way through: counted, decompressed, hashed, never held as a whole.

Each stage is a raw stream that pulls from the one below; `to_buffered` puts the standard library's
buffer on top, whose `read(n)` is exact and whose `peek` lets us look before we choose a reader.
"""

import hashlib
import io
import zlib
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

import zstandard

from nav_eval_worker.archives.errors import ArchiveDamaged, ArchiveInvalid
from nav_eval_worker.archives.limits import Budget

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CHUNK = 256 * 1024
_COMPRESSED_CHUNK = 16 * 1024  # small: zlib copies what is left of it after every gzip member
_ZSTD_WINDOW = 2**25  # what `zstd -20` asks for; the reader's memory


class Readable(Protocol):
    """Anything with `read`: a file, a socket's stream, one of our stages."""

    def read(self, size: int, /) -> bytes: ...


class Compression(StrEnum):
    """How a stream is packed."""

    NONE = "none"  #: as it is
    GZIP = "gzip"  #: one or more gzip members
    ZSTD = "zstd"  #: one or more zstd frames


_MAGIC = {b"\x1f\x8b": Compression.GZIP, b"\x28\xb5\x2f\xfd": Compression.ZSTD}
_UNSUPPORTED = {b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2", b"PK\x03\x04": "zip", b"7z\xbc\xaf": "7z"}


class PullStream(io.RawIOBase):
    """A raw stream whose `pull` hands out at most `size` bytes; b"" is the end."""

    def pull(self, size: int) -> bytes:
        raise NotImplementedError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        data = self.pull(len(view))
        view[: len(data)] = data
        return len(data)


def to_buffered(stage: io.RawIOBase) -> io.BufferedReader:
    return io.BufferedReader(stage, CHUNK)


class MeteredStream(PullStream):
    """Counts what passes, tells `spend`, and fills every request so that `peek` sees enough."""

    def __init__(self, source: Readable, *, budget: Budget, spend: Callable[[int], None]) -> None:
        self.count = 0
        self._source, self._budget, self._spend = source, budget, spend

    def pull(self, size: int) -> bytes:
        self._budget.check_time()
        data = self._source.read(size)
        while data and len(data) < size and (more := self._source.read(size - len(data))):
            data += more
        self.count += len(data)
        self._spend(len(data))
        return data


class GzipStream(PullStream):
    """Gzip, member after member; nothing but gzip members may follow."""

    def __init__(self, source: Readable, where: str) -> None:
        self._source, self._where = source, where
        self._pending = b""
        self._member = zlib.decompressobj(wbits=31)

    def pull(self, size: int) -> bytes:
        while True:
            if not self._pending and not self._refill():
                return b""
            if data := self._inflate(size):
                return data

    def _refill(self) -> bool:
        """Read on; the stream may end only between two members."""
        self._pending = self._source.read(_COMPRESSED_CHUNK)
        if not self._pending and not self._member.eof:
            raise ArchiveDamaged(f"{self._where} ends inside its gzip stream: upload it again, whole.")
        return bool(self._pending)

    def _inflate(self, size: int) -> bytes:
        if self._member.eof:
            self._member = zlib.decompressobj(wbits=31)
        try:
            data = self._member.decompress(self._pending, size)
        except zlib.error as error:
            raise ArchiveDamaged(f"{self._where} is no clean gzip stream ({error}): save it again.") from error
        self._pending = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        return data


class ZstdStream(PullStream):
    """Zstandard, frame after frame, with a window that we can afford."""

    def __init__(self, source: Readable, where: str) -> None:
        self._where = where
        decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._reader = decompressor.stream_reader(
            cast(BinaryIO, source), read_size=_COMPRESSED_CHUNK, read_across_frames=True, closefd=False
        )

    def pull(self, size: int) -> bytes:
        try:
            return self._reader.read(size)
        except zstandard.ZstdError as error:
            raise ArchiveDamaged(
                f"{self._where} is no clean zstd stream ({error}): compress it again, with `zstd -19` at most."
            ) from error


class HashingStream(PullStream):
    """Hashes what passes, and copies it where asked to."""

    def __init__(self, source: Readable, copy: BinaryIO | None = None) -> None:
        self.count = 0
        self._source, self._copy = source, copy
        self._hash = hashlib.sha256()

    def pull(self, size: int) -> bytes:
        data = self._source.read(size)
        self.count += len(data)
        self._hash.update(data)
        if self._copy is not None:
            self._copy.write(data)
        return data

    @property
    def digest(self) -> str:
        """`sha256:…` of all that has passed."""
        return f"sha256:{self._hash.hexdigest()}"


def detect_compression(head: bytes, where: str) -> Compression:
    """What the first bytes say; kinds that we do not read are refused by name."""
    for magic, name in _UNSUPPORTED.items():
        if head.startswith(magic):
            raise ArchiveInvalid(f"{where} is packed with {name}: use a plain, gzip or zstd archive instead.")
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), Compression.NONE)


def decompress(
    source: io.BufferedReader, *, where: str, budget: Budget, spend: str
) -> tuple[Compression, MeteredStream]:
    """SOURCE without its compression: what comes out is counted as SPEND and held against what went in."""
    compression = detect_compression(source.peek(16), where)
    packed = MeteredStream(source, budget=budget, spend=lambda _: None)
    openers: dict[Compression, Callable[[], Readable]] = {
        Compression.NONE: lambda: packed,
        Compression.GZIP: lambda: GzipStream(packed, where),
        Compression.ZSTD: lambda: ZstdStream(packed, where),
    }

    def count(amount: int) -> None:
        budget.spend(spend, amount)
        budget.check_ratio(packed=packed.count, unpacked=out.count)

    out = MeteredStream(openers[compression](), budget=budget, spend=count)
    return compression, out
