"""The JSON documents of an image archive, and which image they mean: exactly one, for linux/amd64.

Unknown keys are skipped, known ones must have the right type; what we pass on is written anew (`configuration`), so
a reader that understands a document differently never sees it. `manifest.json` is Docker's way to name the image,
`index.json` OCI's; engines since 25 write both. When both are there they must mean the same image, so that nobody
can show one to us and another to an engine.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, TypeVar

import msgspec

from nav_eval_worker.archives.contents import ArchiveMember, Contents
from nav_eval_worker.archives.errors import ArchiveDamaged, ArchiveInvalid, NotOneImage, WrongPlatform, quote
from nav_eval_worker.archives.limits import ArchiveLimits
from nav_eval_worker.archives.member_paths import clean_path

D = TypeVar("D")

IGNORED = "unknown"  # the platform that builders give to attestations


class DockerEntry(msgspec.Struct, rename="pascal"):
    """One image in `manifest.json`."""

    config: str
    layers: list[str]
    repo_tags: list[str] | None = None


class ImagePlatform(msgspec.Struct):
    """What an image runs on."""

    os: str = ""
    architecture: str = ""

    def __str__(self) -> str:
        return f"{self.os or '?'}/{self.architecture or '?'}"


class OciDescriptor(msgspec.Struct, rename="camel"):
    """A pointer to a blob."""

    digest: str
    size: int
    media_type: str = ""
    platform: ImagePlatform | None = None
    annotations: dict[str, str] | None = None

    @property
    def is_index(self) -> bool:
        return "image.index" in self.media_type or "manifest.list" in self.media_type

    @property
    def is_attestation(self) -> bool:
        """Provenance and SBOM notes that BuildKit puts beside an image."""
        kind = (self.annotations or {}).get("vnd.docker.reference.type")
        return kind == "attestation-manifest" or (self.platform is not None and self.platform.os == IGNORED)


class OciIndex(msgspec.Struct):
    """`index.json`, or an index that it points to."""

    manifests: list[OciDescriptor]


class OciManifest(msgspec.Struct):
    """An OCI image manifest (or Docker's, which has the same form)."""

    config: OciDescriptor
    layers: list[OciDescriptor]


class RootFs(msgspec.Struct):
    """The layers, by the digests of their plain tars."""

    type: str = ""
    diff_ids: list[str] = []


class ProcessConfig(msgspec.Struct, rename="pascal"):
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
    config: ProcessConfig | None = None


def decode_document(data: bytes, type_: type[D], *, where: str) -> D:
    """DATA as TYPE_; anything else is refused with the place of the first fault."""
    try:
        return msgspec.json.decode(data, type=type_)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ArchiveDamaged(
            f"{where} cannot be read ({quote(str(error))}): save the image again with `docker save`."
        ) from error


REQUIRED_PLATFORM = ImagePlatform(os="linux", architecture="amd64")
_DEEPEST = 4  # index.json, an index per tag, an index per platform, one to spare
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NAME_ANNOTATIONS = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
_ONCE_MORE = "save it again with `docker save`"


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectedImage:
    """The one image of an archive, still in the team's words."""

    format: str  #: docker, oci, or docker+oci
    config: ArchiveMember  #: its configuration
    layers: tuple[ArchiveMember, ...]  #: bottom first; a member may come more than once
    names: tuple[str, ...]  #: what the team calls it; never used

    @property
    def parts(self) -> tuple[str, ...]:
        """What makes two choices the same image."""
        return (self.config.digest, *(member.digest for member in self.layers))


def choose_image(contents: Contents, *, limits: ArchiveLimits) -> SelectedImage:
    """The image that the archive means."""
    docker = _from_docker(contents, limits) if contents.find("manifest.json") else None
    oci = _from_oci(contents, limits) if contents.find("index.json") else None
    if docker and oci:
        return _combine_images(docker, oci)
    if (choice := docker or oci) is None:
        raise ArchiveInvalid(
            "The archive has neither manifest.json nor index.json at its top, so it holds no image: "
            "make it with `docker save NAME:TAG -o image.tar` (not with `docker export`)."
        )
    return choice


def _combine_images(docker: SelectedImage, oci: SelectedImage) -> SelectedImage:
    if docker.parts != oci.parts:
        raise NotOneImage(f"The archive's manifest.json and index.json mean different images: {_ONCE_MORE}.")
    names = tuple(dict.fromkeys(docker.names + oci.names))
    return SelectedImage(format="docker+oci", config=docker.config, layers=docker.layers, names=names)


def _from_docker(contents: Contents, limits: ArchiveLimits) -> SelectedImage:
    entries = decode_document(
        contents.document("manifest.json"), list[DockerEntry], where="The archive's manifest.json"
    )
    images = {(entry.config, *entry.layers) for entry in entries}
    names = tuple(tag for entry in entries for tag in entry.repo_tags or ())
    if len(images) != 1:
        raise _make_count_error(len(images), names)
    entry = entries[0]
    _check_count(len(entry.layers), limits)
    config = _find_member(contents, entry.config, limits)
    _check_config_name(entry.config, config)
    layers = tuple(_find_member(contents, path, limits) for path in entry.layers)
    return SelectedImage(format="docker", config=config, layers=layers, names=names)


def _make_count_error(count: int, names: tuple[str, ...]) -> NotOneImage:
    listed = f" ({', '.join(map(quote, names[:5]))})" if names else ""
    return NotOneImage(
        f"The archive holds {count} images{listed}, not one: save it alone with `docker save NAME:TAG -o image.tar`."
    )


def _check_count(layers: int, limits: ArchiveLimits) -> None:
    if layers > limits.layers:
        raise ArchiveInvalid(
            f"The image has {layers} layers, beyond {limits.layers}: join RUN and COPY lines of its Dockerfile."
        )


def _find_member(contents: Contents, path: str, limits: ArchiveLimits) -> ArchiveMember:
    """The member that `manifest.json` names."""
    member = contents.find(clean_path(path, where="The archive's manifest.json", limits=limits))
    if member is None:
        raise ArchiveDamaged(f"The archive's manifest.json names {quote(path)}, which is missing: {_ONCE_MORE}.")
    return member


def _check_config_name(path: str, config: ArchiveMember) -> None:
    """Every tool names the configuration after its digest; a name that lies is a broken or forged archive."""
    stem = PurePosixPath(path).name.removesuffix(".json").removeprefix("sha256:")
    if re.fullmatch(r"[0-9a-f]{64}", stem) and config.digest != f"sha256:{stem}":
        raise ArchiveDamaged(f"The image's configuration {quote(path)} has the digest {config.digest}: {_ONCE_MORE}.")


def _from_oci(contents: Contents, limits: ArchiveLimits) -> SelectedImage:
    index = decode_document(contents.document("index.json"), OciIndex, where="The archive's index.json")
    found = {item.digest: item for item in _iter_manifests(contents, index, depth=1, seen=set())}
    ours = [item for item in found.values() if item.platform is None or _is_ours(item.platform)]
    if found and not ours:
        raise make_platform_error(*(item.platform for item in found.values() if item.platform))
    names = _list_names(index)
    if len(ours) != 1:
        raise _make_count_error(len(ours), names)
    manifest = decode_document(_read_blob(contents, ours[0]), OciManifest, where="The archive's image manifest")
    _check_count(len(manifest.layers), limits)
    layers = tuple(_find_blob(contents, layer) for layer in manifest.layers)
    return SelectedImage(format="oci", config=_find_blob(contents, manifest.config), layers=layers, names=names)


def _iter_manifests(contents: Contents, index: OciIndex, *, depth: int, seen: set[str]) -> Iterator[OciDescriptor]:
    """Every image manifest below INDEX, each index opened once."""
    if depth > _DEEPEST:
        raise ArchiveInvalid(f"The archive nests more than {_DEEPEST} indexes: {_ONCE_MORE}.")
    for item in index.manifests:
        if item.is_attestation or item.digest in seen:
            continue
        seen.add(item.digest)
        if not item.is_index:
            yield item
            continue
        nested = decode_document(_read_blob(contents, item), OciIndex, where="An index of the archive")
        yield from _iter_manifests(contents, nested, depth=depth + 1, seen=seen)


def _is_ours(platform: ImagePlatform) -> bool:
    return (platform.os, platform.architecture) == (REQUIRED_PLATFORM.os, REQUIRED_PLATFORM.architecture)


def make_platform_error(*platforms: ImagePlatform) -> WrongPlatform:
    """The refusal, with the platforms by name."""
    listed = ", ".join(sorted({quote(str(platform)).strip("'") for platform in platforms}))
    return WrongPlatform(
        f"The image is for {listed}, but this challenge runs linux/amd64: "
        "build it with `docker build --platform linux/amd64`."
    )


def _list_names(index: OciIndex) -> tuple[str, ...]:
    notes = [item.annotations or {} for item in index.manifests]
    return tuple(dict.fromkeys(note[key] for note in notes for key in _NAME_ANNOTATIONS if key in note))


def _get_blob_path(item: OciDescriptor) -> str:
    if not _DIGEST.fullmatch(item.digest):
        raise ArchiveDamaged(f"The archive names a blob by {quote(item.digest)}, not by a sha256 digest: {_ONCE_MORE}.")
    return f"blobs/sha256/{item.digest.removeprefix('sha256:')}"


def _find_blob(contents: Contents, item: OciDescriptor) -> ArchiveMember:
    """The blob that a descriptor means; a link in its place must lead to the same bytes."""
    member = contents.find(_get_blob_path(item))
    if member is None:
        raise ArchiveDamaged(
            f"The archive lacks the blob {item.digest}: {_ONCE_MORE} (layers kept on another server do not count)."
        )
    if (member.digest, member.size) != (item.digest, item.size):
        raise ArchiveDamaged(
            f"The blob {item.digest} should have {item.size} bytes but has {member.size} "
            f"and the digest {member.digest}: {_ONCE_MORE}."
        )
    return member


def _read_blob(contents: Contents, item: OciDescriptor) -> bytes:
    return contents.document(_find_blob(contents, item).path)
