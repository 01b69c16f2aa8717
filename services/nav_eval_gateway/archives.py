"""Zip archives that are sent while they are made: nothing is kept but the file in hand.

Sizes and checksums follow each file (data descriptors), so that no file must be known before it is sent.
"""

import io
import time
import zipfile
from collections.abc import Iterable, Iterator

from nav_eval_store.export import ExportFile

ENOUGH = 1 << 16
"""Bytes that are worth sending."""


class _Pipe(io.RawIOBase):
    """Takes what the archive writes until somebody collects it. It cannot be sought in, and says so."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.waiting = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        part = bytes(data)  # type: ignore[call-overload]
        self._parts.append(part)
        self.waiting += len(part)
        return len(part)

    def collect(self) -> bytes:
        collected = b"".join(self._parts)
        self._parts, self.waiting = [], 0
        return collected


def zipped(files: Iterable[ExportFile]) -> Iterator[bytes]:
    """The archive of `files`, piece by piece."""
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for file in files:
            info = zipfile.ZipInfo(file.path, date_time=time.gmtime()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            with archive.open(info, "w", force_zip64=True) as entry:
                for chunk in file.chunks:
                    entry.write(chunk)
                    if pipe.waiting >= ENOUGH:
                        yield pipe.collect()
    yield pipe.collect()
