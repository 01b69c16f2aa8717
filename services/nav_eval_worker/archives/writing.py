"""The one form in which an image goes on: a plain docker archive that every engine since 20.10 loads.

Same image, same bytes: members are sorted, times and owners are zero. It has no `repositories` and no
`index.json`; the only name in it is ours.
"""

import hashlib
import io
import os
import re
import secrets
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from nav_eval_worker.archives.configuration import CleanConfig
from nav_eval_worker.archives.contents import Member
from nav_eval_worker.archives.layers import Layer
from nav_eval_worker.archives.streams import Stage, buffered

_NAME = re.compile(r"nav-eval/[a-z0-9]+(?:[._/-][a-z0-9]+)*:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def submission_name(image_id: str) -> str:
    """The name under which an image is loaded."""
    return f"nav-eval/submission:{image_id.removeprefix('sha256:')}"


def check_name(name: str) -> None:
    """Only names of ours: the caller's slip must not become a hijacked tag either."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of the form nav-eval/WORDS:TAG")


def write_canonical(
    target: Path, *, name: str, config: CleanConfig, members: tuple[Member, ...], spool: BinaryIO
) -> str:
    """Write TARGET as a whole or not at all; returns the sha256 of its bytes."""
    layers = {layer_path(layer): (layer, member.offset) for member, layer in _with_layers(members)}
    config_path = f"{config.digest.removeprefix('sha256:')}.json"
    order = [layer_path(layer) for _, layer in _with_layers(members)]
    manifest = msgspec.json.encode([{"Config": config_path, "Layers": order, "RepoTags": [name]}])
    documents = {config_path: config.document, "manifest.json": manifest}
    with (
        _whole(target) as file,
        tarfile.open(fileobj=cast(BinaryIO, file), mode="w|", format=tarfile.GNU_FORMAT) as archive,
    ):
        for path in sorted([*layers, *documents]):
            if path in documents:
                archive.addfile(_header(path, len(documents[path])), io.BytesIO(documents[path]))
            else:
                layer, offset = layers[path]
                archive.addfile(_header(path, layer.size), buffered(Slice(spool, offset, layer.size)))
    return file.digest


def _with_layers(members: tuple[Member, ...]) -> Iterator[tuple[Member, Layer]]:
    for member in members:
        if member.layer is not None:
            yield member, member.layer


def layer_path(layer: Layer) -> str:
    """Where a layer stands in the archive that we write."""
    return f"{layer.diff_id.removeprefix('sha256:')}.tar"


def _header(path: str, size: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(path)
    header.size, header.mode = size, 0o644
    return header


class Slice(Stage):
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
def _whole(target: Path) -> Iterator[_HashedFile]:
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
