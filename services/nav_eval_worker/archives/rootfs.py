"""An image's files in a folder, for runtimes that have no engine to put layers on top of each other.

Layers come from other people: a link in one may point anywhere, and a later layer may write through it.
Every path is therefore resolved as if the folder were `/`, and nothing is ever written through a link
that leads out of it. Devices are left out, set-user-id bits are dropped.
"""

import os
import shutil
import tarfile
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from nav_eval_worker.archives.errors import ArchiveDamaged, ArchiveUnsafe, quote
from nav_eval_worker.archives.images import ImageSummary, SpoolSlice, get_layer_path
from nav_eval_worker.archives.limits import IMAGE_LIMITS, ArchiveLimits, Budget
from nav_eval_worker.archives.member_paths import clean_path
from nav_eval_worker.archives.streams import CHUNK, to_buffered
from nav_eval_worker.archives.tar import TarEntry, TarEntryKind, TarReader

MOST_LINKS = 40
_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"


def unpack_image(archive: Path, target: Path, summary: ImageSummary, *, limits: ArchiveLimits = IMAGE_LIMITS) -> None:
    """Lay the layers of ARCHIVE (as `rewrite_archive` wrote it) on top of each other in the new folder TARGET."""
    target.mkdir()
    with tarfile.open(archive) as members, archive.open("rb") as file:
        places = {member.name: (member.offset_data, member.size) for member in members}
        for layer in summary.layers:
            offset, size = places[get_layer_path(layer)]
            try:
                _LayerUnpacker(target, file, offset, size, limits=limits).run()
            except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
                raise ArchiveDamaged(
                    f"The image uses {quote(Path(str(error.filename)).name)} as a file and as a folder: "
                    "build the image again with `docker build`."
                ) from error


def resolve_path(root: Path, path: str) -> Path:
    """Where PATH leads below ROOT, links followed as if ROOT were `/`."""
    done: list[str] = []
    todo = deque(path.split("/"))
    links = 0
    while todo:
        part = todo.popleft()
        if part == "..":
            done = done[:-1]
        elif part not in ("", "."):
            here = root.joinpath(*done, part)
            if not here.is_symlink():
                done.append(part)
                continue
            links += 1
            if links > MOST_LINKS:
                raise ArchiveUnsafe(f"The image's links lead in a circle at {quote(path)}: remove one of them.")
            leads = str(here.readlink())
            done = [] if leads.startswith("/") else done
            todo.extendleft(reversed(leads.split("/")))
    return root.joinpath(*done)


class _LayerUnpacker:
    """One layer. What it deletes goes first, then comes what it brings."""

    def __init__(self, root: Path, file: BinaryIO, offset: int, size: int, *, limits: ArchiveLimits) -> None:
        self._root, self._file, self._offset, self._size, self._limits = root, file, offset, size, limits

    def run(self) -> None:
        for path, entry, _ in self._iter_entries():
            self._delete(path, entry)
        for path, entry, reader in self._iter_entries():
            if not _is_whiteout(path, entry):
                self._write_entry(path, entry, reader)

    def _iter_entries(self) -> Iterator[tuple[str, TarEntry, TarReader]]:
        stream = to_buffered(SpoolSlice(self._file, self._offset, self._size))
        reader = TarReader(stream, where="A layer", budget=Budget(self._limits), counted="layer_files", needs_end=False)
        for entry in reader:
            path = clean_path(entry.name.lstrip("/"), where="A layer", limits=self._limits, backslashes=True)
            if path:
                yield path, entry, reader

    def _find_place(self, path: str) -> Path:
        """The name itself is not followed, its folders are."""
        folder, _, name = path.rpartition("/")
        return resolve_path(self._root, folder) / name

    def _delete(self, path: str, entry: TarEntry) -> None:
        place = self._find_place(path)
        if place.name == _OPAQUE:
            for child in place.parent.iterdir() if place.parent.is_dir() else ():
                _remove(child)
        elif place.name.startswith(_WHITEOUT):
            _remove(place.with_name(place.name.removeprefix(_WHITEOUT)))
        elif _is_whiteout(path, entry):
            _remove(place)

    def _write_entry(self, path: str, entry: TarEntry, reader: TarReader) -> None:
        place = self._find_place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.kind is TarEntryKind.DIRECTORY:
            self._write_folder(path, place, entry)
            return
        _remove(place)
        match entry.kind:
            case TarEntryKind.FILE:
                self._write_file(place, entry, reader)
            case TarEntryKind.SYMLINK:
                place.symlink_to(entry.link)
            case TarEntryKind.HARDLINK:
                self._write_link(place, entry)

    def _write_folder(self, path: str, place: Path, entry: TarEntry) -> None:
        if place.is_symlink() and resolve_path(self._root, path).is_dir():
            return  # a folder that the layers below have elsewhere: /lib → usr/lib
        if place.is_symlink() or not place.is_dir():
            _remove(place)
            place.mkdir()
        place.chmod(entry.mode & 0o777 | 0o700)

    @staticmethod
    def _write_file(place: Path, entry: TarEntry, reader: TarReader) -> None:
        with place.open("xb") as file:
            while data := reader.read_data(CHUNK):
                file.write(data)
        place.chmod(entry.mode & 0o777 | 0o600)

    def _write_link(self, place: Path, entry: TarEntry) -> None:
        known = self._find_place(
            clean_path(entry.link.lstrip("/"), where="A layer", limits=self._limits, backslashes=True)
        )
        try:
            os.link(known, place, follow_symlinks=False)
        except OSError as error:
            raise ArchiveDamaged(
                f"A layer has a hard link to {quote(entry.link)}, which is not there: build the image again."
            ) from error


def _is_whiteout(path: str, entry: TarEntry) -> bool:
    """A mark that deletes, in either of the two forms."""
    is_device = entry.kind is TarEntryKind.CHARACTER and entry.device == (0, 0)
    return is_device or path.rpartition("/")[2].startswith(_WHITEOUT)


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
