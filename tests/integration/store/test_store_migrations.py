"""The migrations give both databases exactly the tables of the models."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import inspect, text
from sqlalchemy.exc import IntegrityError

from nav_eval_store.database import Database
from nav_eval_store.errors import NameInUse, SchemaOutdated
from nav_eval_store.migrations import runner
from nav_eval_store.models import AuditEvent, Base, Role, RoleName, Team, User
from nav_eval_store.people import accounts, teams
from nav_eval_store.people.names import make_name_key
from support.challenge import TEST, Challenge

pytestmark = pytest.mark.integration

BACKENDS = pytest.mark.parametrize("backend", ["sqlite", "postgresql"])


@BACKENDS
def test_upgrade_gives_the_tables_of_the_models(new_database, backend) -> None:
    database = new_database(backend)
    assert runner.get_current_revision(database) is None
    assert runner.upgrade(database) == runner.get_head_revision()
    assert runner.find_differences(database) == []
    assert set(inspect(database.engine).get_table_names()) == {*Base.metadata.tables, "alembic_version"}


@BACKENDS
def test_downgrade_leaves_nothing_behind(new_database, backend) -> None:
    database = new_database(backend)
    runner.upgrade(database)
    assert runner.downgrade(database, "base") is None
    assert inspect(database.engine).get_table_names() == ["alembic_version"]
    assert runner.upgrade(database) == runner.get_head_revision()


@BACKENDS
def test_programs_that_start_together_migrate_once(new_database, backend) -> None:
    databases = [new_database(backend)]
    databases += [Database(databases[0].url) for _ in range(5)]
    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(runner.upgrade, databases)) == {runner.get_head_revision()}
    for database in databases[1:]:
        database.dispose()


@BACKENDS
def test_a_database_of_another_version_is_refused(new_database, backend) -> None:
    database = new_database(backend)
    with pytest.raises(SchemaOutdated, match="nav-eval admin migrate"):
        runner.check_revision(database)
    runner.upgrade(database)
    runner.check_revision(database)


@BACKENDS
def test_names_of_before_stay_and_their_look_alikes_are_refused(new_database, backend) -> None:
    database = new_database(backend)
    runner.upgrade(database)
    cup = Challenge(database)
    alice, twin = cup.team("Alice"), cup.team("Bob")
    with database.begin() as session:
        session.query(User).where(User.name == "bob").one().verified_at = session.now()
    runner.downgrade(database, "0009")
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE teams SET name_key = 'alice' WHERE name = 'Alice'"))
        connection.execute(text("UPDATE teams SET name = 'AIice', name_key = 'aiice' WHERE name = 'Bob'"))
        connection.execute(text("UPDATE users SET name_key = 'b0b', email = 'b+1@x.org' WHERE name = 'bob'"))
    assert runner.upgrade(database) == runner.get_head_revision()
    with database.begin() as session:
        assert session.get_one(Team, alice).name_key == make_name_key("Alice")
        assert session.get_one(Team, twin).name == "AIice"
        bob = accounts.get_user(session, "bob")
        assert (bob.name_key, bob.mailbox) == ("bob", "b@x.org")
        with pytest.raises(NameInUse):
            accounts.create_user(session, "b0b", actor=TEST)
    with pytest.raises(NameInUse):
        cup.team("A1ice")
    with database.begin() as session:  # neither is stuck
        teams.rename_team(session, session.get_one(Team, twin), "Carol", actor=TEST)


def test_times_come_back_in_utc(database) -> None:
    tokyo = datetime(2026, 5, 1, 12, 30, 15, 123456, tzinfo=timezone(timedelta(hours=9)))
    with database.begin() as session:
        session.add(User(name="ada", created_at=tokyo))
    with database.read() as session:
        read = session.query(User).one().created_at
    assert read == tokyo
    assert read.tzinfo is UTC


def test_text_that_a_database_cannot_keep_is_made_keepable(database) -> None:
    nasty = "log\x00 end \ud83d"
    with database.begin() as session:
        session.add(AuditEvent(at=session.now(), actor=nasty, action="x", details={"log": [nasty, "\\u0000"]}))
    with database.read() as session:
        read = session.query(AuditEvent).one()
    assert read.actor.startswith("log\ufffd end")
    assert read.details["log"][0].startswith("log\ufffd end")
    assert read.details["log"][1] == "\\u0000", "six characters that only look like one"


def test_foreign_keys_hold(database) -> None:
    def orphan() -> None:
        with database.begin() as session:
            stranger = User(name="x", created_at=session.now()).id or "0" * 32
            session.execute(
                text("INSERT INTO roles (id, user_id, name, granted_at) VALUES (:id, :user, 'organiser', :now)"),
                {"id": "1" * 32, "user": stranger, "now": "2026-01-01 00:00:00"},
            )

    with pytest.raises(IntegrityError):
        orphan()


def test_a_role_everywhere_is_held_once(database) -> None:
    with database.begin() as session:
        user = User(name="ada", created_at=session.now())
        session.add(user)
        session.flush()
        session.add(Role(user_id=user.id, name=RoleName.ORGANISER, granted_at=session.now()))
    with pytest.raises(IntegrityError), database.begin() as session:
        session.add(Role(user_id=user.id, name=RoleName.ORGANISER, granted_at=session.now()))


def test_readers_cannot_write_on_postgres_and_never_wait(database) -> None:
    with database.begin() as writer:
        writer.add(User(name="ada", created_at=writer.now()))
        writer.flush()
        with database.read() as reader:  # the writer holds its lock
            assert reader.query(User).count() == 0
