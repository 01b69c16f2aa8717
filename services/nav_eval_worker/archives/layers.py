"""One layer of an image, checked as an engine will unpack it: entry by entry, as root, into an empty folder.

An engine does so in a chroot, but a layer that needs that chroot to hold is not one that we pass on. Nor is one on
which an engine would stop half way: `LayerTree` remembers what each entry made, so that a file below a file, a hard
link to nothing or a folder behind a link that leads nowhere is found here, with its name.
"""

import io
import stat
from dataclasses import dataclass
from typing import BinaryIO

from nav_eval_worker.archives.attributes import CAPABILITY, check_attributes
from nav_eval_worker.archives.errors import ArchiveDamaged, ArchiveUnsafe, quote
from nav_eval_worker.archives.limits import ArchiveLimits, Budget
from nav_eval_worker.archives.member_paths import clean_path
from nav_eval_worker.archives.streams import HashingStream, decompress, to_buffered
from nav_eval_worker.archives.tar import TarEntry, TarEntryKind, TarReader

_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
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
_MOST_LINKS = 40
_LONGEST_LINK = 4095  # bytes that the kernel takes
_AGAIN = "build the image again with `docker build`"


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
    checker = _EntryChecker(where=where, limits=budget.limits)
    for entry in TarReader(to_buffered(tap), where=where, budget=budget, counted="layer_files", needs_end=False):
        checker.check(entry)
    return ImageLayer(diff_id=tap.digest, size=tap.count, files=checker.files, setuid_files=checker.setuid_files)


