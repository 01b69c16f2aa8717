"""Teams' images on this engine: loaded from archives of our own writing, known by digest, dropped when long unused.

Beside each image lies a small note (`Note`) in a folder of the worker. It is written before the image is loaded, so a
killed worker leaves no image that nobody knows; an image counts as present when note and image are both there.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import docker
import msgspec
from docker.errors import APIError, ImageNotFound

from nav_eval_worker.archives import ArchiveLimits, ImageSummary, rewrite_archive, submission_name
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.runtime.base import Image
from nav_eval_worker.runtime.containers.engine import ours

REPOSITORY = "nav-eval/submission"
YOUNG_SECONDS = 3600.0
"""An image that was used so lately is not dropped: its shards are probably still coming."""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine does not remember about an image."""

    volumes: tuple[str, ...] = ()
    """VOLUME paths of the upload; the image that we wrote has none."""
    unpacked_bytes: int = 0


class ImageCache:
    """Images by `ImageSummary.image_id`, which is the same on every engine."""

    def __init__(self, client: docker.DockerClient, folder: Path, *, limit: int) -> None:
        """`limit` is bytes of unpacked images that may stay on the engine."""
        self._client, self._folder, self.limit = client, folder, limit

    def find(self, image_id: str) -> Image | None:
        """Asking counts as use."""
        if self.note(image_id) is None or (handle := self._handle(image_id)) is None:
            return None
        os.utime(self._note_file(image_id))
        return Image(id=image_id, handle=handle)

    def note(self, image_id: str) -> Note | None:
        try:
            return msgspec.json.decode(self._note_file(image_id).read_bytes(), type=Note)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def admit(self, archive: Path | Readable, *, limits: ArchiveLimits) -> Image:
        """Check, write anew under our name alone, load. What was uploaded never reaches the engine."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="image-", suffix=".part", dir=self._folder) as scratch:
            canonical = Path(scratch) / "image.tar"
            summary = rewrite_archive(archive, canonical, limits=limits)
            if self._handle(summary.image_id) is None:
                self._write_note(summary)
                self._load(canonical)
            elif self.note(summary.image_id) is None:
                self._write_note(summary)
        found = self.find(summary.image_id)
        if found is None:
            with ours():
                raise OSError(f"the engine has loaded an archive but does not know {summary.name}")
        return Image(id=found.id, handle=found.handle, summary=summary)

    def evict(self, *, now: float | None = None) -> int:
        """Drop the longest unused until the rest fits, and what nobody has a note of."""
        now = time.time() if now is None else now
        notes = sorted(self._notes(), key=lambda entry: entry[1], reverse=True)
        dropped = sum(self._drop(image_id) for image_id in self._unknown({image_id for image_id, _, _ in notes}))
        kept = 0
        for image_id, used, size in notes:
            kept += size
            if kept > self.limit and now - used > YOUNG_SECONDS and self._drop(image_id):
                kept -= size
                dropped += 1
        return dropped

    def _load(self, canonical: Path) -> None:
        with ours(), canonical.open("rb") as archive:
            self._client.images.load(archive)

    def _handle(self, image_id: str) -> str | None:
        """The engine's own id: with the containerd store it is another digest than ours."""
        with ours():
            try:
                return str(self._client.images.get(submission_name(image_id)).id)
            except ImageNotFound:
                return None

    def _drop(self, image_id: str) -> bool:
        """True if it is gone; an image that a container uses stays."""
        with suppress(ImageNotFound):
            try:
                self._client.images.remove(submission_name(image_id), force=False, noprune=False)
            except APIError as error:
                if error.status_code == 409:
                    return False
                with ours():
                    raise
        self._note_file(image_id).unlink(missing_ok=True)
        return True

    def _unknown(self, known: set[str]) -> list[str]:
        """Images under our name without a note: a worker on another folder, or one that was killed."""
        with ours():
            tags = [tag for image in self._client.images.list(REPOSITORY) for tag in image.tags]
        ids = (f"sha256:{tag.rpartition(':')[2]}" for tag in tags if tag.startswith(f"{REPOSITORY}:"))
        return [image_id for image_id in ids if image_id not in known]

    def _notes(self) -> Iterator[tuple[str, float, int]]:
        for file in self._folder.glob("*.json") if self._folder.is_dir() else ():
            image_id = f"sha256:{file.stem}"
            if note := self.note(image_id):
                with suppress(FileNotFoundError):
                    yield image_id, file.stat().st_mtime, note.unpacked_bytes

    def _write_note(self, summary: ImageSummary) -> None:
        note = Note(volumes=summary.volumes, unpacked_bytes=summary.unpacked_bytes)
        file = self._note_file(summary.image_id)
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(msgspec.json.encode(note))
        part.replace(file)

    def _note_file(self, image_id: str) -> Path:
        value = image_id.removeprefix("sha256:")
        if len(value) != 64 or set(value) - set("0123456789abcdef"):
            raise ValueError(f"{image_id!r} is no sha256")
        return self._folder / f"{value}.json"
