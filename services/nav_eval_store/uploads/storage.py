"""How an upload grows: a file is written at its end; an object store gets one object per request.

Both answer the same three questions: how many bytes are safe, what is their digest, and how do they
become a blob. A digest is computed along the way; after a restart the bytes are read again.
"""

import fcntl
import hashlib
import os
import re
import shutil
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from nav_eval_store.errors import OffsetMismatch, UploadBusy, UploadTooLarge

CHUNK = 1 << 20
DIGESTS = 256
"""Uploads whose digest is computed along the way at the same time."""


class RunningDigests:
    """The sha256 of uploads so far, as long as this process has seen all their bytes in order."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[int, Any]] = OrderedDict()

    def begin(self, key: str, offset: int) -> Any:  # noqa: ANN401
        """A hash that has seen the first `offset` bytes; None where nobody has."""
        known_offset, digest = self._known.pop(key, (0, None))
        if offset == 0:
            return hashlib.sha256()
        return digest if known_offset == offset else None

    def end(self, key: str, offset: int, digest: Any) -> None:  # noqa: ANN401
        if digest is None:
            return
        self._known[key] = (offset, digest)
        while len(self._known) > DIGESTS:
            self._known.popitem(last=False)

    def value(self, key: str, length: int) -> str | None:
        offset, digest = self._known.get(key, (-1, None))
        return str(digest.hexdigest()) if offset == length else None

    def forget(self, key: str) -> None:
        self._known.pop(key, None)


class Appender:
    """The end of an upload, open for writing."""

    def __init__(self, file: IO[bytes], offset: int, *, limit: int | None, digest: Any) -> None:  # noqa: ANN401
        self._file = file
        self._limit = limit
        self._digest = digest
        self.offset = offset
        """Bytes so far."""
        self.undone = False
        """What this request wrote does not count."""

    def write(self, chunk: bytes) -> None:
        """Add bytes; those beyond the announced length are refused."""
        if self._limit is not None and self.offset + len(chunk) > self._limit:
            raise UploadTooLarge("More bytes than the {limit:,} that were announced.", limit=self._limit)
        self._file.write(chunk)
        if self._digest is not None:
            self._digest.update(chunk)
        self.offset += len(chunk)

    def undo(self) -> None:
        """Throw away what was written since `append`: its checksum was wrong."""
        self.undone = True


class FileUploadBackend:
    """A file that grows. Two requests never write at once: the second is told to wait."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._digests = RunningDigests()

    @contextmanager
    def append(self, key: str, offset: int, limit: int | None) -> Iterator[Appender]:
        path = self._root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o640), "r+b") as file:
            _lock(file)
            end = file.seek(0, os.SEEK_END)
            _refuse_elsewhere(offset, end)
            digest = self._digests.begin(key, offset)
            before = None if digest is None else digest.copy()
            appender = Appender(file, offset, limit=limit, digest=digest)
            try:
                yield appender
            finally:
                file.flush()
                if appender.undone:
                    file.truncate(offset)
                os.fsync(file.fileno())
                end, seen = (offset, before) if appender.undone else (appender.offset, digest)
                self._digests.end(key, end, seen)

    def offset(self, key: str) -> int:
        path = self._root / key
        return path.stat().st_size if path.exists() else 0

    def digest(self, key: str) -> str:
        known = self._digests.value(key, self.offset(key))
        if known is not None:
            return known
        with (self._root / key).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            self._digests.end(key, file.tell(), digest)  # whoever asks again does not wait again
        return digest.hexdigest()

    def keep(self, key: str, path: str) -> None:
        """A second name for the same bytes, or a copy where the file system has no such thing."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(self._root / key, target)
        except FileExistsError:
            return
        except OSError:
            temporary = target.with_name(f"{target.name}.{os.getpid()}")
            shutil.copyfile(self._root / key, temporary)
            temporary.replace(target)

    def discard(self, key: str) -> None:
        self._digests.forget(key)
        (self._root / key).unlink(missing_ok=True)


def _lock(file: IO[bytes]) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UploadBusy from error


def _refuse_elsewhere(offset: int, end: int) -> None:
    if offset != end:
        raise OffsetMismatch("The upload has {end:,} bytes; it cannot continue at {offset:,}.", end=end, offset=offset)


class MultipartUploadBackend:
    """One object per request, `key/part-<offset>`; the upload is as long as its parts follow one another."""

    _PART = re.compile(r"part-(\d{20})")

    def __init__(self, fs: Any, root: str) -> None:  # noqa: ANN401
        self._fs = fs
        self._root = root
        self._digests = RunningDigests()

    @contextmanager
    def append(self, key: str, offset: int, limit: int | None) -> Iterator[Appender]:
        _refuse_elsewhere(offset, self.offset(key))
        digest, part = self._digests.begin(key, offset), f"{self._root}/{key}/part-{offset:020d}"
        before = None if digest is None else digest.copy()
        appender = None
        try:
            with self._fs.open(part, "wb") as file:  # closed by errors, too: bytes stay
                appender = Appender(file, offset, limit=limit, digest=digest)
                yield appender
        finally:
            if appender is not None and appender.undone:
                self._fs.rm_file(part)
                self._digests.end(key, offset, before)
            elif appender is not None:
                self._digests.end(key, appender.offset, digest)

    def offset(self, key: str) -> int:
        return sum(size for _, size in self._parts(key))

    def digest(self, key: str) -> str:
        known = self._digests.value(key, self.offset(key))
        if known is not None:
            return known
        digest = hashlib.sha256()
        for chunk in self._bytes(key):
            digest.update(chunk)
        return digest.hexdigest()

    def keep(self, key: str, path: str) -> None:
        with self._fs.open(path, "wb") as file:
            for chunk in self._bytes(key):
                file.write(chunk)

    def discard(self, key: str) -> None:
        self._digests.forget(key)
        if self._fs.exists(f"{self._root}/{key}"):
            self._fs.rm(f"{self._root}/{key}", recursive=True)

    def _parts(self, key: str) -> list[tuple[str, int]]:
        """Path and size of the parts that follow one another from the start."""
        self._fs.invalidate_cache()
        try:
            entries = self._fs.ls(f"{self._root}/{key}", detail=True)
        except FileNotFoundError:
            return []
        found: list[tuple[str, int]] = []
        end = 0
        for entry in sorted(entries, key=lambda entry: str(entry["name"])):
            match = self._PART.fullmatch(str(entry["name"]).rsplit("/", 1)[-1])
            if match and int(match[1]) == end and entry["size"]:
                found.append((entry["name"], int(entry["size"])))
                end += int(entry["size"])
        return found

    def _bytes(self, key: str) -> Iterator[bytes]:
        for path, _ in self._parts(key):
            with self._fs.open(path, "rb") as file:
                while chunk := file.read(CHUNK):
                    yield chunk
