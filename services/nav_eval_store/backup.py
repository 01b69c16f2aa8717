"""A whole installation in a folder, and back: between machines, and between SQLite and Postgres.

    manifest.json        version of the tables; rows and digest of every file
    tables/<name>.jsonl  one row per line
    blobs/…              the bytes, under their keys

Rows are one moment of the database. Blobs are written before the rows that name them, so those that
are copied afterwards are at least the ones that the rows need.
"""

import base64
import hashlib
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from sqlalchemy import BigInteger, Column, LargeBinary, Table, Uuid, func, insert, select, text

from nav_eval_store.blobs import BlobStore
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import BackupError
from nav_eval_store.migrations import runner
from nav_eval_store.models import Base
from nav_eval_store.models.base import UtcDateTime

T = TypeVar("T")
FORMAT = "nav-eval/backup/1"
BATCH = 1000


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


def write_backup(database: Database, blobs: BlobStore, folder: Path) -> BackupManifest:
    """Write everything into an empty folder, which only its owner can read: it holds secrets."""
    if folder.exists() and any(folder.iterdir()):
        raise BackupError(f"{folder} is not empty; give a new folder.")
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    runner.check_revision(database)
    with database.snapshot() as session:
        tables = {table.name: _write_table(session, table, folder) for table in _list_tables()}
    copied = [BlobStore(folder / "blobs").put(blob.key, blobs.stream(blob.key)) for blob in blobs.list()]
    manifest = BackupManifest(
        revision=runner.get_head_revision(),
        created_at=database.clock.now(),
        tables=tables,
        blobs=len(copied),
        blob_bytes=sum(blob.size for blob in copied),
    )
    (folder / "manifest.json").write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
    return manifest


def restore_backup(database: Database, blobs: BlobStore, folder: Path) -> BackupManifest:
    """Read a backup into a database without rows; all of it, or nothing."""
    manifest = _read_manifest(folder)
    runner.upgrade(database)
    with database.begin() as session:
        _refuse_occupied(session)
        _defer_foreign_keys(session)
        for table in _list_tables():
            _read_table(session, table, folder)
        _continue_sequences(session)
    source = BlobStore(folder / "blobs")
    for blob in source.list():
        blobs.put(blob.key, source.stream(blob.key))
    return manifest


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
        manifest = msgspec.json.decode((folder / "manifest.json").read_bytes(), type=BackupManifest)
        damaged = [name for name, table in manifest.tables.items() if _compute_digest(folder, name) != table.sha256]
    except OSError as error:
        raise BackupError(f"{folder} is not a whole backup: {error}.") from error
    except msgspec.MsgspecError as error:
        raise BackupError(f"{folder / 'manifest.json'}: {error}.") from error
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


def _read_table(session: Session, table: Table, folder: Path) -> None:
    with _get_table_path(folder, table.name).open("rb") as file:
        rows = (_parse_row(table, msgspec.json.decode(line)) for line in file)
        for batch in _split_batches(rows):
            session.execute(insert(table), batch)


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
