"""A strict, streaming tar reader.

The standard library's reader forgives (bad checksums end an archive quietly, sparse maps and PAX
headers of any size are read into memory, global headers apply to later members), and the engine's
reader forgives other things. This one reads ustar, GNU and PAX as `docker`, `podman`, `buildah` and
`tar` write them, and refuses whatever two readers could understand differently. Engines read with Go's
`archive/tar`: what that cannot parse (a PAX time that is no number) or reads otherwise than we do (`star`'s
headers, whose shorter prefix changes names) is refused here, where the team gets a reason.
"""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from nav_eval_worker.archives.errors import ArchiveDamaged, ArchiveTooLarge, ArchiveUnsafe, quote
from nav_eval_worker.archives.limits import Budget
from nav_eval_worker.archives.streams import CHUNK, PullStream

BLOCK = 512
_ZEROS = bytes(BLOCK)
_AGAIN = "save the archive again"
_RECORD = re.compile(rb"([1-9][0-9]{0,9}) ([^=\n\0]+)=")
_XATTR = "SCHILY.xattr."
_USTAR, _GNU = b"ustar\0", b"ustar  \0"
_STAR = b"tar\0"
_GNU_REST = slice(369, 508)  # offset, long names, sparse map, real size: nothing that an image needs
_TIMES = range(-62_135_596_800, 253_402_300_800)
"""Seconds of the years 1 to 9999. Builders write the year 1 where they mean "no time"."""
_LARGEST_ID = 2**32 - 2  # one more means "leave it as it is" to the kernel
_PAX_TIME = re.compile(rb"-?[0-9]{1,12}(\.[0-9]{0,30})?")
_PAX_NUMBER = re.compile(rb"[0-9]{1,19}")


class TarEntryKind(StrEnum):
    """What a member is."""

    FILE = "file"  #: bytes
    DIRECTORY = "folder"  #: a place for others
    SYMLINK = "symbolic link"  #: a path, followed when opened
    HARDLINK = "hard link"  #: another name of a file
    CHARACTER = "character device"  #: or an overlay whiteout
    BLOCK = "block device"  #: a disk
    FIFO = "named pipe"  #: a queue between processes


_KINDS = {
    b"0": TarEntryKind.FILE,
    b"\0": TarEntryKind.FILE,
    b"1": TarEntryKind.HARDLINK,
    b"2": TarEntryKind.SYMLINK,
    b"3": TarEntryKind.CHARACTER,
    b"4": TarEntryKind.BLOCK,
    b"5": TarEntryKind.DIRECTORY,
    b"6": TarEntryKind.FIFO,
}
_EXTENSIONS = {b"x": "PAX header", b"g": "global PAX header", b"L": "GNU long name", b"K": "GNU long link"}


class TarEntry(NamedTuple):
    """One member's header, as written: paths are not checked yet."""

    name: str  #: the path, from wherever the format keeps it
    kind: TarEntryKind  #: what it is
    size: int = 0  #: bytes of data that follow
    mode: int = 0  #: permission bits
    link: str = ""  #: where a link leads
    device: tuple[int, int] = (0, 0)  #: major and minor number
    attributes: Mapping[str, bytes] = MappingProxyType({})  #: extended attributes


@dataclass(slots=True)
class _Extensions:
    """What extension headers say about the member that follows them."""

    pax: dict[str, bytes] = field(default_factory=dict)
    seen: set[bytes] = field(default_factory=set)
    long: dict[bytes, bytes] = field(default_factory=dict)


