"""The JSON documents of an image archive, as far as we read them.

Unknown keys are skipped, known ones must have the right type; what we pass on is written anew
(`configuration`), so a reader that understands a document differently never sees it.
"""

from typing import Any, TypeVar

import msgspec

from nav_eval_worker.archives.errors import ArchiveDamaged, shown

D = TypeVar("D")

IGNORED = "unknown"  # the platform that builders give to attestations


class DockerEntry(msgspec.Struct, rename="pascal"):
    """One image in `manifest.json`."""

    config: str
    layers: list[str]
    repo_tags: list[str] | None = None


class Platform(msgspec.Struct):
    """What an image runs on."""

    os: str = ""
    architecture: str = ""

    def __str__(self) -> str:
        return f"{self.os or '?'}/{self.architecture or '?'}"


class Descriptor(msgspec.Struct, rename="camel"):
    """A pointer to a blob."""

    digest: str
    size: int
    media_type: str = ""
    platform: Platform | None = None
    annotations: dict[str, str] | None = None

    @property
    def is_index(self) -> bool:
        return "image.index" in self.media_type or "manifest.list" in self.media_type

    @property
    def is_attestation(self) -> bool:
        """Provenance and SBOM notes that BuildKit puts beside an image."""
        kind = (self.annotations or {}).get("vnd.docker.reference.type")
        return kind == "attestation-manifest" or (self.platform is not None and self.platform.os == IGNORED)


class Index(msgspec.Struct):
    """`index.json`, or an index that it points to."""

    manifests: list[Descriptor]


class Manifest(msgspec.Struct):
    """An OCI image manifest (or Docker's, which has the same form)."""

    config: Descriptor
    layers: list[Descriptor]


class RootFs(msgspec.Struct):
    """The layers, by the digests of their plain tars."""

    type: str = ""
    diff_ids: list[str] = []


class Process(msgspec.Struct, rename="pascal"):
    """How a container of the image starts."""

    user: str | None = None
    exposed_ports: dict[str, Any] | None = None
    env: list[str] | None = None
    entrypoint: list[str] | str | None = None
    cmd: list[str] | str | None = None
    volumes: dict[str, Any] | None = None
    working_dir: str | None = None
    stop_signal: str | None = None
    labels: dict[str, Any] | None = None
    healthcheck: Any = None
    on_build: Any = None
    shell: Any = None


class ImageConfig(msgspec.Struct):
    """The configuration that gives an image its id."""

    rootfs: RootFs
    os: str = ""
    architecture: str = ""
    config: Process | None = None


def decode(data: bytes, type_: type[D], *, where: str) -> D:
    """DATA as TYPE_; anything else is refused with the place of the first fault."""
    try:
        return msgspec.json.decode(data, type=type_)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ArchiveDamaged(
            f"{where} cannot be read ({shown(str(error))}): save the image again with `docker save`."
        ) from error
