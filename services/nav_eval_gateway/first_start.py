"""What a new installation gets before it serves: tables, and an organiser with a token."""

import logging
import os
from pathlib import Path

from nav_eval_store import migrate, tokens, users
from nav_eval_store.actors import system_actor
from nav_eval_store.database import Database
from nav_eval_store.errors import NameInUse
from nav_eval_store.tokens import EVERYTHING

log = logging.getLogger(__name__)

ORGANISER = "organiser"
SETUP = system_actor("first-start")


def prepare(database: Database, home: Path) -> Path | None:
    """Bring the tables up to date; for a new database, the file with its organiser's token."""
    before = migrate.current(database)
    after = migrate.upgrade(database)
    if before == after:
        return None
    log.info("The database has version %s now, before %s.", after, before or "none")
    return _first_organiser(database, home) if before is None else None


def _first_organiser(database: Database, home: Path) -> Path | None:
    """Whoever can read this file is the organiser: it is for the owner of the installation alone."""
    try:
        with database.begin() as session:
            user = users.create_user(session, ORGANISER, actor=SETUP)
            users.make_organiser(session, user, actor=SETUP)
            secret = tokens.issue(session, user, "first start", actor=SETUP, scopes=EVERYTHING).secret
    except NameInUse:  # another gateway was faster
        return None
    file = home / "organiser-token"
    home.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(secret + "\n")
    return file
