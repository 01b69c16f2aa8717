"""Folders kept by digest: made whole or not at all, shared by all workers of a host, dropped when long unused."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

IDLE_SECONDS = 14 * 86_400.0
"""After which nobody will ask for it; and if somebody does, it is made again."""
PART = ".part"


class Shelf:
    """`folder/<digest>`, each a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, digest: str) -> Path | None:
        """What is kept under DIGEST; asking counts as use."""
        place = self._place(digest)
        try:
            os.utime(place)
        except FileNotFoundError:
            return None
        return place

    @contextmanager
    def making(self) -> Iterator[Path]:
        """An empty folder to fill; `keep` it before the block ends, or it is gone."""
        self._folder.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(suffix=PART, dir=self._folder))
        try:
            yield part
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def keep(self, part: Path, digest: str) -> Path:
        """Give it its name. Whoever was first is right: equal digests mean equal content."""
        place = self._place(digest)
        with suppress(OSError):  # it is there already
            part.rename(place)
        os.utime(place)
        return place

    def tidy(self, *, idle_seconds: float = IDLE_SECONDS) -> int:
        """Drop what was not used for long, and what dead workers left half made."""
        dropped = 0
        for place in self._folder.iterdir() if self._folder.is_dir() else ():
            with suppress(FileNotFoundError):
                if time.time() - place.stat().st_mtime > idle_seconds:
                    dropped += 1
                    shutil.rmtree(place, ignore_errors=True)
        return dropped

    def _place(self, digest: str) -> Path:
        kind, _, value = digest.rpartition(":")
        if kind not in ("", "sha256") or len(value) != 64 or set(value) - set("0123456789abcdef"):
            raise ValueError(f"{digest!r} is no sha256")
        return self._folder / value
