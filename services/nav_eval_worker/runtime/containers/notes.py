"""What a worker remembers about things it keeps on an engine: one small file each, named by digest, touched when used.

An engine does not tell when an image or a volume was last used; the time of its note does. A note is written before
the thing itself is made, so that a killed worker leaves nothing that nobody knows.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

YOUNG_SECONDS = 3600.0
"""What was used or made so lately is not dropped: somebody is probably still at it."""

FOREIGN_SECONDS = 86_400.0
"""What nobody here has a note of may be that of a worker with another folder; after so long it is an orphan's."""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """About one image, or one set of weights."""

    volumes: tuple[str, ...] = ()
    """VOLUME paths of an upload; the image that we wrote has none."""
    unpacked_bytes: int = 0


class Notes:
    """The notes of one kind, in a folder of the worker."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, digest: str) -> Note | None:
        try:
            return msgspec.json.decode(self._file(digest).read_bytes(), type=Note)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def write(self, digest: str, note: Note) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self._file(digest)
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(msgspec.json.encode(note))
        part.replace(file)

    def touch(self, digest: str) -> None:
        with suppress(FileNotFoundError):
            os.utime(self._file(digest))

    def remove(self, digest: str) -> None:
        self._file(digest).unlink(missing_ok=True)

    def known(self) -> set[str]:
        return {f"sha256:{file.stem}" for file in self._files()}

    def beyond(self, limit: int, *, now: float) -> list[tuple[str, int]]:
        """What does not fit into LIMIT bytes beside what was used later, with its size; the longest unused first."""
        ages = sorted(self._used(), key=lambda entry: entry[1], reverse=True)
        kept, found = 0, []
        for digest, used, size in ages:
            if kept + size > limit and now - used > YOUNG_SECONDS:
                found.append((digest, size))
            else:
                kept += size
        return found[::-1]

    def tidy(self, *, now: float) -> None:
        """Remove what killed workers left half made."""
        for part in self.folder.glob("*.part") if self.folder.is_dir() else ():
            with suppress(OSError):
                if now - part.stat().st_mtime > YOUNG_SECONDS:
                    shutil.rmtree(part) if part.is_dir() else part.unlink()

    def _used(self) -> Iterator[tuple[str, float, int]]:
        for file in self._files():
            digest = f"sha256:{file.stem}"
            if note := self.read(digest):
                with suppress(FileNotFoundError):
                    yield digest, file.stat().st_mtime, note.unpacked_bytes

    def _files(self) -> list[Path]:
        return list(self.folder.glob("*.json")) if self.folder.is_dir() else []

    def _file(self, digest: str) -> Path:
        value = digest.removeprefix("sha256:")
        if len(value) != 64 or set(value) - set("0123456789abcdef"):
            raise ValueError(f"{digest!r} is no sha256")
        return self.folder / f"{value}.json"


def is_young(moment: str, *, now: float, seconds: float = YOUNG_SECONDS) -> bool:
    """Whether a time in the engine's spelling is but a while ago; one that it does not know is not."""
    with suppress(ValueError, OverflowError):
        return now - datetime.fromisoformat(moment).timestamp() < seconds
    return False
