"""The doctor, on machines and installations that lack something."""

import json
import os
import resource
import sqlite3
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import nav_eval.cli
from nav_eval_store.migrations import runner
from nav_eval_store.work.broker import Broker
from nav_eval_worker.doctor import Finding, Installation, Level, examine, machine, services
from nav_eval_worker.doctor.command import make_table
from nav_eval_worker.doctor.installation import Requirements
from nav_eval_worker.doctor.rendering import run_while_working

UNWRITABLE = Path("/proc/nav-eval")  # nobody can write there, not even root


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    return Installation.here({"NAV_EVAL_HOME": str(tmp_path / "home"), "NAV_EVAL_CACHE": str(tmp_path / "cache")})


def by_check(findings) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings}


def only(findings) -> Finding:
    (finding,) = findings
    return finding


def migrated(here: Installation) -> Path:
    database = here.store.open_database()
    runner.upgrade(database)
    database.dispose()
    assert here.database_file is not None
    return here.database_file


def test_a_new_installation_is_no_failure_and_stays_untouched(here, tmp_path):
    quick = (
        machine.check_disks,
        machine.check_folders,
        services.check_database,
        services.check_blobs,
        services.check_broker,
    )
    findings = by_check(examine(here, quick))
    assert {finding.level for finding in findings.values()} <= {Level.OK, Level.NOTE}
    assert "nav-eval serve" in findings["database"].advice
    assert list(tmp_path.iterdir()) == [], "looking makes nothing"


def test_an_installation_in_use(here):
    migrated(here)
    Path(here.store.blobs).mkdir()
    findings = by_check(examine(here, (services.check_database, services.check_blobs)))
    assert findings["database"].level is Level.OK
    assert runner.get_head_revision() in findings["database"].found
    assert findings["database write"].level is Level.OK
    assert findings["workers"].level is Level.NOTE
    assert findings["blobs"].level is Level.OK
    assert [path for path in Path(here.store.blobs).rglob("*") if path.is_file()] == [], "the probe is gone"
    with sqlite3.connect(here.database_file) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE '%doctor%'").fetchall()
    assert tables == []


def test_tables_of_an_older_version(here):
    assert here.database_file is not None
    here.database_file.parent.mkdir(parents=True)
    sqlite3.connect(here.database_file).executescript("CREATE TABLE something (x)")
    finding = by_check(examine(here, (services.check_database,)))["database"]
    assert (finding.level, finding.advice) == (Level.FAIL, "Run `nav-eval admin migrate`.")


