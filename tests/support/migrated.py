"""Databases with the tables of this version: files are made once in a process, and copies of it for each test."""

import tempfile
from functools import cache
from pathlib import Path

from nav_eval_store.database import Database
from nav_eval_store.migrations import runner

SQLITE = "sqlite:///"


def migrate(url: str) -> None:
    """Bring a database up to date; a file that is not there yet is a copy."""
    path = Path(url.removeprefix(SQLITE))
    if url.startswith(SQLITE) and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_make_template())
    else:
        _upgrade(url)


@cache
def _make_template() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        _upgrade(f"{SQLITE}{path}")
        return path.read_bytes()


def _upgrade(url: str) -> None:
    database = Database(url)
    runner.upgrade(database)
    database.dispose()
