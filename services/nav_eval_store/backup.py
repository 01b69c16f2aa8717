"""A whole installation in a folder, and back: between machines, and between SQLite and Postgres.

    manifest.json        version of the tables; rows and digest of every file
    tables/<name>.jsonl  one row per line
    blobs.jsonl          key, size and digest of every blob
    blobs/…              the bytes, under their keys

Rows are one moment of the database. Blobs are written before the rows that name them, so those that are copied
afterwards are at least the ones that the rows need; one that is deleted while it is copied is named and left out.
Secrets stay sealed as they are in the database; the manifest names the keys that open them, which are elsewhere.

A restore looks at every byte before it writes one, then copies blobs, then all rows in one transaction: an installation
has everything or no row at all. Whatever breaks off (a full disk) is completed by doing it again.
"""

import base64
import hashlib
import re
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Column, LargeBinary, Table, Uuid, func, insert, select, text
from sqlalchemy.exc import DBAPIError

from nav_eval_store.blobs import BlobInfo, BlobStore
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import BackupError, KeyMissing, NotFound
from nav_eval_store.migrations import runner
from nav_eval_store.models import Base
from nav_eval_store.models.base import UtcDateTime
from nav_eval_store.notifications.webhook_secrets import list_key_ids

T = TypeVar("T")
FORMAT = "nav-eval/backup/1"
BATCH = 1000
DIGEST = re.compile(r"[0-9a-f]{64}")


