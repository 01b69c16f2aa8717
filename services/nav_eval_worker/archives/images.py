"""Check a team's image archive, and write it anew in the one form in which an image goes on.

That form is a plain docker archive which every engine since 20.10 loads. Same image, same bytes: members are sorted,
times and owners are zero. It has no `repositories` and no `index.json`; the only name in it is ours.
"""

import hashlib
import io
import os
import re
import secrets
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import msgspec

from nav_eval_worker.archives.configuration import CleanConfig, clean_config
from nav_eval_worker.archives.contents import ArchiveMember, Contents, read_contents
from nav_eval_worker.archives.errors import ArchiveDamaged, quote
from nav_eval_worker.archives.layers import ImageLayer
from nav_eval_worker.archives.limits import IMAGE_LIMITS, ArchiveLimits, Budget
from nav_eval_worker.archives.manifests import ImageConfig, SelectedImage, choose_image, decode_document
from nav_eval_worker.archives.streams import Compression, PullStream, Readable, to_buffered

_ROOT = ("", "0", "root")


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSummary:
    """One image that may be run."""

    image_id: str  #: digest of the configuration that we write: engine id up to Docker 28, and the dedupe key
    uploaded_config_digest: str  #: digest of the configuration that the team uploaded: its image id at home
    format: str  #: docker, oci, or docker+oci
    compression: Compression  #: of the upload as a whole
    compressed_bytes: int  #: of the upload
    layers: tuple[ImageLayer, ...]  #: bottom first
    names: tuple[str, ...]  #: the team's tags, for display only: none of them reaches an engine
    entrypoint: tuple[str, ...]  #: ENTRYPOINT
    command: tuple[str, ...]  #: CMD
    environment: tuple[str, ...]  #: ENV, as NAME=value
    working_dir: str  #: WORKDIR
    user: str  #: USER; the runtime forces its own
    volumes: tuple[str, ...]  #: VOLUME paths: no volumes any more; cover with tmpfs where an agent must write
    exposed_ports: tuple[str, ...]  #: EXPOSE; taken out
    dropped: tuple[str, ...]  #: names of configuration fields that were taken out
    name: str | None = None  #: ours, in the rewritten archive
    archive_digest: str | None = None  #: sha256 of the rewritten archive's bytes

    @property
    def content_digest(self) -> str:
        """Equal for equal images however they were packed: the configuration names every layer by digest."""
        return self.image_id

    @property
    def runs_as_root(self) -> bool:
        """What the image asks for; it does not get it."""
        return self.user.partition(":")[0] in _ROOT

    @property
    def unpacked_bytes(self) -> int:
        return sum(layer.size for layer in self.layers)

    @property
    def files(self) -> int:
        return sum(layer.files for layer in self.layers)

    @property
    def setuid_files(self) -> int:
        return sum(layer.setuid_files for layer in self.layers)


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightsSummary:
    """Model weights that may be mounted."""

    content_digest: str  #: over every path, mode and content: equal however they were packed
    compression: Compression  #: of the upload
    compressed_bytes: int  #: of the upload
    files: int  #: regular files
    unpacked_bytes: int  #: all files together


