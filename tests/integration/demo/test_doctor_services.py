"""The doctor, with the real things: Redis, Postgres, a graphics driver, a full disk."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nav_eval_store.database import ManualClock
from nav_eval_store.migrations import runner
from nav_eval_store.work.broker import Broker
from nav_eval_worker.doctor import Finding, Installation, Level, examine, rendering, services

pytestmark = pytest.mark.integration


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    places = {"NAV_EVAL_HOME": str(tmp_path / "home"), "NAV_EVAL_CACHE": str(tmp_path / "cache")}
    return Installation.here({**os.environ, **places})


def by_check(findings) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings}


@pytest.fixture
def redis_process(tmp_path: Path, unused_port: int) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed (Debian: apt-get install redis-server)")
    port = unused_port
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    for _ in range(100):
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield f"redis://127.0.0.1:{port}/0", process
    process.kill()
    process.wait()


def test_redis_that_runs_and_redis_that_was_stopped(here, redis_process):
    url, process = redis_process
    found = by_check(examine(replace(here, broker=Broker(url)), (services.check_broker,)))
    assert (found["redis"].level, found["clock of redis"].level) == (Level.OK, Level.OK)
    process.terminate()
    process.wait()
    found = by_check(examine(replace(here, broker=Broker(url)), (services.check_broker,)))
    assert (found["redis"].level, list(found)) == (Level.FAIL, ["redis"])


@pytest.mark.parametrize(("seconds", "level"), [(0, Level.OK), (5, Level.WARN), (-5, Level.WARN), (60, Level.FAIL)])
def test_a_clock_that_is_wrong(here, redis_process, seconds, level):
    ahead = ManualClock(datetime.now(UTC) + timedelta(seconds=seconds))
    found = by_check(examine(replace(here, broker=Broker(redis_process[0]), clock=ahead), (services.check_broker,)))
    assert found["clock of redis"].level is level


def test_postgres(here, postgres_server):
    url = postgres_server.create_database()
    there = replace(here, store=replace(here.store, database=url))
    found = by_check(examine(there, (services.check_database,)))
    assert (found["database"].level, found["database"].advice) == (Level.FAIL, "Run `nav-eval admin migrate`.")
    database = there.store.open_database()
    runner.upgrade(database)
    database.dispose()
    found = by_check(examine(there, (services.check_database,)))
    assert {name: found[name].level for name in ("database", "database write", "clock of database")} == {
        "database": Level.OK,
        "database write": Level.OK,
        "clock of database": Level.OK,
    }
    late = ManualClock(datetime.now(UTC) - timedelta(minutes=5))
    assert (
        by_check(examine(replace(there, clock=late), (services.check_database,)))["clock of database"].level
        is Level.FAIL
    )


def test_a_picture_is_really_drawn(here):
    found = by_check(examine(here, (rendering.check_rendering,)))["rendering"]
    assert found.level is Level.OK, found
    blind = {**os.environ, "__EGL_VENDOR_LIBRARY_FILENAMES": "/nowhere.json"}
    found = by_check(examine(replace(here, environment=blind), (rendering.check_rendering,)))["rendering"]
    assert found.level is Level.FAIL
    assert "libegl1" in found.advice


FULL_DISK = """
import os, sys
from pathlib import Path
from nav_eval_worker.doctor import Installation, examine, machine, services
home = Path(sys.argv[1])
filler = os.open(home / "filler", os.O_WRONLY | os.O_CREAT)
try:
    while True:
        os.write(filler, bytes(4096))
except OSError:
    pass
here = Installation.here({**os.environ, "NAV_EVAL_HOME": str(home), "NAV_EVAL_CACHE": str(home / "cache")})
for finding in examine(here, (machine.check_disks, machine.check_folders)):
    print(finding.check, finding.level, finding.found, sep="|")
"""


def test_a_disk_that_is_full(tmp_path):
    mount = 'mount -t tmpfs -o size=256k tmpfs "$1" && exec "$2" -c "$3" "$1"'
    command = ["unshare", "--mount", "sh", "-c", mount, "sh", str(tmp_path), sys.executable, FULL_DISK]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unshare failed" in done.stderr or "permission denied" in done.stderr.lower():
        pytest.skip("mounting needs root")
    found = [line.split("|") for line in done.stdout.splitlines()]
    assert ["disk", "fail"] in [parts[:2] for parts in found], done
    (cache,) = (parts for parts in found if parts[0] == "cache folder")
    assert cache[1] == "fail"
    assert "No space left" in cache[2]
