"""What is in an upload: one pass over the outer archive, every member looked at by what it is.

A tar is checked as a layer while it passes (and spooled when the caller wants it), JSON is kept, the rest is only
hashed. Which members matter is decided afterwards (`manifests`). The engine unpacks layers as root. It does so in a
chroot, but an archive that needs that chroot to hold is not one that we pass on.
"""

import io
import re
import stat
from dataclasses import dataclass
from typing import BinaryIO

from nav_eval_worker.archives.errors import ArchiveDamaged, ArchiveTooLarge, ArchiveUnsafe, quote
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

_WHITEOUT = ".wh."
_HARMLESS_DEVICES = {
    "dev/null": (1, 3),
    "dev/zero": (1, 5),
    "dev/full": (1, 7),
    "dev/random": (1, 8),
    "dev/urandom": (1, 9),
    "dev/tty": (5, 0),
    "dev/console": (5, 1),
    "dev/ptmx": (5, 2),
}  # debootstrap puts these into every base; the engine mounts its own /dev over them
_MOUNT_POINTS = frozenset({"proc", "sys", "dev", "tmp", "rpc", "obs", "weights"})
"""Folders that the engine or we mount something on. A link there would lead the mount, made by root, elsewhere."""
_OVERLAY_ATTRIBUTES = ("trusted.overlay.", "user.overlay.", "user.fuseoverlayfs.")


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageLayer:
    """One checked layer."""

    diff_id: str  #: sha256 of the plain tar, the name that the image's configuration knows it by
    size: int  #: bytes of the plain tar
    files: int  #: entries of every kind
    setuid_files: int  #: programs that ask for another user's or group's rights, or for capabilities


def read_layer(source: io.BufferedReader, *, where: str, budget: Budget, copy: BinaryIO | None = None) -> ImageLayer:
    """Check a layer to its last byte; its plain tar goes to COPY on the way."""
    _, plain = decompress(source, where=where, budget=budget, spend="layer_bytes")
    tap = HashingStream(plain, copy)
    checker = _EntryChecker(where=where, budget=budget)
    for entry in TarReader(to_buffered(tap), where=where, budget=budget, counted="layer_files", needs_end=False):
        checker.check(entry)
    return ImageLayer(diff_id=tap.digest, size=tap.count, files=checker.files, setuid_files=checker.setuid_files)


class _EntryChecker:
    """Looks at each entry of one layer, and remembers the names it has seen."""

    def __init__(self, *, where: str, budget: Budget) -> None:
        self.files = self.setuid_files = 0
        self._where, self._limits = where, budget.limits
        self._seen: set[int] = set()  # hashes: half a million paths would weigh too much

    def check(self, entry: TarEntry) -> None:
        if entry.name == "/" and entry.kind is TarEntryKind.DIRECTORY:  # kaniko's name for the root
            return
        path = clean_path(entry.name, where=self._where, limits=self._limits, backslashes=True)
        self.files += 1
        self._check_unique(path, entry)
        self._check_whiteout(path)
        self._check_kind(path, entry)
        self._check_attributes(path, entry)
        if entry.kind is TarEntryKind.FILE and _has_raised_rights(entry):
            self.setuid_files += 1

    def _check_unique(self, path: str, entry: TarEntry) -> None:
        """Builders repeat folders; anything else that comes twice is read differently by different engines."""
        if entry.kind is TarEntryKind.DIRECTORY:
            return
        if (mark := hash(path)) in self._seen:
            raise ArchiveUnsafe(f"{self._where} has {quote(path)} twice: build the image again with `docker build`.")
        self._seen.add(mark)

    def _check_whiteout(self, path: str) -> None:
        """`.wh.NAME` deletes NAME below: it must be a name."""
        name = path.rpartition("/")[2]
        if name.startswith(_WHITEOUT) and name.removeprefix(_WHITEOUT) in ("", ".", ".."):
            raise ArchiveUnsafe(f"{self._where} deletes a parent folder by {quote(path)}: remove that file.")

    def _check_kind(self, path: str, entry: TarEntry) -> None:
        if path in _MOUNT_POINTS and entry.kind not in (
            TarEntryKind.DIRECTORY,
            TarEntryKind.CHARACTER,
        ):  # a whiteout is fine
            raise ArchiveUnsafe(f"{self._where} has a {entry.kind} at {quote('/' + path)}: make it an empty folder.")
        match entry.kind:
            case TarEntryKind.FIFO:
                raise self._make_kind_error(path, entry)
            case TarEntryKind.BLOCK | TarEntryKind.CHARACTER if not _is_harmless(path, entry):
                raise self._make_kind_error(path, entry)
            case TarEntryKind.HARDLINK:
                clean_path(entry.link, where=f"{self._where}: a hard link", limits=self._limits, backslashes=True)
            case TarEntryKind.SYMLINK if not entry.link or len(entry.link) > self._limits.path_bytes:
                raise ArchiveUnsafe(f"{self._where} has an empty or endless symbolic link, {quote(path)}: remove it.")

    def _make_kind_error(self, path: str, entry: TarEntry) -> ArchiveUnsafe:
        return ArchiveUnsafe(f"{self._where} has a {entry.kind}, {quote(path)}: remove it and build the image again.")

    def _check_attributes(self, path: str, entry: TarEntry) -> None:
        """The overlay file system reads its own orders from these: only the engine may give them."""
        for name in entry.attributes:
            if name.startswith(_OVERLAY_ATTRIBUTES):
                raise ArchiveUnsafe(
                    f"{self._where} has the overlay attribute {quote(name)} on {quote(path)}: "
                    "build the image again with `docker build`."
                )


def _is_harmless(path: str, entry: TarEntry) -> bool:
    """An overlay whiteout, or one of the devices that every /dev has."""
    if entry.kind is not TarEntryKind.CHARACTER:
        return False
    return entry.device == (0, 0) or _HARMLESS_DEVICES.get(path) == entry.device


def _has_raised_rights(entry: TarEntry) -> bool:
    return bool(entry.mode & (stat.S_ISUID | stat.S_ISGID)) or "security.capability" in entry.attributes


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
