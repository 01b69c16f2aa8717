"""Blobs: whole or not at all, never outside their folder, uploads that grow only at their end."""

import hashlib
import io
import threading
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval_store import blob_keys
from nav_eval_store.blobs import BlobStore
from nav_eval_store.errors import BadKey, DigestMismatch, NotFound, OffsetMismatch, StoreError, UploadBusy


@pytest.fixture(params=["folder", "objects"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BlobStore]:
    """A folder, and a file system without append (as S3 has none)."""
    if request.param == "folder":
        yield BlobStore(tmp_path / "blobs")
        return
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    yield BlobStore("memory://blobs")
    memory.store.clear()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("source", [lambda: b"hello", lambda: io.BytesIO(b"hello"), lambda: [b"he", b"", b"llo"]])
def test_what_is_put_is_there(blobs: BlobStore, source) -> None:
    info = blobs.put("logs/1/a.txt", source())
    assert info == ("logs/1/a.txt", 5, sha256(b"hello"))
    assert blobs.get("logs/1/a.txt") == b"hello"
    assert blobs.exists("logs/1/a.txt")
    assert blobs.size("logs/1/a.txt") == 5


def test_putting_again_replaces(blobs: BlobStore) -> None:
    blobs.put("a", b"old and long")
    blobs.put("a", b"new")
    assert blobs.get("a") == b"new"


@pytest.mark.parametrize(("start", "stop"), [(0, None), (3, None), (0, 4), (2, 7), (0, 0), (5, 5), (9, 100)])
def test_ranges_are_streamed(blobs: BlobStore, start: int, stop: int | None) -> None:
    data = bytes(range(10))
    blobs.put("a", data)
    assert b"".join(blobs.stream("a", start=start, stop=stop, chunk=3)) == data[start:stop]


def test_what_is_not_there(blobs: BlobStore) -> None:
    assert not blobs.exists("no")
    for ask in (blobs.get, blobs.size, blobs.open):
        with pytest.raises(NotFound, match="no blob 'no'"):
            ask("no")
    blobs.delete("no")
    assert blobs.delete_all("no") == 0
    assert list(blobs.list()) == []


def test_listing_and_deleting_by_prefix(blobs: BlobStore) -> None:
    for key in ("logs/1/a", "logs/1/b", "logs/12/c", "other"):
        blobs.put(key, b"xy")
    assert {blob.key for blob in blobs.list()} == {"logs/1/a", "logs/1/b", "logs/12/c", "other"}
    assert {(blob.key, blob.size) for blob in blobs.list("logs/1")} == {("logs/1/a", 2), ("logs/1/b", 2)}
    assert [blob.key for blob in blobs.list("other")] == ["other"]
    assert blobs.delete_all("logs/1") == 2
    assert {blob.key for blob in blobs.list()} == {"logs/12/c", "other"}


@pytest.mark.parametrize(
    "key",
    [
        *("", "/etc/passwd", "../x", "a/../b", "a/..", "a//b", "a/", ".hidden", "a/.hidden", "~root", "s3://x"),
        *("a\\b", "a\x00b", "a\nb", "ä", "C:evil", "a b", "a" * 300, "/".join("a" * 20)),
    ],
)
def test_keys_that_are_refused(blobs: BlobStore, key: str) -> None:
    for use in (blobs.get, blobs.delete, blobs.exists, blobs.offset, blobs.discard):
        with pytest.raises(BadKey):
            use(key)
    with pytest.raises(BadKey):
        blobs.put(key, b"x")


@given(st.text(), st.text())
def test_any_text_is_a_segment_of_its_own(one: str, other: str) -> None:
    assert blob_keys.check_key(blob_keys.make_segment(one)) == blob_keys.make_segment(one)
    assert "/" not in blob_keys.make_segment(one)
    assert (blob_keys.make_segment(one) == blob_keys.make_segment(other)) is (one == other)


def test_keys_of_parts() -> None:
    assert (
        blob_keys.join_key("replays", 7, "../../etc/passwd", "ep_1.json")
        == "replays/7/%2E.%2F..%2Fetc%2Fpasswd/ep_1.json"
    )


def test_half_a_blob_is_none(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    blobs.put("a", b"old")

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise OSError("cut")

    with pytest.raises(OSError, match="cut"):
        blobs.put("a", broken())
    assert blobs.get("a") == b"old"
    assert [blob.key for blob in blobs.list()] == ["a"]


def upload(blobs: BlobStore, key: str, *parts: bytes) -> None:
    for part in parts:
        with blobs.append(key, blobs.offset(key)) as out:
            out.write(part)


def test_an_upload_continues_where_it_ended(blobs: BlobStore) -> None:
    upload(blobs, "uploads/1", b"one ", b"two ", b"three")
    assert blobs.offset("uploads/1") == 13
    info = blobs.finalise("uploads/1", "images", length=13, sha256=sha256(b"one two three"))
    assert info == (f"images/{sha256(b'one two three')}", 13, sha256(b"one two three"))
    assert blobs.get(info.key) == b"one two three"
    blobs.discard("uploads/1")
    assert blobs.get(info.key) == b"one two three"
    assert blobs.offset("uploads/1") == 0


@pytest.mark.parametrize("offset", [0, 3, 5, 100])
def test_an_upload_cannot_continue_elsewhere(blobs: BlobStore, offset: int) -> None:
    upload(blobs, "uploads/1", b"four")
    with pytest.raises(OffsetMismatch, match="4 bytes"), blobs.append("uploads/1", offset):
        pass
    assert blobs.offset("uploads/1") == 4


def test_what_came_before_a_cut_stays(blobs: BlobStore) -> None:
    def cut() -> None:
        with blobs.append("uploads/1", 0) as out:
            out.write(b"first ")
            raise ConnectionError

    with pytest.raises(ConnectionError):
        cut()
    assert blobs.offset("uploads/1") == 6
    upload(blobs, "uploads/1", b"second")
    info = blobs.finalise("uploads/1", "images", length=12)
    assert blobs.get(info.key) == b"first second"


def test_more_than_announced_is_refused(blobs: BlobStore) -> None:
    with blobs.append("uploads/1", 0, limit=5) as out:
        out.write(b"123")
        with pytest.raises(StoreError, match="More bytes"):
            out.write(b"456")
    assert blobs.offset("uploads/1") == 3


def test_the_wrong_bytes_are_refused_and_the_upload_stays(blobs: BlobStore) -> None:
    upload(blobs, "uploads/1", b"evil")
    with pytest.raises(DigestMismatch, match="upload it again"):
        blobs.finalise("uploads/1", "images", length=4, sha256=sha256(b"good"))
    with pytest.raises(OffsetMismatch, match="4 of 9"):
        blobs.finalise("uploads/1", "images", length=9)
    assert list(blobs.list("images")) == []
    assert blobs.offset("uploads/1") == 4


def test_finalising_again_gives_the_same_blob(blobs: BlobStore) -> None:
    """The gateway died between keeping the bytes and writing so down."""
    upload(blobs, "uploads/1", b"data")
    assert blobs.finalise("uploads/1", "images", length=4) == blobs.finalise("uploads/1", "images", length=4)


def test_the_same_bytes_are_kept_once(blobs: BlobStore) -> None:
    for key in ("uploads/1", "uploads/2"):
        upload(blobs, key, b"same")
        blobs.finalise(key, "images", length=4)
        blobs.discard(key)
    assert len(list(blobs.list())) == 1


def test_another_process_continues_an_upload(tmp_path: Path) -> None:
    """The digest that was computed along the way is gone with the first one; the bytes are read again."""
    upload(BlobStore(tmp_path), "uploads/1", b"one ")
    second = BlobStore(tmp_path)
    upload(second, "uploads/1", b"two")
    assert second.finalise("uploads/1", "images", length=7).sha256 == sha256(b"one two")


def test_bytes_changed_behind_our_back_are_found(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    upload(blobs, "uploads/1", b"one ")
    with (tmp_path / "uploads/1").open("ab") as file:
        file.write(b"x")
    upload(blobs, "uploads/1", b"two")
    assert blobs.finalise("uploads/1", "images", length=8).sha256 == sha256(b"one xtwo")


def test_two_requests_do_not_write_one_upload(tmp_path: Path) -> None:
    blobs, other = BlobStore(tmp_path), BlobStore(tmp_path)
    with blobs.append("uploads/1", 0) as out:
        out.write(b"x")
        found: list[type[BaseException]] = []

        def intrude() -> None:
            try:
                with other.append("uploads/1", 0):
                    found.append(AssertionError)
            except UploadBusy as error:
                found.append(type(error))

        thread = threading.Thread(target=intrude)
        thread.start()
        thread.join()
    assert found == [UploadBusy]


def test_an_old_request_that_wakes_up_late_does_no_harm() -> None:
    """Objects: a part that overlaps is not followed; the upload is as long as its parts fit together."""
    blobs = BlobStore("memory://late")
    upload(blobs, "uploads/1", b"aaaa", b"bbbb")
    with fsspec.filesystem("memory").open("/late/uploads/1/part-00000000000000000002", "wb") as file:
        file.write(b"zzzzzzzz")
    assert blobs.offset("uploads/1") == 8
    assert blobs.get(blobs.finalise("uploads/1", "images", length=8).key) == b"aaaabbbb"


@settings(deadline=None, max_examples=30)
@given(st.lists(st.binary(max_size=50), max_size=8))
def test_any_cutting_gives_the_same_bytes(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    blobs = BlobStore(tmp_path_factory.mktemp("cut"))
    upload(blobs, "uploads/1", b"", *parts)
    whole = b"".join(parts)
    info = blobs.finalise("uploads/1", "images", length=len(whole), sha256=sha256(whole))
    assert blobs.get(info.key) == whole
