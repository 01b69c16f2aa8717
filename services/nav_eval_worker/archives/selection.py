"""Which image an archive means: exactly one, for linux/amd64.

`manifest.json` is Docker's way to say it, `index.json` OCI's; engines since 25 write both. When both
are there they must mean the same image, so that nobody can show one to us and another to an engine.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from nav_eval_worker.archives.contents import Contents, Member
from nav_eval_worker.archives.documents import Descriptor, DockerEntry, Index, Manifest, Platform, decode
from nav_eval_worker.archives.errors import ArchiveDamaged, ArchiveInvalid, NotOneImage, WrongPlatform, shown
from nav_eval_worker.archives.limits import ArchiveLimits
from nav_eval_worker.archives.paths import clean_path

OURS = Platform(os="linux", architecture="amd64")
_DEEPEST = 4  # index.json, an index per tag, an index per platform, one to spare
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NAMES = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
_ONCE_MORE = "save it again with `docker save`"


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The one image of an archive, still in the team's words."""

    format: str  #: docker, oci, or docker+oci
    config: Member  #: its configuration
    layers: tuple[Member, ...]  #: bottom first; a member may come more than once
    names: tuple[str, ...]  #: what the team calls it; never used

    @property
    def parts(self) -> tuple[str, ...]:
        """What makes two choices the same image."""
        return (self.config.digest, *(member.digest for member in self.layers))


def choose_image(contents: Contents, *, limits: ArchiveLimits) -> Choice:
    """The image that the archive means."""
    docker = _from_docker(contents, limits) if contents.find("manifest.json") else None
    oci = _from_oci(contents, limits) if contents.find("index.json") else None
    if docker and oci:
        return _agreed(docker, oci)
    if (choice := docker or oci) is None:
        raise ArchiveInvalid(
            "The archive has neither manifest.json nor index.json at its top, so it holds no image: "
            "make it with `docker save NAME:TAG -o image.tar` (not with `docker export`)."
        )
    return choice


def _agreed(docker: Choice, oci: Choice) -> Choice:
    if docker.parts != oci.parts:
        raise NotOneImage(f"The archive's manifest.json and index.json mean different images: {_ONCE_MORE}.")
    names = tuple(dict.fromkeys(docker.names + oci.names))
    return Choice(format="docker+oci", config=docker.config, layers=docker.layers, names=names)


def _from_docker(contents: Contents, limits: ArchiveLimits) -> Choice:
    entries = decode(contents.document("manifest.json"), list[DockerEntry], where="The archive's manifest.json")
    images = {(entry.config, *entry.layers) for entry in entries}
    names = tuple(tag for entry in entries for tag in entry.repo_tags or ())
    if len(images) != 1:
        raise _not_one(len(images), names)
    entry = entries[0]
    _check_count(len(entry.layers), limits)
    config = _named(contents, entry.config, limits)
    _check_config_name(entry.config, config)
    layers = tuple(_named(contents, path, limits) for path in entry.layers)
    return Choice(format="docker", config=config, layers=layers, names=names)


def _not_one(count: int, names: tuple[str, ...]) -> NotOneImage:
    listed = f" ({', '.join(map(shown, names[:5]))})" if names else ""
    return NotOneImage(
        f"The archive holds {count} images{listed}, not one: save it alone with `docker save NAME:TAG -o image.tar`."
    )


def _check_count(layers: int, limits: ArchiveLimits) -> None:
    if layers > limits.layers:
        raise ArchiveInvalid(
            f"The image has {layers} layers, beyond {limits.layers}: join RUN and COPY lines of its Dockerfile."
        )


def _named(contents: Contents, path: str, limits: ArchiveLimits) -> Member:
    """The member that `manifest.json` names."""
    member = contents.find(clean_path(path, where="The archive's manifest.json", limits=limits))
    if member is None:
        raise ArchiveDamaged(f"The archive's manifest.json names {shown(path)}, which is missing: {_ONCE_MORE}.")
    return member


def _check_config_name(path: str, config: Member) -> None:
    """Every tool names the configuration after its digest; a name that lies is a broken or forged archive."""
    stem = PurePosixPath(path).name.removesuffix(".json").removeprefix("sha256:")
    if re.fullmatch(r"[0-9a-f]{64}", stem) and config.digest != f"sha256:{stem}":
        raise ArchiveDamaged(f"The image's configuration {shown(path)} has the digest {config.digest}: {_ONCE_MORE}.")


def _from_oci(contents: Contents, limits: ArchiveLimits) -> Choice:
    index = decode(contents.document("index.json"), Index, where="The archive's index.json")
    found = {item.digest: item for item in _manifests(contents, index, depth=1, seen=set())}
    ours = [item for item in found.values() if item.platform is None or _is_ours(item.platform)]
    if found and not ours:
        raise wrong_platform(*(item.platform for item in found.values() if item.platform))
    names = _names(index)
    if len(ours) != 1:
        raise _not_one(len(ours), names)
    manifest = decode(_blob_document(contents, ours[0]), Manifest, where="The archive's image manifest")
    _check_count(len(manifest.layers), limits)
    layers = tuple(_blob(contents, layer) for layer in manifest.layers)
    return Choice(format="oci", config=_blob(contents, manifest.config), layers=layers, names=names)


def _manifests(contents: Contents, index: Index, *, depth: int, seen: set[str]) -> Iterator[Descriptor]:
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
        nested = decode(_blob_document(contents, item), Index, where="An index of the archive")
        yield from _manifests(contents, nested, depth=depth + 1, seen=seen)


def _is_ours(platform: Platform) -> bool:
    return (platform.os, platform.architecture) == (OURS.os, OURS.architecture)


def wrong_platform(*platforms: Platform) -> WrongPlatform:
    """The refusal, with the platforms by name."""
    listed = ", ".join(sorted({shown(str(platform)).strip("'") for platform in platforms}))
    return WrongPlatform(
        f"The image is for {listed}, but this challenge runs linux/amd64: "
        "build it with `docker build --platform linux/amd64`."
    )


def _names(index: Index) -> tuple[str, ...]:
    notes = [item.annotations or {} for item in index.manifests]
    return tuple(dict.fromkeys(note[key] for note in notes for key in _NAMES if key in note))


def _blob_path(item: Descriptor) -> str:
    if not _DIGEST.fullmatch(item.digest):
        raise ArchiveDamaged(f"The archive names a blob by {shown(item.digest)}, not by a sha256 digest: {_ONCE_MORE}.")
    return f"blobs/sha256/{item.digest.removeprefix('sha256:')}"


def _blob(contents: Contents, item: Descriptor) -> Member:
    """The blob that a descriptor means; a link in its place must lead to the same bytes."""
    member = contents.find(_blob_path(item))
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


def _blob_document(contents: Contents, item: Descriptor) -> bytes:
    return contents.document(_blob(contents, item).path)
