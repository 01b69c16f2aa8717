"""The connection to Postgres or SQLite, and transactions that mean the same on both.

SQLite has one writer at a time and would refuse a reader that turns into a writer, so writing
transactions take the lock when they begin (`BEGIN IMMEDIATE`) and wait for each other; readers never
wait (WAL). On Postgres rows are locked by `SELECT … FOR NO KEY UPDATE` where a rule needs it, always
in the same order: submission, job, lease, team.
"""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, event, make_url, text
from sqlalchemy import create_engine as sqlalchemy_engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.orm import Session as OrmSession

from nav_eval_store.clock import Clock, SystemClock
from nav_eval_store.errors import StoreError
from nav_eval_store.models.base import clean_json

T = TypeVar("T")

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
    """A session that knows what time it is; every query and command of the store takes one."""

    def __init__(self, *arguments: Any, clock: Clock | None = None, **options: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **options)
        self.clock = clock or SystemClock()

    def now(self) -> datetime:
        return self.clock.now()


class Database:
    """Where rows are kept. Opening one connects to nothing; the first transaction does."""

    def __init__(self, url: str | URL, *, clock: Clock | None = None, pool_size: int = 10) -> None:
        self.url = normalised(url)
        self.clock: Clock = clock or SystemClock()
        self.engine = _engine(self.url, pool_size)
        self._writing = self.engine.execution_options(nav_eval_begin="BEGIN IMMEDIATE")
        self._reading = self.engine.execution_options(postgresql_readonly=True)
        self._snapshot = self.engine.execution_options(postgresql_readonly=True, isolation_level=_snapshot(self.url))

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
        return Session(engine, clock=self.clock, expire_on_commit=False)


def is_transient(error: DBAPIError) -> bool:
    """Whether the same transaction may well succeed when it is repeated."""
    if error.connection_invalidated or getattr(error.orig, "pgcode", None) in RETRYABLE:
        return True
    return isinstance(error, OperationalError) and "database is locked" in str(error.orig)


def normalised(url: str | URL) -> URL:
    """The URL with the driver that we install."""
    parsed = make_url(url)
    backend = parsed.get_backend_name()
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg2")
    if backend == "sqlite":
        return parsed.set(drivername="sqlite+pysqlite")
    raise StoreError(f"{parsed.render_as_string()}: nav-eval keeps its data in postgresql://… or sqlite:///FILE.")


def _snapshot(url: URL) -> str:
    return "REPEATABLE READ" if url.get_backend_name() == "postgresql" else "SERIALIZABLE"


def _engine(url: URL, pool_size: int) -> Engine:
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
        raise StoreError("An SQLite database needs a file: sqlite:///var/nav-eval.db.")
    Path(str(url.database)).absolute().parent.mkdir(parents=True, exist_ok=True)
    engine = sqlalchemy_engine(
        url,
        pool_size=pool_size,
        max_overflow=-1,
        connect_args={"timeout": BUSY_SECONDS},
        json_serializer=clean_json,
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # the driver begins no transactions of its own: we do
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("nav_eval_begin", "BEGIN"))
