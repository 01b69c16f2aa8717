"""The connection to Postgres or SQLite, and transactions that mean the same on both.

SQLite has one writer at a time and would refuse a reader that turns into a writer, so writing
transactions take the lock when they begin (`BEGIN IMMEDIATE`) and wait for each other; readers never
wait (WAL). On Postgres rows are locked by `SELECT … FOR NO KEY UPDATE` where a rule needs it, always
in the same order: submission, job, lease, team.

Leases, quotas, deadlines and tokens ask the database's clock what time it is: that of the Postgres server, so that
hosts whose own clocks differ agree on whose lease has ended, and this machine's with SQLite, which only one machine can
use. A test may let a day pass in no time, and a clock that jumps is one more case to test.
"""

import base64
import binascii
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, Connection, Engine, and_, event, make_url, or_, text
from sqlalchemy import create_engine as sqlalchemy_engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.orm import Session as OrmSession

from nav_eval_store.encryption import Keyring
from nav_eval_store.errors import OperatorError, StoreError
from nav_eval_store.models.base import clean_json


class Clock(Protocol):
    """Anything that knows the time."""

    def now(self) -> datetime:
        """The present moment, with its time zone."""


class SystemClock:
    """This machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class ServerClock:
    """The time of the database server, carried on by a clock of this machine that nobody sets."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._ahead: float | None = None  #: seconds by which the server's time is ahead of our steady clock
        self._measured_at = self._drift = 0.0
        event.listen(engine, "begin", self._renew)

    def now(self) -> datetime:
        if self._ahead is None:
            with self._engine.connect() as connection:
                self._measure(connection)
        return datetime.fromtimestamp((self._ahead or 0.0) + time.monotonic(), UTC)

    def _renew(self, connection: Connection) -> None:
        """Ask again now and then, and when this machine slept or was set: the steady clock may have stood still."""
        if self._ahead is None or time.monotonic() - self._measured_at > RENEWED_SECONDS or self._has_jumped():
            self._measure(connection)

    def _has_jumped(self) -> bool:
        return abs(time.time() - time.monotonic() - self._drift) > 1.0

    def _measure(self, connection: Connection) -> None:
        before = time.monotonic()
        found = connection.exec_driver_sql("SELECT EXTRACT(EPOCH FROM clock_timestamp())").scalar_one()
        after = time.monotonic()
        self._ahead = float(found) - (before + after) / 2
        self._measured_at, self._drift = after, time.time() - after


@dataclass
class ManualClock:
    """A clock that moves when it is told to."""

    time: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def advance(self, by: timedelta | None = None, **parts: float) -> datetime:
        """Move on: `clock.advance(hours=3)`; negative amounts move back."""
        self.time += by if by is not None else timedelta(**parts)
        return self.time


T = TypeVar("T")

RENEWED_SECONDS = 15.0
"""Between two questions what time it is at the server."""
BUSY_SECONDS = 60
"""How long a SQLite writer waits for the one before it."""
PATIENCE = {
    "connect_timeout": 10,
    "tcp_user_timeout": 15_000,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
"""A server whose network is gone is given up after some seconds; the kernel would wait for a quarter of an hour."""
RETRYABLE = frozenset({"40001", "40P01"})
"""Postgres: serialization failure, deadlock."""


class Session(OrmSession):
    """A session that knows what time it is, and the keys; every query and command of the store takes one."""

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401
        clock: Clock | None = None,
        keyring: Keyring | None = None,
        **options: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*arguments, **options)
        self.clock = clock or SystemClock()
        self.keyring = keyring or Keyring()

    def now(self) -> datetime:
        return self.clock.now()

    def insert(self, row: object, *, otherwise: StoreError) -> None:
        """Write a row at once; `otherwise` is raised where one that must differ from it is there already."""
        self.add(row)
        try:
            self.flush()
        except IntegrityError as error:
            raise otherwise from error


