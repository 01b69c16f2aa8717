"""Files that are there as a whole or not at all."""

import os
from pathlib import Path

import pytest

from nav_eval.scene.model import Semantics
from nav_eval.scene.semantics import write_semantics
from nav_eval.whole_files import write_atomically


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.json"
    write_atomically(path, b"old")

    def disk_full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [left.name for left in tmp_path.iterdir()] == ["results.json"]


def test_a_written_file_can_be_read_by_others(tmp_path: Path) -> None:
    write_atomically(tmp_path / "results.json", b"x")
    assert (tmp_path / "results.json").stat().st_mode & 0o777 == 0o644


def test_an_annotation_is_not_there_before_all_of_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that open a scene for the first time: one read what the other had only begun to write."""
    path = tmp_path / "scene.json"
    seen_meanwhile: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda _handle: seen_meanwhile.append(path.exists()))
    write_semantics(Semantics(), path)
    assert seen_meanwhile == [False]
    assert path.exists()
