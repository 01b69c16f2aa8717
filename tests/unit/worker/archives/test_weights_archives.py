"""Weights: folders and files, nothing else."""

import io
import tarfile
from pathlib import Path

import pytest

from nav_eval_worker.archives import (
    ArchiveInvalid,
    ArchiveLimits,
    ArchiveTooLarge,
    ArchiveUnsafe,
    inspect_weights,
    unpack_weights,
)
from support.archives import PACKERS, File, folder, hardlink, symlink, tar

FILES = [folder("./"), folder("./model/"), File("./model/a.safetensors", b"1" * 5000), File("./model/b.json", b"{}")]


@pytest.mark.parametrize("packing", PACKERS)
def test_weights_are_summed_up(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "weights.tar"
    path.write_bytes(PACKERS[packing](tar(FILES)))
    summary = inspect_weights(path)
    assert (summary.files, summary.unpacked_bytes, summary.compression) == (2, 5002, packing)
    assert summary.compressed_bytes == path.stat().st_size


def test_equal_weights_have_equal_digests_however_packed() -> None:
    def content(files: list[File], form: int = tarfile.PAX_FORMAT) -> str:
        return inspect_weights(io.BytesIO(tar(files, form=form))).content_digest

    assert content(FILES) == content(FILES[::-1], tarfile.GNU_FORMAT) == content(FILES[2:])
    assert content(FILES) != content([*FILES[:-1], File("model/b.json", b"[]")])
    assert content(FILES) != content([*FILES[:-1], File("model/c.json", b"{}")])


@pytest.mark.parametrize(
    ("files", "error", "reason"),
    [
        ([], ArchiveInvalid, "holds no file"),
        ([folder("a/")], ArchiveInvalid, "holds no file"),
        ([symlink("a", "b"), File("b")], ArchiveUnsafe, "symbolic link"),
        ([File("b"), hardlink("a", "b")], ArchiveUnsafe, "hard link"),
        ([File("p", type=tarfile.FIFOTYPE)], ArchiveUnsafe, "named pipe"),
        ([File("d", type=tarfile.CHRTYPE, device=(1, 3))], ArchiveUnsafe, "character device"),
        ([File("../a")], ArchiveUnsafe, "climbs out"),
        ([File("/a")], ArchiveUnsafe, "absolute"),
        ([File("a\\b")], ArchiveUnsafe, "forbidden"),
        ([File("a"), File("./a")], ArchiveUnsafe, "twice"),
        ([File("a"), File("a/b")], ArchiveUnsafe, "both as a file and as a folder"),
        ([File("a/b"), File("a")], ArchiveUnsafe, "both as a file and as a folder"),
        ([folder("a/"), File("a")], ArchiveUnsafe, "both as a file and as a folder"),
        ([File(f"{i}") for i in range(40)], ArchiveTooLarge, "more than 30 members"),
        ([File("a", bytes(20_000))], ArchiveTooLarge, "a file of"),
    ],
)
def test_what_weights_may_not_hold(tmp_path: Path, files: list[File], error: type[ArchiveInvalid], reason: str) -> None:
    limits = ArchiveLimits(members=30, file_bytes=10_000)
    with pytest.raises(error, match=reason):
        inspect_weights(io.BytesIO(tar(files)), limits)
    with pytest.raises(error, match=reason):
        unpack_weights(io.BytesIO(tar(files)), tmp_path / "weights", limits)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (tar(FILES)[:3000], "truncated"),
        (tar(FILES) + b"x" * 9, "after its end"),
        (b"PK\x03\x04", "zip"),
    ],
)
def test_broken_weights(data: bytes, reason: str) -> None:
    with pytest.raises(ArchiveInvalid, match=reason):
        inspect_weights(io.BytesIO(data))


def test_a_bomb_of_weights() -> None:
    packed = PACKERS["gzip"](tar([File("zeros", bytes(70 * 1024**2))]))
    with pytest.raises(ArchiveTooLarge, match="200 to one"):
        inspect_weights(io.BytesIO(packed))


def test_weights_are_unpacked_as_they_were_checked(tmp_path: Path) -> None:
    script = File("bin/run", b"#!/bin/sh", mode=0o6755)
    data = PACKERS["zstd"](tar([*FILES, script]))
    summary = unpack_weights(io.BytesIO(data), tmp_path / "weights")
    assert summary == inspect_weights(io.BytesIO(data))
    assert (tmp_path / "weights/model/a.safetensors").read_bytes() == b"1" * 5000
    assert (tmp_path / "weights/bin/run").stat().st_mode & 0o7777 == 0o555
    assert (tmp_path / "weights/model/b.json").stat().st_mode & 0o7777 == 0o444
    assert [path.name for path in tmp_path.iterdir()] == ["weights"]


def test_weights_are_never_mixed_with_older_ones(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "old").touch()
    with pytest.raises(OSError, match="not empty"):
        unpack_weights(io.BytesIO(tar(FILES)), tmp_path / "weights")
    assert [path.name for path in tmp_path.rglob("*")] == ["weights", "old"]
