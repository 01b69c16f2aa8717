"""Whose time counts, and who may read the file."""

import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from nav_eval_store.database import Database
from nav_eval_store.migrations import runner

pytestmark = pytest.mark.integration


OFF = """
import sys, time
real, steady = time.time, time.monotonic
time.time = lambda: real() + {seconds}
time.monotonic = lambda: steady() + {seconds}
import datetime as module
class Off(module.datetime):
    @classmethod
    def now(cls, tz=None):
        return module.datetime.fromtimestamp(time.time(), tz)
from nav_eval_store import database
database.datetime = Off
from nav_eval_store.database import Database
with Database(sys.argv[1]).read() as session:
    print(session.now().timestamp())
"""


@pytest.mark.parametrize("seconds", [-45, 45, 86400])
def test_a_host_whose_clock_is_off_takes_the_time_of_the_database(postgres_url: str, seconds: int) -> None:
    """At −45 s a worker lost three leases, and the submission failed."""
    here = Database(postgres_url)
    try:
        before = here.clock.now().timestamp()
        done = subprocess.run(
            [sys.executable, "-c", OFF.format(seconds=seconds), postgres_url],
            capture_output=True,
            check=True,
            text=True,
        )
        assert before - 1 < float(done.stdout) < here.clock.now().timestamp() + 1
    finally:
        here.dispose()


def test_a_clock_that_is_set_meanwhile_changes_nothing(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(postgres_url)
    try:
        before = database.clock.now()
        real = time.time
        monkeypatch.setattr("nav_eval_store.database.time.time", lambda: real() - 45)
        with database.read() as session:
            assert before <= session.now() < before + timedelta(seconds=40)
    finally:
        database.dispose()


def test_a_sqlite_file_is_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    file.touch(0o644)
    database = Database(f"sqlite:///{file}")
    runner.upgrade(database)
    found = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    database.dispose()
    assert set(found.values()) == {0o600}, found
