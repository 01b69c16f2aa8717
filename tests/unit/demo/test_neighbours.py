"""Two installations on one machine leave each other alone."""

import tempfile
from pathlib import Path

import pytest

from nav_eval_worker.runtime.process import ProcessRuntime


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def left_by(runtime: ProcessRuntime, temporary: Path) -> Path:
    """A folder of sockets, as a worker that was killed leaves it."""
    return Path(tempfile.mkdtemp(prefix=f"{runtime._sockets}8d1f0a52-run-", dir=temporary))


def test_a_worker_sweeps_its_own_installation_only(tmp_path, temporary):
    ours, theirs = (ProcessRuntime(tmp_path / name, cache=tmp_path / "cache") for name in ("ours", "theirs"))
    dead, busy = left_by(ours, temporary), left_by(theirs, temporary)
    assert ours.sweep(lambda _: False) == 1
    assert not dead.exists()
    assert busy.exists(), "what is active there is not in our database"


def test_what_is_active_stays(tmp_path, temporary):
    runtime = ProcessRuntime(tmp_path / "ours", cache=tmp_path / "cache")
    busy = left_by(runtime, temporary)
    assert runtime.sweep(lambda run: run == "8d1f0a52-run") == 0
    assert busy.exists()
