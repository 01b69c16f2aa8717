"""Check a team's model weights: a plain tar of folders and files that is mounted read-only.

Nothing else is allowed in it: whoever unpacks it needs no rules about links.
"""

import hashlib
from pathlib import Path, PurePosixPath

from nav_eval_worker.archives.errors import ArchiveDamaged, ArchiveInvalid, ArchiveUnsafe, shown
from nav_eval_worker.archives.images import opened
from nav_eval_worker.archives.limits import WEIGHTS_LIMITS, ArchiveLimits, Budget
from nav_eval_worker.archives.paths import clean_path
from nav_eval_worker.archives.streams import CHUNK, Metered, Readable, Tap, buffered, unpacked
from nav_eval_worker.archives.summary import WeightsSummary
from nav_eval_worker.archives.tar import Entry, Kind, TarReader

_WHERE = "The weights archive"
_AGAIN = "pack a folder of plain files with `tar -czf weights.tar.gz -C FOLDER .`"


def inspect_weights(source: Path | Readable, limits: ArchiveLimits = WEIGHTS_LIMITS) -> WeightsSummary:
    """What SOURCE holds, after every byte of it was checked; nothing is written anywhere."""
    budget = Budget(limits)
    with opened(source) as stream:
        upload = buffered(Metered(stream, budget=budget, spend=lambda n: budget.spend("compressed_bytes", n)))
        if not upload.peek(1):
            raise ArchiveDamaged(f"The weights upload is empty: {_AGAIN}.")
        compression, plain = unpacked(upload, where=_WHERE, budget=budget, spend="archive_bytes")
        reader = TarReader(buffered(plain), where=_WHERE, budget=budget, counted="members")
        tree = _Tree(reader, limits)
        for entry in reader:
            tree.take(entry)
    tree.check_folders()
    return WeightsSummary(
        content_digest=tree.digest,
        compression=compression,
        compressed_bytes=budget.spent["compressed_bytes"],
        files=len(tree.files),
        unpacked_bytes=tree.size,
    )


class _Tree:
    """The files seen so far, each by what identifies it."""

    def __init__(self, reader: TarReader, limits: ArchiveLimits) -> None:
        self.files: dict[str, str] = {}
        self.size = 0
        self._reader, self._limits = reader, limits
        self._folders: set[str] = set()

    def take(self, entry: Entry) -> None:
        path = clean_path(entry.name, where=_WHERE, limits=self._limits)
        if entry.kind is Kind.DIRECTORY:
            self._folders.add(path)
        elif entry.kind is not Kind.FILE:
            raise ArchiveUnsafe(f"{_WHERE} has a {entry.kind}, {shown(path)}: {_AGAIN}.")
        elif path in self.files:
            raise ArchiveUnsafe(f"{_WHERE} has {shown(path)} twice: {_AGAIN}.")
        else:
            self.files[path] = self._content(entry)

    def _content(self, entry: Entry) -> str:
        tap = Tap(self._reader.data)
        while tap.pull(CHUNK):
            pass
        self.size += tap.count
        return f"{tap.digest} {entry.mode & 0o111:o}"

    def check_folders(self) -> None:
        """There is something in it, and no file is a folder too."""
        if not self.files:
            raise ArchiveInvalid(f"{_WHERE} holds no file: {_AGAIN}.")
        parents = {str(parent) for path in (*self.files, *self._folders) for parent in PurePosixPath(path).parents}
        for path in sorted((parents | self._folders) & self.files.keys()):
            raise ArchiveUnsafe(f"{_WHERE} has {shown(path)} both as a file and as a folder: {_AGAIN}.")

    @property
    def digest(self) -> str:
        lines = "".join(f"{what} {path}\0" for path, what in sorted(self.files.items()))
        return f"sha256:{hashlib.sha256(lines.encode('utf-8', 'surrogateescape')).hexdigest()}"