class Database:
    """Where rows are kept. Opening one connects to nothing; the first transaction does."""

    def __init__(
        self, url: str | URL, *, clock: Clock | None = None, keyring: Keyring | None = None, pool_size: int = 10
    ) -> None:
        self.url = normalize_url(url)
        self.keyring = keyring or Keyring()
        self.engine = _make_engine(self.url, pool_size)
        self.clock: Clock = clock or (SystemClock() if self.is_sqlite else ServerClock(self.engine))
        self._writing = self.engine.execution_options(nav_eval_begin="BEGIN IMMEDIATE")
        self._reading = self.engine.execution_options(postgresql_readonly=True)
        isolation = "SERIALIZABLE" if self.is_sqlite else "REPEATABLE READ"
        self._snapshot = self.engine.execution_options(postgresql_readonly=True, isolation_level=isolation)

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def begin(self) -> Iterator[Session]:
        """A transaction that may write: committed at the end of the block, undone by an error."""
        with self._session(self._writing) as session, session.begin():
            yield session

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A transaction that only reads; it waits for nobody."""
        with self._session(self._reading) as session:
            yield session

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        """A transaction that only reads, and sees one moment however long it takes."""
        with self._session(self._snapshot) as session:
            yield session

    def run(self, work: Callable[[Session], T], *, attempts: int = 5) -> T:
        """`work` in a transaction, repeated when the database asks for it (deadlock, connection lost)."""
        for attempt in range(1, attempts + 1):
            try:
                with self.begin() as session:
                    return work(session)
            except DBAPIError as error:
                if attempt == attempts or not is_transient(error):
                    raise
                time.sleep(random.uniform(0, 0.05 * 2**attempt))
        raise AssertionError("unreachable")

    def ping(self) -> None:
        """Raise unless the database answers."""
        with self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def dispose(self, *, forked: bool = False) -> None:
        """Close all connections; in a forked child, forget those of the parent without closing them."""
        self.engine.dispose(close=not forked)

    def _session(self, engine: Engine) -> Session:
        return Session(engine, clock=self.clock, keyring=self.keyring, expire_on_commit=False)


def is_transient(error: DBAPIError) -> bool:
    """Whether the same transaction may well succeed when it is repeated."""
    if error.connection_invalidated or getattr(error.orig, "pgcode", None) in RETRYABLE:
        return True
    return isinstance(error, OperationalError) and "database is locked" in str(error.orig)


def normalize_url(url: str | URL) -> URL:
    """The URL with the driver that we install."""
    parsed = make_url(url)
    backend = parsed.get_backend_name()
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg2")
    if backend == "sqlite":
        return parsed.set(drivername="sqlite+pysqlite")
    raise OperatorError(f"{parsed.render_as_string()}: nav-eval keeps its data in postgresql://… or sqlite:///FILE.")


def _make_engine(url: URL, pool_size: int) -> Engine:
    if url.get_backend_name() == "postgresql":
        arguments = {"application_name": "nav-eval", "options": "-c timezone=UTC", **PATIENCE}
        return sqlalchemy_engine(
            url,
            pool_size=pool_size,
            max_overflow=pool_size,
            pool_pre_ping=True,
            connect_args=arguments,
            json_serializer=clean_json,
        )
    if url.database in (None, "", ":memory:"):
        raise OperatorError("An SQLite database needs a file: sqlite:///var/nav-eval.db.")
    _keep_private(Path(str(url.database)).absolute())
    engine = sqlalchemy_engine(
        url, pool_size=pool_size, max_overflow=-1, connect_args={"timeout": BUSY_SECONDS}, json_serializer=clean_json
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _keep_private(file: Path) -> None:
    """Only its owner reads a database: it holds digests of passwords and tokens. SQLite's other files take its mode."""
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    for each in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm"))):
        if each.exists() and each.stat().st_mode & 0o077 and each.stat().st_uid == os.geteuid():
            each.chmod(0o600)


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # the driver begins no transactions of its own: we do
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("nav_eval_begin", "BEGIN"))


LARGEST_PAGE = 500  #: lists come in pages; a cursor is the sort key of the last row, so new rows never shift old ones

Key = tuple[datetime | int | str | UUID, ...]


class Page(NamedTuple, Generic[T]):
    """A part of a list."""

    items: Sequence[T]
    next: str | None
    """Ask for the following page with this; None is the end."""


def make_page(rows: Sequence[T], limit: int, key: Callable[[T], Key]) -> Page[T]:
    """The first `limit` of `rows`, which were asked for with one row more to see whether there is more."""
    more = len(rows) > limit
    return Page(rows[:limit], encode_cursor(key(rows[limit - 1])) if more else None)


def clamp_page_size(limit: int) -> int:
    return max(1, min(limit, LARGEST_PAGE))


def make_after_condition(columns: Sequence[InstrumentedAttribute[Any]], key: Sequence[Any]) -> ColumnElement[bool]:
    """Rows that come after the one with `key` where the columns are sorted downwards."""
    conditions = [
        and_(*(earlier == value for earlier, value in zip(columns[:index], key, strict=False)), column < key[index])
        for index, column in enumerate(columns)
    ]
    return or_(*conditions)


def encode_cursor(key: Key) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def decode_cursor(text: str | None, kind: type[T]) -> T | None:
    """The sort key inside a cursor; nonsense is refused."""
    if text is None:
        return None
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        key = msgspec.json.decode(data, type=kind)
        _refuse_strange(key)
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise StoreError("This cursor is invalid; start again without it.") from error
    return key


def _refuse_strange(key: object) -> None:
    """Refuse what no column could hold."""
    for part in key if isinstance(key, tuple) else (key,):
        if (isinstance(part, int) and abs(part) >= 1 << 63) or (isinstance(part, datetime) and part.tzinfo is None):
            raise ValueError