class LayerTree:
    """What stands where after the entries so far. Paths are kept as hashes: half a million would weigh too much."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._kinds: dict[int, TarEntryKind | None] = {}  # None is a mark that deletes: anything may take its place
        self._links: dict[int, str] = {}
        self._named: set[int] = set()  # folders that have an entry of their own; the others are made in passing

    def locate(self, path: str, *, makes_folders: bool) -> str:
        """PATH with the links among its folders followed; an engine makes the folders that a layer does not name."""
        folder, _, name = path.rpartition("/")
        if not folder:
            return name
        return f"{self._open_folder(folder, path, makes=makes_folders)}/{name}".lstrip("/")

    def put(self, place: str, kind: TarEntryKind, *, link: str = "") -> None:
        """An entry at a place that `locate` found."""
        mark = hash(place)
        known = self._kinds.get(mark)
        if known is not None and TarEntryKind.DIRECTORY in (known, kind) and known is not kind:
            raise ArchiveUnsafe(f"{self._where} has {quote(place)} as a file and as a folder: {_AGAIN}.")
        if known not in (None, TarEntryKind.DIRECTORY) or mark in self._named:
            raise ArchiveUnsafe(f"{self._where} has {quote(place)} twice: {_AGAIN}.")
        self._kinds[mark] = kind
        if kind is TarEntryKind.DIRECTORY:
            self._named.add(mark)
        if kind is TarEntryKind.SYMLINK:
            self._links[mark] = link

    def delete(self, place: str) -> None:
        """A mark that deletes what the layers below have there."""
        if hash(place) in self._kinds:
            raise ArchiveUnsafe(f"{self._where} has {quote(place)} and deletes it: {_AGAIN}.")
        self._kinds[hash(place)] = None

    def put_hard_link(self, place: str, target: str) -> None:
        """Another name for a file that came before it in the same layer."""
        known = hash(self.locate(target, makes_folders=False))
        kind = self._kinds.get(known)
        if kind in (None, TarEntryKind.DIRECTORY):
            raise ArchiveDamaged(
                f"{self._where} has a hard link to {quote(target)}, which is no file before it in the same layer: "
                f"{_AGAIN}."
            )
        self.put(place, kind, link=self._links.get(known, ""))

    def _open_folder(self, folder: str, path: str, *, makes: bool) -> str:
        if self._kinds.get(hash(folder)) is TarEntryKind.DIRECTORY:
            return folder
        return self._walk("", folder, path, makes=makes, budget=[_MOST_LINKS])

    def _walk(self, start: str, folder: str, path: str, *, makes: bool, budget: list[int]) -> str:
        here = start
        for part in folder.split("/"):
            if part in ("", "."):
                continue
            if part == "..":
                here = here.rpartition("/")[0]
                continue
            here = self._enter(here, part, path, makes=makes, budget=budget)
        return here

    def _enter(self, here: str, part: str, path: str, *, makes: bool, budget: list[int]) -> str:
        place = f"{here}/{part}" if here else part
        mark = hash(place)
        if mark not in self._kinds and makes:
            self._kinds[mark] = TarEntryKind.DIRECTORY
        match self._kinds.get(mark):
            case TarEntryKind.DIRECTORY:
                return place
            case TarEntryKind.SYMLINK:
                return self._follow(here, self._links[mark], path, budget=budget)
        what = "below a file" if mark in self._kinds else "below a folder that is not there"
        raise ArchiveDamaged(f"{self._where} has {quote(path)} {what}, {quote(place)}: {_AGAIN}.")

    def _follow(self, here: str, link: str, path: str, *, budget: list[int]) -> str:
        """Through a link no folder is made: an engine fails at one that leads nowhere, or round and round."""
        budget[0] -= 1
        if budget[0] < 0:
            raise ArchiveDamaged(f"{self._where} has {quote(path)} below links that lead in a circle: {_AGAIN}.")
        return self._walk("" if link.startswith("/") else here, link, path, makes=False, budget=budget)


class _EntryChecker:
    """Looks at each entry of one layer."""

    def __init__(self, *, where: str, limits: ArchiveLimits) -> None:
        self.files = self.setuid_files = 0
        self._where, self._limits = where, limits
        self._tree = LayerTree(where)

    def check(self, entry: TarEntry) -> None:
        name = "" if entry.name == "/" else entry.name  # kaniko's name for the root
        path = clean_path(name, where=self._where, limits=self._limits, backslashes=True)
        self.files += bool(name)
        check_attributes(entry.attributes, path=path, where=self._where)
        if not path and entry.kind is not TarEntryKind.DIRECTORY:
            raise ArchiveUnsafe(f"{self._where} has a {entry.kind} in the place of its root: {_AGAIN}.")
        self._place(self._tree.locate(path, makes_folders=True), entry)
        if entry.kind is TarEntryKind.FILE and _has_raised_rights(entry):
            self.setuid_files += 1

    def _place(self, place: str, entry: TarEntry) -> None:
        self._check_kind(place, entry)
        folder, _, name = place.rpartition("/")
        if name.startswith(_WHITEOUT):
            self._check_whiteout(place, name, entry)
            if name != _OPAQUE:
                self._tree.delete(f"{folder}/{name.removeprefix(_WHITEOUT)}".lstrip("/"))
        if entry.kind is TarEntryKind.HARDLINK:
            target = clean_path(entry.link, where=f"{self._where}: a hard link", limits=self._limits, backslashes=True)
            self._tree.put_hard_link(place, target)
        else:
            self._tree.put(place, entry.kind, link=entry.link)

    def _check_whiteout(self, place: str, name: str, entry: TarEntry) -> None:
        """`.wh.NAME` deletes NAME below: it must be a name."""
        if name.removeprefix(_WHITEOUT) in ("", ".", ".."):
            raise ArchiveUnsafe(f"{self._where} deletes a parent folder by {quote(place)}: remove that file.")
        if entry.kind is not TarEntryKind.FILE:
            raise ArchiveUnsafe(f"{self._where} deletes by a {entry.kind}, {quote(place)}: remove it.")

    def _check_kind(self, place: str, entry: TarEntry) -> None:
        if place in _MOUNT_POINTS and entry.kind not in (
            TarEntryKind.DIRECTORY,
            TarEntryKind.CHARACTER,
        ):  # a whiteout is fine
            raise ArchiveUnsafe(f"{self._where} has a {entry.kind} at {quote('/' + place)}: make it an empty folder.")
        match entry.kind:
            case TarEntryKind.FIFO:
                raise self._make_kind_error(place, entry)
            case TarEntryKind.BLOCK | TarEntryKind.CHARACTER if not _is_harmless(place, entry):
                raise self._make_kind_error(place, entry)
            case TarEntryKind.SYMLINK if not 0 < len(entry.link.encode("utf-8", "surrogateescape")) <= _LONGEST_LINK:
                raise ArchiveUnsafe(f"{self._where} has an empty or endless symbolic link, {quote(place)}: remove it.")

    def _make_kind_error(self, place: str, entry: TarEntry) -> ArchiveUnsafe:
        return ArchiveUnsafe(f"{self._where} has a {entry.kind}, {quote(place)}: remove it and build the image again.")


def _is_harmless(place: str, entry: TarEntry) -> bool:
    """An overlay whiteout, or one of the devices that every /dev has."""
    if entry.kind is not TarEntryKind.CHARACTER:
        return False
    return entry.device == (0, 0) or _HARMLESS_DEVICES.get(place) == entry.device


def _has_raised_rights(entry: TarEntry) -> bool:
    return bool(entry.mode & (stat.S_ISUID | stat.S_ISGID)) or CAPABILITY in entry.attributes
