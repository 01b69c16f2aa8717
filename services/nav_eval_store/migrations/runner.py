"""Bringing a database to the tables of this version: `nav-eval admin migrate`, or `upgrade(database)`.

Several programs may start at once against one database; the first to get the lock migrates, the
others then find nothing to do.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from nav_eval_store.database import Database
from nav_eval_store.encryption import Keyring
from nav_eval_store.errors import SchemaOutdated
from nav_eval_store.models import Base

log = logging.getLogger(__name__)
SCRIPTS = Path(__file__).parent
LOCK = 0x6E61765F6576616C
"""Postgres' advisory lock of whoever migrates."""


def upgrade(database: Database, revision: str = "head") -> str | None:
    """Migrate, and say which version the database has now."""
    with _lock_database(database) as connection:
        _refuse_unknown(_read_revision(connection))
        config = _make_config(connection, database.keyring)
        command.upgrade(config, revision)
        after = _read_revision(connection)
    if config.attributes.get("replaced"):
        _forget_old_pages(database)
    return after


def downgrade(database: Database, revision: str) -> str | None:
    """Go back to an earlier version; what only the newer one keeps is lost."""
    with _lock_database(database) as connection:
        command.downgrade(_make_config(connection, database.keyring), revision)
        return _read_revision(connection)


def get_current_revision(database: Database) -> str | None:
    """The version that the database has; None before the first migration."""
    with database.engine.connect() as connection:
        return _read_revision(connection)


def get_head_revision() -> str:
    """The version that this program needs."""
    newest = ScriptDirectory(str(SCRIPTS)).get_current_head()
    assert newest is not None
    return newest


def list_known_revisions() -> frozenset[str]:
    """The versions that this program can bring up to its own."""
    return frozenset(script.revision for script in ScriptDirectory(str(SCRIPTS)).walk_revisions())


def check_revision(database: Database) -> None:
    """Refuse to work on the tables of another version."""
    has, needs = get_current_revision(database), get_head_revision()
    _refuse_unknown(has)
    if has != needs:
        raise SchemaOutdated(
            f"The database has version {has or 'none'}, this program needs {needs}; run `nav-eval admin migrate`."
        )


def find_differences(database: Database) -> list[object]:
    """How the tables of the database differ from the models: nothing, unless a migration was forgotten."""
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, Base.metadata))


def _refuse_unknown(revision: str | None) -> None:
    if revision is not None and revision not in list_known_revisions():
        raise SchemaOutdated(
            f"The database has version {revision}, which this program does not know: a newer nav-eval wrote it. "
            "Install that one, or restore a backup into an empty database."
        )


def _forget_old_pages(database: Database) -> None:
    """What a migration replaced stays in free pages and in the log until they are written anew: do that now."""
    statements = ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)") if database.is_sqlite else ("VACUUM FULL webhooks",)
    connection = database.engine.raw_connection()
    try:
        if not database.is_sqlite:
            connection.dbapi_connection.autocommit = True  # type: ignore[union-attr]
        for statement in statements:
            connection.cursor().execute(statement)
    except database.engine.dialect.loaded_dbapi.Error as error:
        log.warning("The tables are migrated, but what was there before may still be read: %s; run VACUUM.", error)
    finally:
        connection.invalidate()


@contextmanager
def _lock_database(database: Database) -> Iterator[Connection]:
    with database.engine.execution_options(nav_eval_begin="BEGIN EXCLUSIVE").begin() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        yield connection


def _make_config(connection: Connection, keyring: Keyring) -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["connection"] = connection
    config.attributes["keyring"] = keyring
    return config


def _read_revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()