class TarReader:
    """Iterate for entries; `data` streams the present one's bytes, what is left of them is skipped."""

    def __init__(
        self, stream: io.BufferedReader, *, where: str, budget: Budget, counted: str, needs_end: bool = True
    ) -> None:
        self._stream, self._where, self._budget = stream, where, budget
        self._counted = counted
        self._needs_end = needs_end  # layers are held by their digest, an upload only by its end mark
        self._left = self._padding = 0

    def __iter__(self) -> Iterator[TarEntry]:
        extensions = _Extensions()
        while (block := self._read_header()) is not None:
            if block[156:157] in _EXTENSIONS:
                self._extend(extensions, block)
                continue
            entry = self._parse_entry(block, extensions)
            if extensions.seen:
                extensions = _Extensions()
            self._left, self._padding = entry.size, -entry.size % BLOCK
            yield entry
            self._skip()
        if extensions.seen:
            raise self._make_damage_error("ends after an extension header")

    @property
    def data(self) -> "MemberStream":
        """The present member's bytes."""
        return MemberStream(self)

    def read_data(self, size: int) -> bytes:
        """At most SIZE bytes of the present member."""
        size = min(size, self._left)
        data = self._read_exactly(size)
        self._left -= size
        return data

    def _skip(self) -> None:
        while self._left:
            self.read_data(CHUNK)
        if self._read_exactly(self._padding).strip(b"\0"):
            raise self._make_damage_error("hides bytes behind a member")

    def _make_damage_error(self, what: str) -> ArchiveDamaged:
        return ArchiveDamaged(f"{self._where} {what}: {_AGAIN}.")

    def _read_exactly(self, size: int) -> bytes:
        data = self._stream.read(size)
        if len(data) < size:
            raise ArchiveDamaged(f"{self._where} is truncated: {_AGAIN} and upload it whole.")
        return data

    def _read_header(self) -> bytes | None:
        """The next header, or None at the end."""
        self._budget.check_time()
        block = self._stream.read(BLOCK)
        if not block and not self._needs_end:
            return None
        if len(block) < BLOCK:
            raise ArchiveDamaged(f"{self._where} is truncated: {_AGAIN} and upload it whole.")
        if block == _ZEROS:
            self._check_tail()
            return None
        self._budget.spend(self._counted)
        self._check_header(block)
        return block

    def _check_header(self, block: bytes) -> None:
        if block[257:263] != _USTAR and block[257:265] != _GNU:
            raise self._make_damage_error("is not a tar (or one older than ustar)")
        if self._parse_number(block[148:156]) != sum(block[:148]) + sum(block[156:]) + 8 * 32:
            raise self._make_damage_error("has a header with a wrong checksum")
        self._check_dialect(block)
        for field_ in (block[108:116], block[116:124]):
            if self._parse_number(field_) > _LARGEST_ID:
                raise self._make_damage_error("has a header with an owner beyond all user ids")
        self._check_time(self._parse_time(block[136:148]))
        self._parse_number(block[329:337])
        self._parse_number(block[337:345])

    def _check_dialect(self, block: bytes) -> None:
        """Forms whose names an engine puts together in another way than we do."""
        if block[257:263] == _USTAR and block[508:512] == _STAR:
            raise ArchiveUnsafe(f"{self._where} has a header of the program `star`: write it with GNU tar or docker.")
        if block[257:265] == _GNU:
            for field_ in (block[345:357], block[357:369]):
                self._parse_time(field_)
            if block[_GNU_REST].strip(b"\0"):
                raise self._make_damage_error("has a header of an incremental or sparse backup")

    def _check_time(self, seconds: int) -> None:
        if seconds not in _TIMES:
            raise self._make_damage_error("has a header with a time beyond the year 9999")

    def _parse_time(self, raw: bytes) -> int:
        if raw[0] == 0xFF:  # the one number that may be negative
            return int.from_bytes(raw, "big", signed=True)
        return self._parse_number(raw)

    def _check_tail(self) -> None:
        """Nothing but zeros may follow the end mark."""
        while chunk := self._stream.read(CHUNK):
            if chunk.strip(b"\0"):
                raise self._make_damage_error("has other bytes after its end")

    def _parse_number(self, raw: bytes) -> int:
        if raw[0] == 0x80:
            return int.from_bytes(raw[1:], "big")
        digits = raw.strip(b" \0")
        if digits.strip(b"01234567"):
            raise self._make_damage_error("has a header with a number that is none")
        return int(digits or b"0", 8)

    def _extend(self, extensions: _Extensions, block: bytes) -> None:
        flag, size = block[156:157], self._parse_number(block[124:136])
        if size > self._budget.limits.header_bytes:
            raise ArchiveTooLarge(
                f"{self._where} has a {_EXTENSIONS[flag]} of {size} bytes, "
                f"beyond {self._budget.limits.header_bytes}: shorten names and attributes."
            )
        data = self._read_exactly(size)
        self._read_exactly(-size % BLOCK)
        if flag == b"g":
            self._check_global(block, data)
            return
        if flag in extensions.seen:
            raise self._make_damage_error(f"has a {_EXTENSIONS[flag]} twice for one member")
        extensions.seen.add(flag)
        if flag == b"x":
            extensions.pax = self._parse_pax(data)
        else:
            extensions.long[flag] = data.rstrip(b"\0")

    def _check_global(self, block: bytes, data: bytes) -> None:
        """Some readers apply it to all that follows, some ignore it, some make a folder for it: harmless ones only."""
        records = self._parse_pax(data)
        parts = [part for part in _parse_name(block).split(b"/") if part != b"."]
        is_plain = len(parts) == 1 and parts[0] not in (b"", b"..")
        changed = [key for key in records if key in ("path", "linkpath", "size") or key.startswith(_XATTR)]
        if changed or not is_plain:
            raise ArchiveUnsafe(f"{self._where} renames or resizes all members by a global header: {_AGAIN}.")

    def _parse_pax(self, data: bytes) -> dict[str, bytes]:
        records: dict[str, bytes] = {}
        at = 0
        while at < len(data):
            match = _RECORD.match(data, at)
            end = at + int(match[1]) if match else 0
            if match is None or not match.end() < end <= len(data) or data[end - 1 : end] != b"\n":
                raise self._make_damage_error("has a PAX header that cannot be read")
            key = match[2].decode("utf-8", "replace")
            if key in records:
                raise self._make_damage_error(f"has a PAX header with {quote(key)} twice")
            if key.startswith("GNU.sparse."):
                raise self._make_sparse_error()
            records[key] = self._check_record(key, data[match.end() : end - 1])
            at = end
        return records

    def _check_record(self, key: str, value: bytes) -> bytes:
        """Engines stop at a number that they cannot read, whether or not they need it."""
        if not value and key != "path":
            return value
        if key in ("uid", "gid") and (not _PAX_NUMBER.fullmatch(value) or int(value) > _LARGEST_ID):
            raise self._make_damage_error(f"has a PAX {key} that is no user's or group's number")
        if key in ("mtime", "atime", "ctime"):
            if not _PAX_TIME.fullmatch(value):
                raise self._make_damage_error(f"has a PAX {key} that is no time")
            self._check_time(int(value.partition(b".")[0]))
        if key in ("path", "linkpath", "uname", "gname") and b"\0" in value:
            raise self._make_damage_error("has an empty name or one with a NUL")
        return value

    def _make_sparse_error(self) -> ArchiveUnsafe:
        return ArchiveUnsafe(f"{self._where} has a sparse file: copy it with `cp --sparse=never` and build again.")

    def _parse_entry(self, block: bytes, extensions: _Extensions) -> TarEntry:
        kind = self._parse_kind(block)
        size = self._parse_size(block, extensions.pax)
        name = self._parse_text(_parse_name(block), long=extensions.long.get(b"L"), pax=extensions.pax.get("path"))
        link = self._parse_text(
            _parse_field(block[157:257]), long=extensions.long.get(b"K"), pax=extensions.pax.get("linkpath")
        )
        if kind is not TarEntryKind.FILE and size:
            raise self._make_damage_error(f"has a {kind} with data, {quote(name)}")
        if kind is TarEntryKind.FILE and (not name or name.endswith("/")):
            raise self._make_damage_error(f"has a file that is named like a folder, {quote(name)}")
        is_device = kind in (TarEntryKind.CHARACTER, TarEntryKind.BLOCK)
        return TarEntry(
            name=name,
            kind=kind,
            size=size,
            mode=self._parse_number(block[100:108]) & 0o7777,
            link=link if kind in (TarEntryKind.SYMLINK, TarEntryKind.HARDLINK) else "",
            device=(self._parse_number(block[329:337]), self._parse_number(block[337:345])) if is_device else (0, 0),
            attributes=_list_attributes(extensions.pax) if extensions.pax else MappingProxyType({}),
        )

    def _parse_kind(self, block: bytes) -> TarEntryKind:
        flag = block[156:157]
        if flag == b"S":
            raise self._make_sparse_error()
        if flag not in _KINDS:
            raise ArchiveUnsafe(
                f"{self._where} has a member of the unknown type {quote(flag.decode('latin-1'))}: {_AGAIN}."
            )
        return _KINDS[flag]

    def _parse_size(self, block: bytes, pax: dict[str, bytes]) -> int:
        size = self._parse_number(block[124:136])
        if "size" in pax:
            if not _PAX_NUMBER.fullmatch(pax["size"]):
                raise self._make_damage_error("has a PAX size that is no number")
            size = int(pax["size"])
        if size > self._budget.limits.file_bytes:
            raise ArchiveTooLarge(
                f"{self._where} has a file of {size} bytes, beyond {self._budget.limits.file_bytes}: "
                "split or remove it."
            )
        return size

    def _parse_text(self, short: bytes, *, long: bytes | None, pax: bytes | None) -> str:
        """A path from the one place that names it."""
        if long is None and pax is None:
            return short.decode("utf-8", "surrogateescape")
        if long is not None and pax is not None:
            raise self._make_damage_error("names one member in two ways")
        raw = (long or b"") if pax is None else pax
        if b"\0" in raw or not raw:
            raise self._make_damage_error("has an empty name or one with a NUL")
        return raw.decode("utf-8", "surrogateescape")


class MemberStream(PullStream):
    """The bytes of one member, and none beyond."""

    def __init__(self, reader: TarReader) -> None:
        self._reader = reader

    def pull(self, size: int) -> bytes:
        return self._reader.read_data(size)


def _list_attributes(pax: Mapping[str, bytes]) -> Mapping[str, bytes]:
    return {key.removeprefix(_XATTR): value for key, value in pax.items() if key.startswith(_XATTR)}


def _parse_field(raw: bytes) -> bytes:
    return raw.split(b"\0", 1)[0]


def _parse_name(block: bytes) -> bytes:
    """Name and, in ustar proper, its prefix (GNU keeps other things there)."""
    name, prefix = _parse_field(block[:100]), _parse_field(block[345:500])
    return prefix + b"/" + name if prefix and block[257:263] == b"ustar\0" else name
