"""Volumes of an engine: small memories that two containers share, an order for a simulator, weights for an agent.

A worker may live in a container itself, and its engine on another host, so nothing is shared through paths:
files go in through the engine's own interface.
"""

import io
import tarfile
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

import docker
from docker.errors import APIError, NotFound
from docker.models.containers import Container

from nav_eval_worker.archives import ArchiveLimits, unpack_weights
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.runtime.base import Weights
from nav_eval_worker.runtime.containers.engine import translate_engine_errors
from nav_eval_worker.runtime.containers.image_cache import FOREIGN_SECONDS, CacheEntry, CacheIndex, is_young

WEIGHTS_LABEL = "nav-eval.weights"


def make_memory(client: docker.DockerClient, name: str, *, options: str, labels: Mapping[str, str]) -> None:
    """A tmpfs that lives as long as a container uses it."""
    client.volumes.create(
        name, driver="local", driver_opts={"type": "tmpfs", "device": "tmpfs", "o": options}, labels=dict(labels)
    )


def put_file(container: Container, folder: str, name: str, data: bytes) -> None:
    """Write a file into a volume of a container that has not started yet."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        header = tarfile.TarInfo(name)
        header.size, header.mode = len(data), 0o444
        archive.addfile(header, io.BytesIO(data))
    container.put_archive(folder, packed.getvalue())


def put_folder(container: Container, target: str, folder: Path, *, scratch: Path) -> None:
    """Copy the files of a folder into a volume of a container that has not started yet; `scratch` is for packing."""
    with tempfile.TemporaryFile(dir=scratch) as packed:
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(folder, arcname=".", filter=_as_root)
        packed.seek(0)
        container.put_archive(target, cast(IO[bytes], packed))


class WeightsCache:
    """Weights by digest, each in a volume that agents mount read-only."""

    def __init__(self, client: docker.DockerClient, folder: Path, *, helper_image: str, limit: int) -> None:
        """`helper_image` starts nothing: a container must exist for files to go into a volume."""
        self._client, self._folder, self._helper_image, self.limit = client, folder, helper_image, limit
        self._index = CacheIndex(folder)

    def find(self, digest: str) -> Weights | None:
        """Asking counts as use."""
        name = _make_volume_name(digest)
        with translate_engine_errors():
            try:
                self._client.volumes.get(_make_marker_name(name))
            except NotFound:
                return None
        self._index.touch(digest)
        return Weights(digest=digest, handle=name)

    def admit(self, archive: Path | Readable, *, digest: str, limits: ArchiveLimits) -> Weights:
        self._folder.mkdir(parents=True, exist_ok=True)
        name = _make_volume_name(digest)
        with tempfile.TemporaryDirectory(prefix="weights-", suffix=".part", dir=self._folder) as scratch:
            files = Path(scratch) / "weights"
            summary = unpack_weights(archive, files, limits)
            self._index.write(digest, CacheEntry(unpacked_bytes=summary.unpacked_bytes))
            with translate_engine_errors():
                self._fill(name, files, digest)
        return Weights(digest=digest, handle=name)

    def evict(self, *, now: float | None = None) -> int:
        """Drop the longest unused until the rest fits, and what killed workers left; how many."""
        now = time.time() if now is None else now
        self._index.tidy(now=now)
        with translate_engine_errors():
            self._remove_helpers(now)
            leaving = [digest for digest, _ in self._index.list_surplus(self.limit, now=now)]
            return sum(self._drop(digest) for digest in [*self._unknown(now), *leaving])

    def _remove_helpers(self, now: float) -> None:
        for helper in self._client.containers.list(all=True, filters={"label": WEIGHTS_LABEL}, ignore_removed=True):
            if not is_young(helper.attrs["Created"], now=now):
                helper.remove(force=True)

    def _unknown(self, now: float) -> list[str]:
        volumes = self._client.volumes.list(filters={"label": WEIGHTS_LABEL})
        old = [v for v in volumes if not is_young(v.attrs["CreatedAt"], now=now, seconds=FOREIGN_SECONDS)]
        return sorted({volume.attrs["Labels"][WEIGHTS_LABEL] for volume in old} - self._index.list_known())

    def _drop(self, digest: str) -> bool:
        """True if they are gone; weights that a container uses stay."""
        name = _make_volume_name(digest)
        for volume in (_make_marker_name(name), name):  # the sign first: what has none is not whole
            with suppress(NotFound):
                try:
                    self._client.volumes.get(volume).remove()
                except APIError as error:
                    if error.status_code == 409:
                        return False
                    raise
        self._index.remove(digest)
        return True

    def _fill(self, name: str, files: Path, digest: str) -> None:
        """Another worker may fill it at the same time: with the same files."""
        labels = {WEIGHTS_LABEL: digest}
        self._client.volumes.create(name, labels=labels)
        mount = docker.types.Mount(target="/weights", source=name, type="volume", no_copy=True)
        helper = self._client.containers.create(
            self._helper_image, command=["true"], network_mode="none", mounts=[mount], labels=labels
        )
        try:
            put_folder(helper, "/weights", files, scratch=self._folder)
        finally:
            helper.remove(force=True)
        self._client.volumes.create(
            _make_marker_name(name), labels=labels
        )  # only a full volume has this sign beside it


def _as_root(header: tarfile.TarInfo) -> tarfile.TarInfo:
    header.mode |= 0o555 if header.isdir() else 0o444  # whatever this worker's umask is
    header.uid = header.gid = 0
    header.uname = header.gname = ""
    return header


def _make_volume_name(digest: str) -> str:
    return f"nav-eval-weights-{digest.removeprefix('sha256:')}"


def _make_marker_name(name: str) -> str:
    return f"{name}-ready"