class TableFile(msgspec.Struct, frozen=True):
    """One file of rows."""

    rows: int
    sha256: str


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup holds."""

    format: str = FORMAT
    revision: str
    created_at: datetime
    tables: dict[str, TableFile]
    blobs: int
    blob_bytes: int
    blob_list: str | None = None  #: sha256 of blobs.jsonl; None in backups of before, which had no such file
    vanished: list[str] = []  #: blobs that were deleted while they were copied
    keys: list[str] = []  #: ids of the keys that its secrets are kept with


class CopiedBlob(msgspec.Struct, frozen=True):
    """A line of blobs.jsonl."""

    key: str
    size: int
    sha256: str


MANIFEST, BLOB_LIST, UNFINISHED = "manifest.json", "blobs.jsonl", "unfinished"


def write_backup(database: Database, blobs: BlobStore, folder: Path) -> BackupManifest:
    """Write everything into an empty folder, or go on with one that broke off; only its owner can read it."""
    runner.check_revision(database)
    try:
        _begin_folder(folder)
        with database.snapshot() as session:
            tables = {table.name: _write_table(session, table, folder) for table in _list_tables()}
            keys = list_key_ids(session)
        copied, vanished = _copy_blobs(blobs, BlobStore(folder / "blobs"))
        lines = b"".join(msgspec.json.encode(blob) + b"\n" for blob in copied)
        (folder / BLOB_LIST).write_bytes(lines)
        manifest = BackupManifest(
            revision=runner.get_head_revision(),
            created_at=database.clock.now(),
            tables=tables,
            blobs=len(copied),
            blob_bytes=sum(blob.size for blob in copied),
            blob_list=hashlib.sha256(lines).hexdigest(),
            vanished=vanished,
            keys=keys,
        )
        (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
    except OSError as error:
        raise BackupError(f"The backup is not complete: {error}. Make room and do it again: it goes on.") from error
    (folder / UNFINISHED).unlink()
    return manifest


def _begin_folder(folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()) and not (folder / UNFINISHED).exists():
        raise BackupError(f"{folder} is not empty; give a new folder.")
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    (folder / UNFINISHED).touch()
    (folder / MANIFEST).unlink(missing_ok=True)


def _copy_blobs(source: BlobStore, target: BlobStore) -> tuple[list[CopiedBlob], list[str]]:
    """What is there now; and what was, when the list was made."""
    copied: list[CopiedBlob] = []
    vanished: list[str] = []
    for blob in source.list():
        try:
            copied.append(_copy_blob(source, target, blob))
        except NotFound:
            target.delete(blob.key)
            vanished.append(blob.key)
    return copied, vanished


def _copy_blob(source: BlobStore, target: BlobStore, blob: BlobInfo) -> CopiedBlob:
    """Copied unless the same bytes are there already."""
    if target.exists(blob.key) and target.size(blob.key) == blob.size:
        digest = _hash_blob(source, blob.key)
        if _hash_blob(target, blob.key) == digest:
            return CopiedBlob(blob.key, blob.size, digest)
    made = target.put(blob.key, source.stream(blob.key))
    return CopiedBlob(made.key, made.size, made.sha256 or "")


def _hash_blob(blobs: BlobStore, key: str) -> str:
    with blobs.open(key) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def restore_backup(database: Database, blobs: BlobStore, folder: Path, *, without_keys: bool = False) -> BackupManifest:
    """Read a backup into a database without rows; all of it, or no row."""
    manifest, source = _read_manifest(folder), BlobStore(folder / "blobs")
    missing = [key for key in manifest.keys if key not in database.keyring.read_keys()]
    if missing and not without_keys:
        raise KeyMissing(
            f"The backup's secrets are kept with the key {', '.join(missing)}, which is not here. Give this "
            "installation the keys of the one that wrote it (NAV_EVAL_ENCRYPTION_KEYS, or its home's encryption-keys); "
            "`--without-keys` restores without them, and webhooks must then be made anew."
        )
    listed = _read_blob_list(folder, manifest, source)
    runner.upgrade(database)
    with database.read() as session:
        _refuse_occupied(session)
    try:
        for blob in listed:
            if _copy_blob(source, blobs, BlobInfo(blob.key, blob.size)).sha256 != blob.sha256:
                raise BackupError(f"The blob {blob.key} changed while it was read; the backup is damaged.")
        with database.begin() as session:
            _refuse_occupied(session)
            _defer_foreign_keys(session)
            for table in _list_tables():
                _read_table(session, table, folder, rows=manifest.tables[table.name].rows)
            _continue_sequences(session)
    except (OSError, DBAPIError) as error:
        raise BackupError(
            f"Nothing was restored: {error}. Mend that and do it again; blobs that are there are not copied twice."
        ) from error
    return manifest


def _read_blob_list(folder: Path, manifest: BackupManifest, source: BlobStore) -> list[CopiedBlob]:
    """What the manifest promises, after every byte was found as it was written."""
    if manifest.blob_list is None:
        return _read_former_blobs(manifest, source)
    try:
        lines = (folder / BLOB_LIST).read_bytes()
        listed = [msgspec.json.decode(line, type=CopiedBlob) for line in lines.splitlines()]
    except (OSError, msgspec.MsgspecError) as error:
        raise BackupError(f"{folder} is not a whole backup: {error}.") from error
    if hashlib.sha256(lines).hexdigest() != manifest.blob_list or len(listed) != manifest.blobs:
        raise BackupError(f"{folder / BLOB_LIST} is not as it was written; the backup is damaged.")
    for blob in listed:
        if not source.exists(blob.key):
            raise BackupError(f"The blob {blob.key} is missing; the backup is damaged.")
        if source.size(blob.key) != blob.size or _hash_blob(source, blob.key) != blob.sha256:
            raise BackupError(f"The blob {blob.key} is not as it was written; the backup is damaged.")
    return listed


def _read_former_blobs(manifest: BackupManifest, source: BlobStore) -> list[CopiedBlob]:
    """Backups of before say how many blobs there were, and how large all of them; some names are digests."""
    listed = [CopiedBlob(blob.key, blob.size, _hash_blob(source, blob.key)) for blob in source.list()]
    if (len(listed), sum(blob.size for blob in listed)) != (manifest.blobs, manifest.blob_bytes):
        raise BackupError(
            f"The backup has {len(listed)} blobs where {manifest.blobs} were written, or other bytes; it is damaged."
        )
    for blob in listed:
        name = blob.key.rpartition("/")[2]
        if DIGEST.fullmatch(name) and name != blob.sha256:
            raise BackupError(f"The blob {blob.key} is not as it was written; the backup is damaged.")
    return listed


def _list_tables() -> list[Table]:
    """Those that others refer to first."""
    return Base.metadata.sorted_tables


def _get_table_path(folder: Path, table: str) -> Path:
    return folder / "tables" / f"{table}.jsonl"


def _write_table(session: Session, table: Table, folder: Path) -> TableFile:
    digest, rows = hashlib.sha256(), 0
    query = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=BATCH)
    with _get_table_path(folder, table.name).open("wb") as file:
        for row in session.execute(query):
            line = msgspec.json.encode({key: _to_plain(value) for key, value in row._mapping.items()}) + b"\n"
            digest.update(line)
            file.write(line)
            rows += 1
    return TableFile(rows, digest.hexdigest())


def _to_plain(value: Any) -> Any:  # noqa: ANN401
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _read_manifest(folder: Path) -> BackupManifest:
    """The manifest, after every file of rows was found as it was written."""
    try:
        if (folder / UNFINISHED).exists():
            raise BackupError(f"{folder} is not a whole backup: it broke off. Write it again, into the same folder.")
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=BackupManifest)
        damaged = [name for name, table in manifest.tables.items() if _compute_digest(folder, name) != table.sha256]
    except OSError as error:
        raise BackupError(f"{folder} is not a whole backup: {error}.") from error
    except msgspec.MsgspecError as error:
        raise BackupError(f"{folder / MANIFEST}: {error}.") from error
    missing = {table.name for table in _list_tables()} - manifest.tables.keys()
    if manifest.revision == runner.get_head_revision() and missing:
        raise BackupError(f"{folder / MANIFEST} does not name the table {min(missing)}; the backup is damaged.")
    if damaged:
        raise BackupError(f"{_get_table_path(folder, damaged[0])} is not as it was written; the backup is damaged.")
    if manifest.revision != runner.get_head_revision():
        raise BackupError(
            f"The backup has tables of version {manifest.revision}, this program has {runner.get_head_revision()}; "
            "restore it with the version of nav-eval that wrote it, then run `nav-eval admin migrate` with this one."
        )
    return manifest


def _compute_digest(folder: Path, table: str) -> str:
    with _get_table_path(folder, table).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refuse_occupied(session: Session) -> None:
    for table in _list_tables():
        if session.execute(select(table).limit(1)).first() is not None:
            raise BackupError(f"The database is in use: {table.name} has rows. Restore into a new one.")


def _defer_foreign_keys(session: Session) -> None:
    """Submissions refer to each other; what they refer to is there at the end."""
    sqlite = session.get_bind().dialect.name == "sqlite"
    session.execute(text("PRAGMA defer_foreign_keys = ON" if sqlite else "SET CONSTRAINTS ALL DEFERRED"))


def _read_table(session: Session, table: Table, folder: Path, *, rows: int) -> None:
    count = 0
    with _get_table_path(folder, table.name).open("rb") as file:
        for batch in _split_batches(_parse_row(table, msgspec.json.decode(line)) for line in file):
            session.execute(insert(table), batch)
            count += len(batch)
    if count != rows:
        raise BackupError(f"{table.name} has {count} rows where {rows} were written; the backup is damaged.")


def _split_batches(rows: Iterator[T]) -> Iterator[list[T]]:
    while batch := list(islice(rows, BATCH)):
        yield batch


def _parse_row(table: Table, row: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value is None else _parse_value(table.columns[key], value) for key, value in row.items()}


def _parse_value(column: Column[Any], value: Any) -> Any:  # noqa: ANN401
    match column.type:
        case UtcDateTime():
            return datetime.fromisoformat(value)
        case Uuid():
            return UUID(value)
        case LargeBinary():
            return base64.b64decode(value)
    return value


def _continue_sequences(session: Session) -> None:
    """Postgres hands out the next number of a serial column by itself; it must follow the restored ones."""
    if session.get_bind().dialect.name != "postgresql":
        return
    for table in _list_tables():
        column = table.columns.get("id")
        if column is not None and isinstance(column.type, BigInteger):
            highest = session.scalar(select(func.max(column)))
            if highest is not None:
                sequence = func.pg_get_serial_sequence(table.name, "id")
                session.execute(select(func.setval(sequence, highest)))