_NAME = re.compile(r"nav-eval/[a-z0-9]+(?:[._/-][a-z0-9]+)*:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def make_submission_name(image_id: str) -> str:
    """The name under which an image is loaded."""
    return f"nav-eval/submission:{image_id.removeprefix('sha256:')}"


def check_name(name: str) -> None:
    """Only names of ours: the caller's slip must not become a hijacked tag either."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of the form nav-eval/WORDS:TAG")


def write_canonical(
    target: Path, *, name: str, config: CleanConfig, members: tuple[ArchiveMember, ...], spool: BinaryIO
) -> str:
    """Write TARGET as a whole or not at all; returns the sha256 of its bytes."""
    layers = {get_layer_path(layer): (layer, member.offset) for member, layer in _iter_layers(members)}
    config_path = f"{config.digest.removeprefix('sha256:')}.json"
    order = [get_layer_path(layer) for _, layer in _iter_layers(members)]
    manifest = msgspec.json.encode([{"Config": config_path, "Layers": order, "RepoTags": [name]}])
    documents = {config_path: config.document, "manifest.json": manifest}
    with (
        _open_whole(target) as file,
        tarfile.open(fileobj=cast(BinaryIO, file), mode="w|", format=tarfile.GNU_FORMAT) as archive,
    ):
        for path in sorted([*layers, *documents]):
            if path in documents:
                archive.addfile(make_header(path, len(documents[path])), io.BytesIO(documents[path]))
            else:
                layer, offset = layers[path]
                archive.addfile(make_header(path, layer.size), to_buffered(SpoolSlice(spool, offset, layer.size)))
    return file.digest


def _iter_layers(members: tuple[ArchiveMember, ...]) -> Iterator[tuple[ArchiveMember, ImageLayer]]:
    for member in members:
        if member.layer is not None:
            yield member, member.layer


def get_layer_path(layer: ImageLayer) -> str:
    """Where a layer stands in the archive that we write."""
    return f"{layer.diff_id.removeprefix('sha256:')}.tar"


def make_header(path: str, size: int) -> tarfile.TarInfo:
    """A file of ours in an archive: without owner and time."""
    header = tarfile.TarInfo(path)
    header.size, header.mode = size, 0o644
    return header


class SpoolSlice(PullStream):
    """A part of the spool."""

    def __init__(self, spool: BinaryIO, offset: int, size: int) -> None:
        spool.seek(offset)
        self._spool, self._left = spool, size

    def pull(self, size: int) -> bytes:
        data = self._spool.read(min(size, self._left))
        self._left -= len(data)
        return data


class _HashedFile:
    """A file that knows the digest of what was written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._hash = file, hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        return self._file.write(data)

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"


@contextmanager
def _open_whole(target: Path) -> Iterator[_HashedFile]:
    """A file that appears under its name when it is complete, and leaves nothing when it fails."""
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            yield _HashedFile(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def inspect_archive(source: Path | Readable, *, limits: ArchiveLimits = IMAGE_LIMITS) -> ImageSummary:
    """What SOURCE holds, after every byte of it was checked; nothing is written anywhere."""
    with open_source(source) as stream:
        return _check(stream, limits=limits).summary


def rewrite_archive(
    source: Path | Readable,
    target: Path,
    *,
    name: str | None = None,
    limits: ArchiveLimits = IMAGE_LIMITS,
) -> ImageSummary:
    """Check SOURCE and write its image to TARGET in canonical form, under NAME alone.

    Layers wait beside TARGET in a file without a name, which not even a killed process leaves behind.
    """
    if name is not None:
        check_name(name)
    with open_source(source) as stream, tempfile.TemporaryFile(dir=target.parent) as file:
        spool = cast(BinaryIO, file)
        checked = _check(stream, limits=limits, spool=spool)
        name = name or make_submission_name(checked.summary.image_id)
        members = checked.choice.layers
        digest = write_canonical(target, name=name, config=checked.config, members=members, spool=spool)
        return replace(checked.summary, name=name, archive_digest=digest)


@contextmanager
def open_source(source: Path | Readable) -> Iterator[Readable]:
    """A path is opened and closed, a stream is taken as it is."""
    if isinstance(source, Path):
        with source.open("rb", buffering=0) as file:
            yield cast(Readable, file)
    else:
        yield source


class _Checked(NamedTuple):
    choice: SelectedImage
    config: CleanConfig
    summary: ImageSummary


def _check(stream: Readable, *, limits: ArchiveLimits, spool: BinaryIO | None = None) -> _Checked:
    budget = Budget(limits)
    contents = read_contents(stream, budget=budget, spool=spool)
    choice = choose_image(contents, limits=limits)
    image = decode_document(contents.document(choice.config.path), ImageConfig, where="The image's configuration")
    config = clean_config(image)
    _check_layers(choice, image.rootfs.diff_ids)
    return _Checked(choice, config, _make_summary(choice, config, contents=contents, budget=budget))


def _check_layers(choice: SelectedImage, diff_ids: list[str]) -> None:
    """The layers are those that the configuration names, in its order."""
    if len(choice.layers) != len(diff_ids) or not diff_ids:
        raise ArchiveDamaged(
            f"The image's configuration names {len(diff_ids)} layers but the archive has {len(choice.layers)}: "
            "save the image again with `docker save`."
        )
    for member, diff_id in zip(choice.layers, diff_ids, strict=True):
        if member.layer is None:
            raise ArchiveDamaged(f"The layer {quote(member.path)} is no tar: save the image again with `docker save`.")
        if member.layer.diff_id != diff_id:
            raise ArchiveDamaged(
                f"The layer {quote(member.path)} has the digest {member.layer.diff_id}, but the image's configuration "
                f"says {quote(diff_id)}: save the image again with `docker save`."
            )


def _make_summary(choice: SelectedImage, config: CleanConfig, *, contents: Contents, budget: Budget) -> ImageSummary:
    return ImageSummary(
        image_id=config.digest,
        uploaded_config_digest=choice.config.digest,
        format=choice.format,
        compression=contents.compression,
        compressed_bytes=budget.spent["compressed_bytes"],
        layers=tuple(member.layer for member in choice.layers if member.layer),
        names=choice.names,
        entrypoint=config.entrypoint,
        command=config.command,
        environment=config.environment,
        working_dir=config.working_dir,
        user=config.user,
        volumes=config.volumes,
        exposed_ports=config.exposed_ports,
        dropped=config.dropped,
    )
