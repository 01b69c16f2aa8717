"""What a worker remembers of images and weights: when each was used, and which ones have to go."""

import os
from pathlib import Path

import pytest

from nav_eval_worker.runtime.containers.image_cache import YOUNG_SECONDS, CacheEntry, CacheIndex, is_young

NOW = 1_800_000_000.0
A, B, C = (f"sha256:{letter * 64}" for letter in "abc")


@pytest.fixture
def notes(tmp_path: Path) -> CacheIndex:
    """Three of 100 bytes each, used five, three and two hours ago."""
    notes = CacheIndex(tmp_path / "notes")
    for digest, hours in ((A, 5), (B, 3), (C, 2)):
        notes.write(digest, CacheEntry(unpacked_bytes=100, volumes=("/data",)))
        used(notes, digest, NOW - hours * 3600)
    return notes


def used(notes: CacheIndex, digest: str, moment: float) -> None:
    os.utime(notes.folder / f"{digest.removeprefix('sha256:')}.json", (moment, moment))


@pytest.mark.parametrize(
    ("limit", "leaving"), [(300, []), (299, [A]), (200, [A]), (199, [A, B]), (100, [A, B]), (0, [A, B, C])]
)
def test_the_longest_unused_go_first(notes: CacheIndex, limit: int, leaving: list[str]) -> None:
    assert [digest for digest, _ in notes.list_surplus(limit, now=NOW)] == leaving


def test_what_was_used_lately_stays_whatever_the_limit(notes: CacheIndex) -> None:
    used(notes, A, NOW - YOUNG_SECONDS + 60)
    assert [digest for digest, _ in notes.list_surplus(0, now=NOW)] == [B, C]


def test_notes_are_read_and_forgotten(notes: CacheIndex) -> None:
    assert notes.read(A) == CacheEntry(unpacked_bytes=100, volumes=("/data",))
    assert notes.list_known() == {A, B, C}
    notes.remove(A)
    notes.remove(A)
    assert notes.read(A) is None
    assert notes.list_known() == {B, C}
    (notes.folder / f"{'b' * 64}.json").write_bytes(b"{")
    assert notes.read(B) is None  # as if it were not there: the image is admitted again
    assert CacheIndex(notes.folder / "nowhere").list_known() == set()


def test_a_digest_is_no_path(notes: CacheIndex) -> None:
    for digest in ("../../etc/passwd", "sha256:" + "g" * 64, "", "sha256:abc"):
        with pytest.raises(ValueError, match="no sha256"):
            notes.read(digest)


def test_half_made_things_go_after_a_while(notes: CacheIndex) -> None:
    young, old, file = notes.folder / "image-1.part", notes.folder / "image-2.part", notes.folder / "x.1.part"
    for folder in (young, old):
        folder.mkdir()
        (folder / "image.tar").touch()
    file.touch()
    for path in (old, file):
        os.utime(path, (NOW - 7200, NOW - 7200))
    os.utime(young, (NOW, NOW))
    notes.tidy(now=NOW)
    assert [path.exists() for path in (young, old, file)] == [True, False, False]


@pytest.mark.parametrize(
    ("moment", "young"),
    [
        ("2027-01-15T07:59:00.123456789Z", True),
        ("2027-01-15T08:59:00+01:00", True),
        ("2027-01-15T06:00:00Z", False),
        ("0001-01-01T00:00:00Z", False),
        ("", False),
    ],
)
def test_the_engines_times_are_understood(moment: str, young: bool) -> None:
    assert is_young(moment, now=NOW) is young
