"""What is in an upload: one pass over the outer archive, every member looked at by what it is.

A tar is checked as a layer while it passes (`layers`; and spooled when the caller wants it), JSON is kept, the rest is
only hashed. Which members matter is decided afterwards (`manifests`).
"""

import io
import re
from dataclasses import dataclass
from typing import BinaryIO

from nav_eval_worker.archives.errors import ArchiveDamaged, ArchiveTooLarge, ArchiveUnsafe, quote
from nav_eval_worker.archives.layers import ImageLayer, read_layer
from nav_eval_worker.archives.limits import Budget
from nav_eval_worker.archives.member_paths import clean_path, resolve_link
from nav_eval_worker.archives.streams import (
    CHUNK,
    Compression,
    HashingStream,
    MeteredStream,
    Readable,
    decompress,
    to_buffered,
)
from nav_eval_worker.archives.tar import BLOCK, TarEntry, TarEntryKind, TarReader

_ARCHIVE = "The archive"
_BLOB = re.compile(r"blobs/sha256/([0-9a-f]{64})")
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchiveMember:
    """One file of the outer archive."""

    path: str  #: its cleaned name
    digest: str  #: sha256 of its bytes as stored
    size: int  #: bytes as stored
    document: bytes | None = None  #: its bytes, when it is JSON of a sensible size
    layer: ImageLayer | None = None  #: what the check found, when it is a tar
    offset: int = 0  #: where its plain tar stands in the spool


class Contents:
    """The members of one archive by path; links lead to the member they mean."""

    def __init__(self) -> None:
        self.compression = Compression.NONE
        self.members: dict[str, ArchiveMember] = {}
        self.links: dict[str, str] = {}

    def find(self, path: str) -> ArchiveMember | None:
        """The member at PATH, through at most one link (old engines link repeated layers)."""
        return self.members.get(self.links.get(path, path))

    def document(self, path: str) -> bytes:
        """The JSON at PATH."""
        member = self.find(path)
        if member is None:
            raise ArchiveDamaged(f"The archive lacks {quote(path)}, which it names itself: save the image again.")
        if member.document is None:
            raise ArchiveTooLarge(
                f"The archive's {quote(path)} ({member.size} bytes) is no JSON document of a sensible size: "
                "save the image again with `docker save`."
            )
        return member.document


def read_contents(source: Readable, *, budget: Budget, spool: BinaryIO | None = None) -> Contents:
    """Look at every byte of SOURCE; plain layers go to SPOOL, one after the other."""
    upload = to_buffered(MeteredStream(source, budget=budget, spend=lambda n: budget.spend("compressed_bytes", n)))
    if not upload.peek(1):
        raise ArchiveDamaged("The upload is empty: save the image with `docker save NAME:TAG -o image.tar`.")
    contents = Contents()
    contents.compression, plain = decompress(upload, where=_ARCHIVE, budget=budget, spend="archive_bytes")
    reader = TarReader(to_buffered(plain), where=_ARCHIVE, budget=budget, counted="members")
    scan = _MemberScan(contents, reader=reader, budget=budget, spool=spool)
    for entry in reader:
        scan.take(entry)
    return contents


class _MemberScan:
    """Files each member under its path."""

    def __init__(self, contents: Contents, *, reader: TarReader, budget: Budget, spool: BinaryIO | None) -> None:
        self._contents, self._reader, self._budget, self._spool = contents, reader, budget, spool
        self._seen: set[str] = set()

    def take(self, entry: TarEntry) -> None:
        path = clean_path(entry.name, where=_ARCHIVE, limits=self._budget.limits)
        if not path and entry.kind is TarEntryKind.DIRECTORY:
            return
        if path in self._seen:
            raise ArchiveUnsafe(f"The archive has {quote(path)} twice: save the image again with `docker save`.")
        self._seen.add(path)
        match entry.kind:
            case TarEntryKind.FILE:
                self._contents.members[path] = self._read(path)
            case TarEntryKind.SYMLINK:
                self._link(path, resolve_link(path, entry.link, where=_ARCHIVE, limits=self._budget.limits))
            case TarEntryKind.HARDLINK:
                self._link(path, clean_path(entry.link, where=_ARCHIVE, limits=self._budget.limits))
            case TarEntryKind.CHARACTER | TarEntryKind.BLOCK | TarEntryKind.FIFO:
                raise ArchiveUnsafe(
                    f"The archive has a {entry.kind}, {quote(path)}: save the image with `docker save`."
                )

    def _link(self, path: str, target: str) -> None:
        self._contents.links[path] = target

    def _read(self, path: str) -> ArchiveMember:
        tap = HashingStream(self._reader.data)
        stream = to_buffered(tap)
        head = stream.peek(BLOCK)[:BLOCK]
        offset = self._spool.tell() if self._spool is not None else 0
        layer = document = None
        if _is_layer(head):
            where = f"The archive's layer {quote(path)}"
            layer = read_layer(stream, where=where, budget=self._budget, copy=self._spool)
        elif head.lstrip()[:1] in (b"{", b"["):
            document = self._read_document(stream)
        while stream.read(CHUNK):
            pass
        _check_blob(path, tap.digest)
        return ArchiveMember(
            path=path, digest=tap.digest, size=tap.count, document=document, layer=layer, offset=offset
        )

    def _read_document(self, stream: io.BufferedReader) -> bytes | None:
        """JSON, unless it is too large to be one that we need (SBOM notes are)."""
        data = stream.read(self._budget.limits.document_bytes + 1)
        if len(data) > self._budget.limits.document_bytes:
            return None
        self._budget.spend("documents_bytes", len(data))
        return data


def _is_layer(head: bytes) -> bool:
    """Packed, a tar, or the zeros of an empty tar."""
    return head.startswith(_PACKED) or head[257:262] == b"ustar" or head == bytes(BLOCK)


def _check_blob(path: str, digest: str) -> None:
    """A blob's name is its digest, or it lies."""
    match = _BLOB.fullmatch(path)
    if match and f"sha256:{match[1]}" != digest:
        raise ArchiveDamaged(f"The archive's blob {quote(path)} has another digest, {digest}: save the image again.")
