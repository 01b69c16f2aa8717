"""Teams' images on this engine: loaded from archives of our own writing, known by digest, dropped when long unused.

Beside each image lies a small note in a folder of the worker (`notes`); an image counts as present when note and
image are both there.
"""

import tempfile
import time
from contextlib import suppress
from pathlib import Path

import docker
from docker.errors import APIError, ImageNotFound
from docker.models.images import Image as DockerImage

from nav_eval_worker.archives import ArchiveLimits, ImageSummary, rewrite_archive, submission_name
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.runtime.base import Image
from nav_eval_worker.runtime.containers.engine import ours
from nav_eval_worker.runtime.containers.notes import FOREIGN_SECONDS, Note, Notes, is_young

REPOSITORY = "nav-eval/submission"


class ImageCache:
    """Images by `ImageSummary.image_id`, which is the same on every engine."""

    def __init__(self, client: docker.DockerClient, folder: Path, *, limit: int) -> None:
        """`limit` is bytes of unpacked images that may stay on the engine."""
        self._client, self._folder, self.limit = client, folder, limit
        self._notes = Notes(folder)

    def find(self, image_id: str) -> Image | None:
        """Asking counts as use."""
        if self.note(image_id) is None or (handle := self._handle(image_id)) is None:
            return None
        self._notes.touch(image_id)
        return Image(id=image_id, handle=handle)

    def note(self, image_id: str) -> Note | None:
        return self._notes.read(image_id)

    def admit(self, archive: Path | Readable, *, limits: ArchiveLimits) -> Image:
        """Check, write anew under our name alone, load. What was uploaded never reaches the engine."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="image-", suffix=".part", dir=self._folder) as scratch:
            canonical = Path(scratch) / "image.tar"
            summary = rewrite_archive(archive, canonical, limits=limits)
            if self._handle(summary.image_id) is None:
                self._write_note(summary)
                self._load(canonical, submission_name(summary.image_id))
            elif self.note(summary.image_id) is None:
                self._write_note(summary)
        found = self.find(summary.image_id)
        if found is None:
            with ours():
                raise OSError(f"the engine has loaded an archive but does not know {summary.name}")
        return Image(id=found.id, handle=found.handle, summary=summary)

    def evict(self, *, now: float | None = None) -> int:
        """Drop the longest unused until the rest fits, and what nobody knows any more; how many."""
        now = time.time() if now is None else now
        self._notes.tidy(now=now)
        leaving = [image_id for image_id, _ in self._notes.beyond(self.limit, now=now)]
        return sum(self._drop(image_id) for image_id in [*self._unknown(now=now), *leaving])

    def _load(self, canonical: Path, name: str) -> None:
        with ours(), canonical.open("rb") as archive:
            self._client.images.load(archive)
            self._client.images.get(name).tag(name)  # which notes the time; loading alone does not

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
        self._notes.remove(image_id)
        return True

    def _unknown(self, *, now: float) -> list[str]:
        """Images under our name without a note of ours; a young one is that of a worker with another folder."""
        known = self._notes.known()
        with ours():
            images = self._client.images.list(REPOSITORY)
            old = [image for image in images if not is_young(_loaded_at(image), now=now, seconds=FOREIGN_SECONDS)]
        tags = [tag for image in old for tag in image.tags if tag.startswith(f"{REPOSITORY}:")]
        return [image_id for tag in tags if (image_id := f"sha256:{tag.rpartition(':')[2]}") not in known]

    def _write_note(self, summary: ImageSummary) -> None:
        self._notes.write(summary.image_id, Note(volumes=summary.volumes, unpacked_bytes=summary.unpacked_bytes))


def _loaded_at(image: DockerImage) -> str:
    return str((image.attrs.get("Metadata") or {}).get("LastTagTime", ""))
