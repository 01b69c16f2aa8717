"""A gateway makes a folder for what it keeps when there is something to keep, and takes it along."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nav_eval_gateway.kept_files import KeptFiles
from support.gateway import gateway_settings, serving


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_all_threads_get_the_same_folder_and_it_ends_with_the_gateway(scratch: Path) -> None:
    kept = KeptFiles()
    assert list(scratch.iterdir()) == []
    with ThreadPoolExecutor(8) as pool:
        folders = set(pool.map(lambda _: kept.folder, range(64)))
    assert folders == set(scratch.iterdir())
    (kept.folder / "archive.zip").write_bytes(b"PK")
    kept.close()
    assert list(scratch.iterdir()) == []


def test_a_gateway_that_nobody_asked_for_a_file_has_none(tmp_path: Path, scratch: Path) -> None:
    with serving(gateway_settings(tmp_path)) as server, server.client() as client:
        assert client.get("/competitions").status_code == 200
        assert list(scratch.glob("nav-eval-gateway-*")) == []