def test_tables_of_a_newer_version(here):
    with sqlite3.connect(migrated(here)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    finding = by_check(examine(here, (services.check_database,)))["database"]
    assert finding.level is Level.FAIL
    assert "9999" in finding.found
    assert "newer nav-eval" in finding.advice


def test_a_damaged_database(here):
    assert here.database_file is not None
    here.database_file.parent.mkdir(parents=True)
    here.database_file.write_bytes(b"no database " * 1000)
    finding = only(examine(here, (services.check_database,)))
    assert finding.level is Level.FAIL
    assert "not a database" in finding.found
    assert "nav-eval admin restore" in finding.advice


@pytest.mark.parametrize(
    ("url", "said", "advice"),
    [
        ("postgresql://nobody:secret@127.0.0.1:9/x", "127.0.0.1", "host and port"),
        ("mysql://root:secret@host/name", "mysql", "NAV_EVAL_DATABASE"),
        ("secret words", "NAV_EVAL_DATABASE", "postgresql://"),
    ],
)
def test_a_database_that_cannot_be_reached(here, url, said, advice):
    broken = replace(here, store=replace(here.store, database=url))
    finding = only(examine(broken, (services.check_database,)))
    assert finding.level is Level.FAIL
    assert said in finding.found
    assert "secret" not in finding.found
    assert advice in finding.advice


@pytest.mark.parametrize("which", ["cache", "blobs", "database"])
def test_folders_that_cannot_be_written(here, which):
    if which == "cache":
        broken = replace(here, cache=UNWRITABLE)
    elif which == "blobs":
        broken = replace(here, store=replace(here.store, blobs=str(UNWRITABLE)))
    else:
        broken = replace(here, store=replace(here.store, database=f"sqlite:///{UNWRITABLE}/nav-eval.db"))
    findings = by_check(examine(broken, (machine.check_folders,)))
    failed = [name for name, finding in findings.items() if finding.level is Level.FAIL]
    assert failed == [f"{which} folder"]
    assert "NAV_EVAL_" in findings[f"{which} folder"].advice


def test_blobs_that_cannot_be_written(here, tmp_path):
    (tmp_path / "blobs").write_text("a file, not a folder")
    finding = only(
        examine(replace(here, store=replace(here.store, blobs=str(tmp_path / "blobs"))), (services.check_blobs,))
    )
    assert finding.level is Level.FAIL


@pytest.mark.parametrize(
    ("check", "name", "needs"),
    [
        (machine.check_disks, "disk", {"disk_bytes": (10**18, 10**3)}),
        (machine.check_disks, "inodes", {"inodes": (10**15, 1)}),
        (machine.check_memory, "memory", {"memory_bytes": (10**18, 10**3)}),
        (machine.check_open_files, "open files", {"open_files": (10**9, 1)}),
        (machine.check_shared_memory, "shared memory", {"shared_memory_bytes": 10**18}),
    ],
)
def test_too_little_of_something(here, check, name, needs):
    finding = by_check(examine(replace(here, needs=Requirements(**needs)), (check,)))[name]
    assert finding.level is Level.WARN
    assert finding.advice


def test_far_too_little(here):
    finding = by_check(examine(replace(here, needs=Requirements(disk_bytes=(10**19, 10**18))), (machine.check_disks,)))[
        "disk"
    ]
    assert finding.level is Level.FAIL


def test_the_limit_of_open_files_is_the_real_one(here):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        finding = only(examine(here, (machine.check_open_files,)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (finding.level, finding.found) == (Level.FAIL, "200 at once")


def test_memory_and_cores_are_what_the_machine_has():
    total, free = machine.measure_memory()
    assert 0 < free <= total <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < machine.count_usable_cores() <= os.cpu_count()


ENGINE = {
    "MemoryLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "SwapLimit": True,
    "SecurityOptions": ["name=seccomp,profile=default"],
}


@pytest.mark.parametrize(
    ("change", "runtime", "level", "said"),
    [
        ({}, "docker", Level.OK, "system calls"),
        ({"MemoryLimit": False}, "docker", Level.FAIL, "limits of memory"),
        ({"MemoryLimit": False}, "process", Level.NOTE, "limits of memory"),
        ({"SecurityOptions": ["name=rootless"]}, "docker", Level.FAIL, "filter of system calls"),
        ({"SwapLimit": False}, "docker", Level.WARN, "swap"),
    ],
)
def test_an_engine_without_walls_is_told(here, change, runtime, level, said):
    finding = only(services.check_isolation(replace(here, runtime=runtime), ENGINE | change))
    assert finding.level is level
    assert said in finding.found


def test_docker_is_needed_only_where_agents_run_in_it(here, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    assert only(examine(here, (services.check_docker,))).level is Level.NOTE
    assert only(examine(replace(here, runtime="docker"), (services.check_docker,))).level is Level.FAIL


def test_the_embedded_broker_needs_no_redis(here):
    assert only(examine(here, (services.check_broker,))).level is Level.NOTE


def test_redis_that_does_not_answer(here):
    finding = only(examine(replace(here, broker=Broker("redis://user:secret@127.0.0.1:9/0")), (services.check_broker,)))
    assert finding.level is Level.FAIL
    assert "secret" not in finding.found
    assert "Start Redis" in finding.advice


def test_a_check_that_breaks_is_a_finding(here):
    def breaking(_):
        raise RuntimeError("oops")
        yield

    finding = only(examine(here, (breaking,)))
    assert finding.level is Level.FAIL
    assert "oops" in finding.found


def test_a_slow_picture_is_waited_for_and_a_hanging_driver_is_not():
    slow = [sys.executable, "-c", "import time\nwhile time.process_time() < 2: pass\nprint('drawn')"]
    done = run_while_working(slow, patience=1.0)
    assert done is not None
    assert done.stdout == "drawn\n"
    assert run_while_working([sys.executable, "-c", "import time; time.sleep(999)"], patience=0.5) is None


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("NAV_EVAL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NAV_EVAL_DATABASE", "postgresql://nobody@127.0.0.1:9/x")
    run = CliRunner().invoke(nav_eval.cli.app, ["doctor", "--json"])
    findings = {finding["check"]: finding for finding in json.loads(run.stdout)}
    assert run.exit_code == 1
    assert findings["database"]["level"] == "fail"
    assert findings["rendering"]["level"] == "ok"
    assert findings["python"]["level"] == "ok"


def test_every_finding_is_in_the_table(capsys):
    from rich.console import Console

    findings = [Finding(check="a", level=level, found=f"found {level}", advice=f"do {level}") for level in Level]
    Console(width=100).print(make_table(findings))
    printed = capsys.readouterr().out
    assert all(f"found {level}" in printed and f"→ do {level}" in printed for level in Level)
