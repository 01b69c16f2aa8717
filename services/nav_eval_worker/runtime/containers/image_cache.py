"""Teams' images on this engine: loaded from archives of our own writing, known by digest, dropped when long unused.

Beside each image lies a small file in a folder of the worker, named by digest and touched when the image is used: an
engine does not tell when an image or a volume was last used. It is written before the thing itself is made, so that a
killed worker leaves nothing that nobody knows; an image counts as present when both are there.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import docker
import msgspec
from docker.errors import APIError, ImageNotFound
from docker.models.images import Image as DockerImage

from nav_eval.agents.failures import ImageInvalid
from nav_eval_worker.archives import ArchiveLimits, ImageSummary, make_submission_name, rewrite_archive
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.runtime.base import AgentImage
from nav_eval_worker.runtime.containers import controls
from nav_eval_worker.runtime.containers.engine import translate_engine_errors

YOUNG_SECONDS = 3600.0
"""What was used or made so lately is not dropped: somebody is probably still at it."""

FOREIGN_SECONDS = 86_400.0
"""What nobody here has a note of may be that of a worker with another folder; after so long it is an orphan's."""


class CacheEntry(msgspec.Struct, frozen=True, kw_only=True):
    """About one image, or one set of weights."""

    volumes: tuple[str, ...] = ()
    """VOLUME paths of an upload; the image that we wrote has none."""
    unpacked_bytes: int = 0


class CacheIndex:
    """The files of one kind: images, or weights."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, digest: str) -> CacheEntry | None:
        try:
            return msgspec.json.decode(self._file(digest).read_bytes(), type=CacheEntry)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def write(self, digest: str, note: CacheEntry) -> None:
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

    def list_known(self) -> set[str]:
        return {f"sha256:{file.stem}" for file in self._files()}

    def list_surplus(self, limit: int, *, now: float) -> list[tuple[str, int]]:
        """What does not fit into LIMIT bytes beside what was used later, with its size; the longest unused first."""
        ages = sorted(self._list_uses(), key=lambda entry: entry[1], reverse=True)
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

    def _list_uses(self) -> Iterator[tuple[str, float, int]]:
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


REPOSITORY = "nav-eval/submission"


class ImageCache:
    """Images by `ImageSummary.image_id`, which is the same on every engine."""

    def __init__(self, client: docker.DockerClient, folder: Path, *, limit: int) -> None:
        """`limit` is bytes of unpacked images that may stay on the engine."""
        self._client, self._folder, self.limit = client, folder, limit
        self._index = CacheIndex(folder)

    def find(self, image_id: str) -> AgentImage | None:
        """Asking counts as use."""
        if self.note(image_id) is None or (handle := self._handle(image_id)) is None:
            return None
        self._index.touch(image_id)
        return AgentImage(id=image_id, handle=handle)

    def note(self, image_id: str) -> CacheEntry | None:
        return self._index.read(image_id)

    def admit(self, archive: Path | Readable, *, limits: ArchiveLimits) -> AgentImage:
        """Check, write anew under our name alone, load. What was uploaded never reaches the engine."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="image-", suffix=".part", dir=self._folder) as scratch:
            canonical = Path(scratch) / "image.tar"
            summary = rewrite_archive(archive, canonical, limits=limits)
            if self._handle(summary.image_id) is None:
                self._write_note(summary)
                self._load(canonical, summary)
            elif self.note(summary.image_id) is None:
                self._write_note(summary)
        found = self.find(summary.image_id)
        if found is None:
            with translate_engine_errors():
                raise OSError(f"the engine has loaded an archive but does not know {summary.name}")
        return AgentImage(id=found.id, handle=found.handle, summary=summary)

    def evict(self, *, now: float | None = None) -> int:
        """Drop the longest unused until the rest fits, and what nobody knows any more; how many."""
        now = time.time() if now is None else now
        self._index.tidy(now=now)
        leaving = [image_id for image_id, _ in self._index.list_surplus(self.limit, now=now)]
        return sum(self._drop(image_id) for image_id in [*self._unknown(now=now), *leaving])

    def _load(self, canonical: Path, summary: ImageSummary) -> None:
        """An image that is refused is the team's fault, unless the engine takes none at all."""
        name = make_submission_name(summary.image_id)

        def is_well() -> bool:
            return controls.can_load(self._client, canonical.parent, size=summary.unpacked_bytes)

        try:
            with controls.blame_load(is_well), canonical.open("rb") as archive:
                self._client.images.load(archive)
        except ImageInvalid:
            self._index.remove(summary.image_id)
            raise
        with translate_engine_errors():
            self._client.images.get(name).tag(name)  # which notes the time; loading alone does not

    def _handle(self, image_id: str) -> str | None:
        """The engine's own id: with the containerd store it is another digest than ours."""
        with translate_engine_errors():
            try:
                return str(self._client.images.get(make_submission_name(image_id)).id)
            except ImageNotFound:
                return None

    def _drop(self, image_id: str) -> bool:
        """True if it is gone; an image that a container uses stays."""
        with suppress(ImageNotFound):
            try:
                self._client.images.remove(make_submission_name(image_id), force=False, noprune=False)
            except APIError as error:
                if error.status_code == 409:
                    return False
                with translate_engine_errors():
                    raise
        self._index.remove(image_id)
        return True

    def _unknown(self, *, now: float) -> list[str]:
        """Images under our name without a note of ours; a young one is that of a worker with another folder."""
        known = self._index.list_known()
        with translate_engine_errors():
            images = self._client.images.list(REPOSITORY)
            old = [image for image in images if not is_young(_find_load_time(image), now=now, seconds=FOREIGN_SECONDS)]
        tags = [tag for image in old for tag in image.tags if tag.startswith(f"{REPOSITORY}:")]
        return [image_id for tag in tags if (image_id := f"sha256:{tag.rpartition(':')[2]}") not in known]

    def _write_note(self, summary: ImageSummary) -> None:
        self._index.write(summary.image_id, CacheEntry(volumes=summary.volumes, unpacked_bytes=summary.unpacked_bytes))


def _find_load_time(image: DockerImage) -> str:
    return str((image.attrs.get("Metadata") or {}).get("LastTagTime", ""))
