"""The store's integration tests run on both databases: ask for `database`."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nav_eval_store import migrate
from nav_eval_store.clock import ManualClock
from nav_eval_store.database import Database
from support.postgres import PostgresServer, postgres_server

__all__ = ["postgres_server"]

BACKENDS = ("sqlite", "postgresql")
EmptyDatabase = Callable[[str], Database]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def template(postgres_server: PostgresServer) -> str:
    """The name of a migrated Postgres database, to be copied."""
    url = postgres_server.create_database()
    database = Database(url)
    migrate.upgrade(database)
    database.dispose()
    return str(database.url.database)


@pytest.fixture
def new_database(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[EmptyDatabase]:
    """Makes a database without tables: `new_database("postgresql")`."""
    opened: list[Database] = []

    def make(backend: str) -> Database:
        if backend == "sqlite":
            url = f"sqlite:///{tmp_path / f'store_{len(opened)}.db'}"
        else:
            url = request.getfixturevalue("postgres_server").create_database()
        opened.append(Database(url, clock=clock))
        return opened[-1]

    yield make
    for database in opened:
        database.dispose()


@pytest.fixture(params=BACKENDS)
def database(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Database]:
    """A migrated database, once of each kind."""
    if request.param == "sqlite":
        database = Database(f"sqlite:///{tmp_path / 'store.db'}", clock=clock)
        migrate.upgrade(database)
    else:
        server, template = request.getfixturevalue("postgres_server"), request.getfixturevalue("template")
        database = Database(server.create_database(template=template), clock=clock)
    yield database
    database.dispose()
