"""The store's integration tests run on both databases: ask for `database`, or for `cup`, a small competition."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nav_eval_store.database import Database, ManualClock
from nav_eval_store.migrations import runner
from nav_eval_store.models import Base
from support.challenge import KEYRING, Challenge
from support.postgres import PostgresServer

BACKENDS = ("sqlite", "postgresql")
EmptyDatabase = Callable[[str], Database]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def postgres_url(postgres_server: PostgresServer) -> str:
    """A migrated database, to be emptied before each use."""
    url = postgres_server.create_database()
    database = Database(url)
    runner.upgrade(database)
    database.dispose()
    return url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file, to be copied."""
    path = tmp_path_factory.mktemp("template") / "store.db"
    database = Database(f"sqlite:///{path}")
    runner.upgrade(database)
    database.dispose()
    return path


@pytest.fixture
def new_database(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[EmptyDatabase]:
    """Makes a database without tables: `new_database("postgresql")`."""
    opened: list[Database] = []

    def make(backend: str) -> Database:
        if backend == "sqlite":
            url = f"sqlite:///{tmp_path / f'new_{len(opened)}.db'}"
        else:
            url = request.getfixturevalue("postgres_server").create_database()
        opened.append(Database(url, clock=clock, keyring=KEYRING, pool_size=30))
        return opened[-1]

    yield make
    for database in opened:
        database.dispose()


@pytest.fixture(params=BACKENDS)
def database(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Database]:
    """A migrated database, once of each kind."""
    if request.param == "sqlite":
        shutil.copyfile(request.getfixturevalue("sqlite_template"), tmp_path / "store.db")
        url = f"sqlite:///{tmp_path / 'store.db'}"
    else:
        url = request.getfixturevalue("postgres_url")
        empty(url)
    database = Database(url, clock=clock, keyring=KEYRING, pool_size=30)
    yield database
    database.dispose()


EMPTY = """
DO $$
DECLARE name text;
BEGIN
    SET LOCAL session_replication_role = replica;  -- in any order
    FOREACH name IN ARRAY '{{{tables}}}'::text[] LOOP
        IF pg_relation_size(name) > 1000000 THEN
            EXECUTE 'TRUNCATE ' || quote_ident(name) || ' CASCADE';
        ELSE
            EXECUTE 'DELETE FROM ' || quote_ident(name);
        END IF;
    END LOOP;
    PERFORM setval(seqrelid, 1, false) FROM pg_sequence;
END $$
"""


def empty(url: str) -> None:
    """Remove all rows of a Postgres database; row by row, because TRUNCATE makes a hundred new files."""
    database = Database(url)
    with database.engine.begin() as connection:
        connection.exec_driver_sql(EMPTY.format(tables=",".join(Base.metadata.tables)))
    database.dispose()


@pytest.fixture
def cup(database: Database) -> Challenge:
    """A competition with a generous phase `dev`."""
    return Challenge(database)
