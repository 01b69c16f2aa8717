"""The database goes away and comes back; many threads want to write; nobody sees half a transaction."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError

from nav_eval_store import audit
from nav_eval_store.database import Database, normalize_url
from nav_eval_store.errors import StoreError
from nav_eval_store.migrations import runner
from nav_eval_store.models import AuditEvent, User
from support.challenge import TEST, Challenge
from support.postgres import PostgresServer

pytestmark = pytest.mark.integration


@pytest.fixture
def own_server():
    server = PostgresServer()
    server.start()
    yield server
    server.close()


@pytest.mark.parametrize("crash", [False, True])
def test_a_restart_of_postgres_is_survived(own_server: PostgresServer, crash: bool) -> None:
    database = Database(own_server.create_database())
    runner.upgrade(database)
    cup = Challenge(database)
    before = cup.complete(cup.team("Red"))
    own_server.restart(crash=crash)
    assert cup.get(before).state == "completed", "nothing that was committed is lost"
    cup.complete(cup.team("Blue"))
    database.dispose()


def test_a_transaction_that_the_restart_cut_is_done_again(own_server: PostgresServer) -> None:
    database = Database(own_server.create_database())
    runner.upgrade(database)
    calls = []

    def work(session) -> None:
        session.add(User(name=f"user{len(calls)}", created_at=session.now()))
        session.flush()
        calls.append(1)
        if len(calls) == 1:
            own_server.restart(crash=True)
            session.execute(text("SELECT 1"))

    database.run(work)
    with database.read() as session:
        assert list(session.scalars(select(User.name))) == ["user1"], "once, and the second time"
    database.dispose()


def test_an_error_that_repeating_does_not_help_is_raised(database) -> None:
    calls = []

    def work(session) -> None:
        calls.append(1)
        session.execute(text("SELECT * FROM no_such_table"))

    with pytest.raises(DBAPIError, match="no_such_table"):
        database.run(work)
    assert len(calls) == 1


def test_forty_writers_all_get_through(database) -> None:
    def write(number: int) -> None:
        with database.begin() as session:
            known = session.scalar(select(func.count()).select_from(AuditEvent))
            audit.record(session, TEST, "x", number=number, known=known)

    with ThreadPoolExecutor(40) as pool:
        list(pool.map(write, range(200)))
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(AuditEvent)) == 200


def test_a_snapshot_sees_one_moment(database) -> None:
    with database.snapshot() as session:
        assert session.scalar(select(func.count()).select_from(User)) == 0
        with database.begin() as writer:
            writer.add(User(name="ada", created_at=writer.now()))
        assert session.scalar(select(func.count()).select_from(User)) == 0
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(User)) == 1


def test_an_error_undoes_everything(database) -> None:
    def broken() -> None:
        with database.begin() as session:
            session.add(User(name="ada", created_at=session.now()))
            session.flush()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(User)) == 0


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("postgresql://u@h/d", "postgresql+psycopg2"),
        ("postgres+psycopg2://u@h/d", None),
        ("sqlite:///x.db", "sqlite+pysqlite"),
        ("mysql://u@h/d", None),
    ],
)
def test_which_databases_there_are(url: str, driver: str | None) -> None:
    if driver is None:
        with pytest.raises(StoreError, match=r"postgresql://"):
            normalize_url(url)
    else:
        assert normalize_url(url).drivername == driver


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_a_database_in_memory_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match="needs a file"):
        Database(url)
