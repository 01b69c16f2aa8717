"""Volumes of an engine: small memories that two containers share, an order for a simulator, weights for an agent.

A worker may live in a container itself, and its engine on another host, so nothing is shared through paths:
files go in through the engine's own interface.
"""

import io
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, cast

import docker
from docker.errors import NotFound
from docker.models.containers import Container

from nav_eval_worker.archives import ArchiveLimits, unpack_weights
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.runtime.base import Weights
from nav_eval_worker.runtime.containers.engine import ours

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

    def __init__(self, client: docker.DockerClient, folder: Path, *, helper_image: str) -> None:
        """`helper_image` starts nothing: a container must exist for files to go into a volume."""
        self._client, self._folder, self._helper_image = client, folder, helper_image

    def find(self, digest: str) -> Weights | None:
        name = _volume_name(digest)
        with ours():
            try:
                self._client.volumes.get(_ready(name))
            except NotFound:
                return None
        return Weights(digest=digest, handle=name)

    def admit(self, archive: Path | Readable, *, digest: str, limits: ArchiveLimits) -> Weights:
        self._folder.mkdir(parents=True, exist_ok=True)
        name = _volume_name(digest)
        with tempfile.TemporaryDirectory(prefix="weights-", suffix=".part", dir=self._folder) as scratch:
            files = Path(scratch) / "weights"
            unpack_weights(archive, files, limits)
            with ours():
                self._fill(name, files, digest)
        return Weights(digest=digest, handle=name)

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
        self._client.volumes.create(_ready(name), labels=labels)  # only a full volume has this sign beside it


def _as_root(header: tarfile.TarInfo) -> tarfile.TarInfo:
    header.mode |= 0o555 if header.isdir() else 0o444  # whatever this worker's umask is
    header.uid = header.gid = 0
    header.uname = header.gname = ""
    return header


def _volume_name(digest: str) -> str:
    return f"nav-eval-weights-{digest.removeprefix('sha256:')}"


def _ready(name: str) -> str:
    return f"{name}-ready"
