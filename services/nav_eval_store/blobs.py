"""Blobs: images, results, replays and logs, in a directory or wherever fsspec reaches (S3, a hub, …).

What is written appears whole or not at all. Uploads grow at their end only; how that works depends
on the place (`uploads.storage`). Finished uploads are kept under the digest of their bytes, so that the
same image is stored once and can never change behind its name.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

import fsspec  # type: ignore[import-untyped]
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

from nav_eval_store import blob_keys
from nav_eval_store.errors import DigestMismatch, NotFound, OffsetMismatch
from nav_eval_store.uploads.storage import Appender, FileUploadBackend, MultipartUploadBackend

fsspec.register_implementation("hub", "nav_eval_store.blob_http.HubFileSystem", clobber=True)

CHUNK = 1 << 20
TEMPORARY = ".writing"
"""Folder of what is not whole yet; no key can begin with a dot."""
_serial = count()

Source = bytes | BinaryIO | Iterable[bytes]


class BlobInfo(NamedTuple):
    """What is known about a blob."""

    key: str
    size: int
    sha256: str | None = None
    """Hexadecimal; None where nobody has computed it."""


class BlobStore:
    """Bytes by name. `BlobStore("var/blobs")`, `BlobStore("s3://bucket/nav-eval")`."""

    def __init__(self, url: str | Path) -> None:
        self.url = str(url)
        self._fs, root = fsspec.core.url_to_fs(self.url, use_listings_cache=False)  # others write, too
        self._root = root.rstrip("/")
        self._local = isinstance(self._fs, LocalFileSystem)
        self._uploads = (
            FileUploadBackend(Path(self._root)) if self._local else MultipartUploadBackend(self._fs, self._root)
        )

    def put(self, key: str, source: Source) -> BlobInfo:
        """Store a blob; one of the same name is replaced."""
        path = self._path(key)
        digest, size = hashlib.sha256(), 0
        with self._whole_or_nothing(path) as file:
            for chunk in _read_chunks(source):
                digest.update(chunk)
                size += len(chunk)
                file.write(chunk)
        return BlobInfo(key, size, digest.hexdigest())

    def open(self, key: str) -> IO[bytes]:
        """A blob to read from; it can be sought in."""
        try:
            file: IO[bytes] = self._fs.open(self._path(key), "rb")
        except FileNotFoundError as error:
            raise NotFound("There is no blob {key!r}.", key=key) from error
        return file

    def get(self, key: str) -> bytes:
        """A whole blob; for small ones."""
        with self.open(key) as file:
            return file.read()

    def stream(self, key: str, *, start: int = 0, stop: int | None = None, chunk: int = CHUNK) -> Iterator[bytes]:
        """The bytes from `start` to before `stop`, a chunk at a time."""
        with self.open(key) as file:
            file.seek(start)
            left = (stop if stop is not None else self.size(key)) - start
            while left > 0 and (data := file.read(min(chunk, left))):
                left -= len(data)
                yield data

    def exists(self, key: str) -> bool:
        return bool(self._fs.isfile(self._path(key)))

    def size(self, key: str) -> int:
        try:
            return int(self._fs.size(self._path(key)))
        except FileNotFoundError as error:
            raise NotFound("There is no blob {key!r}.", key=key) from error

    def list(self, prefix: str = "") -> Iterator[BlobInfo]:
        """All blobs under a path (`logs/0b5d…`), in no particular order; what is half written is not there."""
        start = f"{self._root}/{blob_keys.check_key(prefix)}" if prefix else self._root
        if prefix and self._fs.isfile(start):
            yield BlobInfo(prefix, self.size(prefix))
            return
        for _, _, files in self._fs.walk(start, detail=True):
            for entry in files.values():
                key = str(entry["name"]).removeprefix(self._root).lstrip("/")
                if not key.startswith(TEMPORARY):
                    yield BlobInfo(key, int(entry["size"]))

    def find_modified(self, key: str) -> datetime | None:
        """When a blob was written, or last kept for somebody; None where there is none."""
        try:
            modified: datetime = self._fs.modified(self._path(key))
        except FileNotFoundError:
            return None
        return modified.astimezone(UTC)

    def _renew(self, key: str) -> bool:
        """Make a blob young, so that nobody takes it for forgotten; False where there is none."""
        if not self._local:
            return self.exists(key) and self._renew_object(key)
        try:
            os.utime(self._path(key))
        except FileNotFoundError:
            return False
        return True

    def _renew_object(self, key: str) -> bool:
        """An object store gives a new date to a copy alone."""
        try:
            self.put(key, self.stream(key))
        except NotFound:
            return False
        return True

    def measure_free(self) -> int | None:
        """Bytes that are left where blobs are kept; None where nobody can say. No inode left is no byte left."""
        if not self._local:
            return None
        place = Path(self._root)
        while not place.exists():
            place = place.parent
        state = os.statvfs(place)
        return state.f_bavail * state.f_frsize if state.f_favail or not state.f_files else 0

    def delete(self, key: str) -> None:
        """Remove a blob; one that is not there is fine."""
        try:
            self._fs.rm_file(self._path(key))
        except FileNotFoundError:
            return

    def delete_all(self, prefix: str) -> int:
        """Remove all blobs under a path; returns how many there were."""
        found = [blob.key for blob in self.list(prefix)]
        for key in found:
            self.delete(key)
        return len(found)

    def append(self, key: str, offset: int, *, limit: int | None = None) -> AbstractContextManager[Appender]:
        """Continue an upload at its end, `offset`; bytes beyond `limit` are refused.

        `with blobs.append(key, 0) as upload: upload.write(chunk)`. What was written when the block is left
        early, by an error or a cut connection, stays: the upload continues from there.
        """
        return self._uploads.append(blob_keys.check_key(key), offset, limit)

    def offset(self, key: str) -> int:
        """How many bytes of an upload are safe."""
        return self._uploads.offset(blob_keys.check_key(key))

    def finalise(self, key: str, into: str, *, length: int, sha256: str | None = None) -> BlobInfo:
        """Verify an upload and keep it as `into/<sha256>`; the upload itself stays until `discard`.

        So a crash in between loses nothing: to finalise again gives the same blob.
        """
        if (have := self._uploads.offset(key)) != length:
            raise OffsetMismatch("{have:,} of {length:,} bytes have arrived.", have=have, length=length)
        digest = self._uploads.digest(key)
        if sha256 is not None and sha256 != digest:
            raise DigestMismatch(
                "The archive has the sha256 {digest}, but {announced} was announced; upload it again.",
                digest=digest,
                announced=sha256,
            )
        target = blob_keys.join_key(into, digest)
        if not self._renew(target):
            self._uploads.keep(key, self._path(target))
            if self._local:  # a second name for the same bytes is as old as they are
                self._renew(target)
        return BlobInfo(target, length, digest)

    def discard(self, key: str) -> None:
        """Forget an upload, finished or not."""
        self._uploads.discard(blob_keys.check_key(key))

    def _path(self, key: str) -> str:
        return f"{self._root}/{blob_keys.check_key(key)}"

    def _whole_or_nothing(self, path: str) -> AbstractContextManager[IO[bytes]]:
        if self._local:
            return _AtomicFile(Path(path), Path(self._root) / TEMPORARY)
        return _AtomicObject(lambda: self._fs.open(path, "wb"))


class _AtomicFile:
    """A file that gets its name when it is complete and on disk."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path = path
        self._temporary = folder / f"{os.getpid()}-{next(_serial)}-{path.name[:80]}"

    def __enter__(self) -> IO[bytes]:
        self._temporary.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._temporary.open("wb")
        return self._file

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._file:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
        if kind is not None:
            self._temporary.unlink(missing_ok=True)
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._temporary.replace(self._path)


class _AtomicObject:
    """An object store shows an object when it is closed; an error must not close it."""

    def __init__(self, open_: Callable[[], IO[bytes]]) -> None:
        self._open = open_

    def __enter__(self) -> IO[bytes]:
        self._file = self._open()
        return self._file

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._file.close()
        elif hasattr(self._file, "discard"):
            self._file.discard()
            self._file.closed = True  # type: ignore[misc]  # or its end would try to complete it after all


def _read_chunks(source: Source) -> Iterable[bytes]:
    if isinstance(source, bytes | bytearray | memoryview):
        return (bytes(source),)
    if hasattr(source, "read"):
        return iter(lambda: source.read(CHUNK), b"")
    return source
