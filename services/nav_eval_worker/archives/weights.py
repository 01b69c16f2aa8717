"""Check a team's model weights, and unpack them: folders and files that are mounted read-only.

Nothing else is allowed in the archive, so unpacking needs no rules about links. The bytes that are
checked are the bytes that are written: no second reader gets to understand them differently.
"""

import hashlib
import shutil
import tempfile
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from nav_eval_worker.archives.errors import ArchiveDamaged, ArchiveInvalid, ArchiveUnsafe, quote
from nav_eval_worker.archives.images import WeightsSummary, open_source
from nav_eval_worker.archives.limits import WEIGHTS_LIMITS, ArchiveLimits, Budget
from nav_eval_worker.archives.member_paths import clean_path
from nav_eval_worker.archives.streams import CHUNK, HashingStream, MeteredStream, Readable, decompress, to_buffered
from nav_eval_worker.archives.tar import TarEntry, TarEntryKind, TarReader

_WHERE = "The weights archive"
_AGAIN = "pack a folder of plain files with `tar -czf weights.tar.gz -C FOLDER .`"


def inspect_weights(source: Path | Readable, limits: ArchiveLimits = WEIGHTS_LIMITS) -> WeightsSummary:
    """What SOURCE holds, after every byte of it was checked; nothing is written anywhere."""
    return _read_weights(source, limits, folder=None)


def unpack_weights(source: Path | Readable, target: Path, limits: ArchiveLimits = WEIGHTS_LIMITS) -> WeightsSummary:
    """Unpack SOURCE into the new folder TARGET, which appears when it is complete or not at all."""
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        summary = _read_weights(source, limits, folder=part)
        part.chmod(0o755)
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return summary


def _read_weights(source: Path | Readable, limits: ArchiveLimits, *, folder: Path | None) -> WeightsSummary:
    budget = Budget(limits)
    with open_source(source) as stream:
        upload = to_buffered(MeteredStream(stream, budget=budget, spend=lambda n: budget.spend("compressed_bytes", n)))
        if not upload.peek(1):
            raise ArchiveDamaged(f"The weights upload is empty: {_AGAIN}.")
        compression, plain = decompress(upload, where=_WHERE, budget=budget, spend="archive_bytes")
        reader = TarReader(to_buffered(plain), where=_WHERE, budget=budget, counted="members")
        tree = _WeightsTree(reader, limits, folder)
        for entry in reader:
            tree.take(entry)
    if not tree.files:
        raise ArchiveInvalid(f"{_WHERE} holds no file: {_AGAIN}.")
    return WeightsSummary(
        content_digest=tree.digest,
        compression=compression,
        compressed_bytes=budget.spent["compressed_bytes"],
        files=len(tree.files),
        unpacked_bytes=tree.size,
    )


class _WeightsTree:
    """The files seen so far, each by what identifies it; written below FOLDER if there is one."""

    def __init__(self, reader: TarReader, limits: ArchiveLimits, folder: Path | None) -> None:
        self.files: dict[str, str] = {}
        self.size = 0
        self._reader, self._limits, self._folder = reader, limits, folder
        self._folders: set[str] = set()

    def take(self, entry: TarEntry) -> None:
        path = clean_path(entry.name, where=_WHERE, limits=self._limits)
        if entry.kind not in (TarEntryKind.DIRECTORY, TarEntryKind.FILE) or not path:
            self._check_root(path, entry)
            return
        self._folders.update(str(parent) for parent in PurePosixPath(path).parents)
        if entry.kind is TarEntryKind.DIRECTORY:
            self._folders.add(path)
        elif path in self.files:
            raise ArchiveUnsafe(f"{_WHERE} has {quote(path)} twice: {_AGAIN}.")
        else:
            self.files[path] = ""
        self._check_no_file_is_a_folder(path)
        if entry.kind is TarEntryKind.FILE:
            self.files[path] = self._content(path, entry)

    def _check_root(self, path: str, entry: TarEntry) -> None:
        if entry.kind is not TarEntryKind.DIRECTORY:
            raise ArchiveUnsafe(f"{_WHERE} has a {entry.kind}, {quote(path)}: {_AGAIN}.")

    def _check_no_file_is_a_folder(self, path: str) -> None:
        for place in (path, *map(str, PurePosixPath(path).parents)):
            if place in self.files and place in self._folders:
                raise ArchiveUnsafe(f"{_WHERE} has {quote(place)} both as a file and as a folder: {_AGAIN}.")

    def _content(self, path: str, entry: TarEntry) -> str:
        """Pass the file's bytes, to the disk if wanted, and say what identifies it."""
        if self._folder is None:
            return self._pass(entry, None)
        target = self._folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            what = self._pass(entry, file)
        target.chmod(0o555 if entry.mode & 0o111 else 0o444)
        return what

    def _pass(self, entry: TarEntry, copy: BinaryIO | None) -> str:
        tap = HashingStream(self._reader.data, copy)
        while tap.pull(CHUNK):
            pass
        self.size += tap.count
        return f"{tap.digest} {'x' if entry.mode & 0o111 else '-'}"

    @property
    def digest(self) -> str:
        lines = "".join(f"{what} {path}\0" for path, what in sorted(self.files.items()))
        return f"sha256:{hashlib.sha256(lines.encode('utf-8', 'surrogateescape')).hexdigest()}"
