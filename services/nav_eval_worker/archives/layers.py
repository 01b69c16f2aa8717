"""A layer is a tar of changes to a file system: what may stand in one.

The engine unpacks layers as root. It does so in a chroot, but an archive that needs that chroot to
hold is not one that we pass on.
"""

import io
import stat
from dataclasses import dataclass
from typing import BinaryIO

from nav_eval_worker.archives.errors import ArchiveUnsafe, shown
from nav_eval_worker.archives.limits import Budget
from nav_eval_worker.archives.paths import clean_path
from nav_eval_worker.archives.streams import Tap, buffered, unpacked
from nav_eval_worker.archives.tar import Entry, Kind, TarReader

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
class Layer:
    """One checked layer."""

    diff_id: str  #: sha256 of the plain tar, the name that the image's configuration knows it by
    size: int  #: bytes of the plain tar
    files: int  #: entries of every kind
    setuid_files: int  #: programs that ask for another user's or group's rights, or for capabilities


def read_layer(source: io.BufferedReader, *, where: str, budget: Budget, copy: BinaryIO | None = None) -> Layer:
    """Check a layer to its last byte; its plain tar goes to COPY on the way."""
    _, plain = unpacked(source, where=where, budget=budget, spend="layer_bytes")
    tap = Tap(plain, copy)
    checker = _EntryChecker(where=where, budget=budget)
    for entry in TarReader(buffered(tap), where=where, budget=budget, counted="layer_files", needs_end=False):
        checker.check(entry)
    return Layer(diff_id=tap.digest, size=tap.count, files=checker.files, setuid_files=checker.setuid_files)


class _EntryChecker:
    """Looks at each entry of one layer, and remembers the names it has seen."""

    def __init__(self, *, where: str, budget: Budget) -> None:
        self.files = self.setuid_files = 0
        self._where, self._limits = where, budget.limits
        self._seen: set[int] = set()  # hashes: half a million paths would weigh too much

    def check(self, entry: Entry) -> None:
        if entry.name == "/" and entry.kind is Kind.DIRECTORY:  # kaniko's name for the root
            return
        path = clean_path(entry.name, where=self._where, limits=self._limits, backslashes=True)
        self.files += 1
        self._check_unique(path, entry)
        self._check_whiteout(path)
        self._check_kind(path, entry)
        self._check_attributes(path, entry)
        if entry.kind is Kind.FILE and _raises_rights(entry):
            self.setuid_files += 1

    def _check_unique(self, path: str, entry: Entry) -> None:
        """Builders repeat folders; anything else that comes twice is read differently by different engines."""
        if entry.kind is Kind.DIRECTORY:
            return
        if (mark := hash(path)) in self._seen:
            raise ArchiveUnsafe(f"{self._where} has {shown(path)} twice: build the image again with `docker build`.")
        self._seen.add(mark)

    def _check_whiteout(self, path: str) -> None:
        """`.wh.NAME` deletes NAME below: it must be a name."""
        name = path.rpartition("/")[2]
        if name.startswith(_WHITEOUT) and name.removeprefix(_WHITEOUT) in ("", ".", ".."):
            raise ArchiveUnsafe(f"{self._where} deletes a parent folder by {shown(path)}: remove that file.")

    def _check_kind(self, path: str, entry: Entry) -> None:
        if path in _MOUNT_POINTS and entry.kind not in (Kind.DIRECTORY, Kind.CHARACTER):  # a whiteout is fine
            raise ArchiveUnsafe(f"{self._where} has a {entry.kind} at {shown('/' + path)}: make it an empty folder.")
        match entry.kind:
            case Kind.FIFO:
                raise self._refused(path, entry)
            case Kind.BLOCK | Kind.CHARACTER if not _is_harmless(path, entry):
                raise self._refused(path, entry)
            case Kind.HARDLINK:
                clean_path(entry.link, where=f"{self._where}: a hard link", limits=self._limits, backslashes=True)
            case Kind.SYMLINK if not entry.link or len(entry.link) > self._limits.path_bytes:
                raise ArchiveUnsafe(f"{self._where} has an empty or endless symbolic link, {shown(path)}: remove it.")

    def _refused(self, path: str, entry: Entry) -> ArchiveUnsafe:
        return ArchiveUnsafe(f"{self._where} has a {entry.kind}, {shown(path)}: remove it and build the image again.")

    def _check_attributes(self, path: str, entry: Entry) -> None:
        """The overlay file system reads its own orders from these: only the engine may give them."""
        for name in entry.attributes:
            if name.startswith(_OVERLAY_ATTRIBUTES):
                raise ArchiveUnsafe(
                    f"{self._where} has the overlay attribute {shown(name)} on {shown(path)}: "
                    "build the image again with `docker build`."
                )


def _is_harmless(path: str, entry: Entry) -> bool:
    """An overlay whiteout, or one of the devices that every /dev has."""
    if entry.kind is not Kind.CHARACTER:
        return False
    return entry.device == (0, 0) or _HARMLESS_DEVICES.get(path) == entry.device


def _raises_rights(entry: Entry) -> bool:
    return bool(entry.mode & (stat.S_ISUID | stat.S_ISGID)) or "security.capability" in entry.attributes
