"""Bytes of an episode file, plain or gzip, never more of them than was agreed.

Episode files come from strangers: a few kilobytes of gzip can unfold to gigabytes, downloads end in
the middle, and a `.gz` may be a web page. All of that is settled here, so that those who parse see
only honest bytes.
"""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from nav_eval.errors import DatasetError

MIB = 1024 * 1024

_CHUNK = MIB // 4
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_RATIO_GRACE = 16 * MIB  # a small file may compress as well as it likes


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadLimits:
    """How much of a file may be in memory, and how much of it we read at all."""

    whole: int = 64 * MIB  #: documents up to this size are decoded in one piece; larger ones are streamed
    value: int = 256 * MIB  #: the largest single value held while streaming: an episode, the goals of a scene
    total: int = 16 * 1024 * MIB  #: unpacked bytes of one file
    ratio: int = 200  #: unpacked bytes per packed byte; episode files reach 5 to 40


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFile:
    """One JSON file on disk. Reading it again starts from the beginning."""

    path: Path
    limits: ReadLimits = ReadLimits()

    def whole(self) -> bytes | None:
        """All bytes of the file, or None when it is longer than `limits.whole`."""
        pieces, length = [], 0
        for piece in self.chunks():
            pieces.append(piece)
            length += len(piece)
            if length > self.limits.whole:
                return None
        return b"".join(pieces)

    def chunks(self) -> Iterator[bytes]:
        """The unpacked bytes, piece by piece."""
        try:
            with self.path.open("rb") as packed:
                yield from self._without_mark(self._bounded(packed))
        except EOFError as error:
            raise DatasetError(
                f"{self.path} ends in the middle of its gzip data; download or copy it again."
            ) from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise DatasetError(f"{self.path} is damaged: {error}; download or copy it again.") from error
        except OSError as error:
            raise DatasetError(f"Cannot read {self.path}: {error.strerror or error}.") from error

    def _bounded(self, packed: IO[bytes]) -> Iterator[bytes]:
        length = 0
        unpacked = self._unpacked(packed)
        while piece := unpacked.read(_CHUNK):
            length += len(piece)
            self._refuse_bomb(length, packed.tell())
            yield piece

    def _unpacked(self, packed: IO[bytes]) -> IO[bytes]:
        start = packed.read(64)
        packed.seek(0)
        if start.startswith(_GZIP_MAGIC):
            return gzip.GzipFile(fileobj=packed, mode="rb")  # type: ignore[return-value]
        if start.startswith(b"version https://git-lfs"):
            raise DatasetError(f"{self.path} is a Git LFS pointer, not the file itself; run `git lfs pull`.")
        if self.path.suffix == ".gz":
            raise DatasetError(
                f"{self.path} is not gzip: it begins with {start[:16]!r}. Download it again, or drop .gz."
            )
        return packed

    def _refuse_bomb(self, length: int, packed_length: int) -> None:
        if length > self.limits.total:
            raise DatasetError(f"{self.path} unpacks to more than {self.limits.total // MIB} MiB; split it.")
        if length > _RATIO_GRACE and length > self.limits.ratio * packed_length:
            raise DatasetError(
                f"{self.path} unpacks to more than {self.limits.ratio} times its size; "
                "no episode file does, so it is taken for a decompression bomb."
            )

    @staticmethod
    def _without_mark(pieces: Iterator[bytes]) -> Iterator[bytes]:
        first = next(pieces, b"")
        yield first.removeprefix(_BYTE_ORDER_MARK)
        yield from pieces
