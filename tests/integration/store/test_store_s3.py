"""Blobs in S3: the same promises, through the real protocol."""

import hashlib
import os
from collections.abc import Iterator

import pytest

from nav_eval_store.blobs import BlobStore
from nav_eval_store.errors import NotFound, OffsetMismatch
from support.tools import absent

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A server that speaks S3."""
    try:
        import s3fs
        from moto.server import ThreadedMotoServer
    except ImportError as error:
        absent(f"{error.name} is not installed")
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.fixture
def blobs(endpoint: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> BlobStore:
    import boto3

    variables = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    bucket = f"bucket-{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}"
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket=bucket)
    return BlobStore(f"s3://{bucket}/nav-eval")


def test_put_get_list_delete(blobs: BlobStore) -> None:
    blobs.put("logs/1/a", b"hello")
    blobs.put("logs/1/a", b"hello again")
    assert blobs.get("logs/1/a") == b"hello again"
    assert b"".join(blobs.stream("logs/1/a", start=6, stop=9, chunk=2)) == b"aga"
    assert [(blob.key, blob.size) for blob in blobs.list("logs")] == [("logs/1/a", 11)]
    assert blobs.delete_all("logs") == 1
    assert not blobs.exists("logs/1/a")
    with pytest.raises(NotFound):
        blobs.get("logs/1/a")


def test_an_upload_in_parts_survives_cuts_and_restarts(blobs: BlobStore) -> None:
    parts = [os.urandom(6_000_000), os.urandom(10), os.urandom(70_000)]

    def cut(offset: int, part: bytes) -> None:
        with blobs.append("uploads/1", offset) as out:
            out.write(part)
            raise ConnectionError

    offset = 0
    for part in parts:
        with pytest.raises(ConnectionError):
            cut(offset, part)
        offset += len(part)
        again = BlobStore(blobs.url)
        assert again.offset("uploads/1") == offset
    with pytest.raises(OffsetMismatch), blobs.append("uploads/1", 5):
        pass
    whole = b"".join(parts)
    info = BlobStore(blobs.url).finalise(
        "uploads/1", "images", length=len(whole), sha256=hashlib.sha256(whole).hexdigest()
    )
    blobs.discard("uploads/1")
    assert blobs.get(info.key) == whole
    assert [blob.key for blob in blobs.list()] == [info.key]


def test_half_a_blob_is_none(blobs: BlobStore) -> None:
    def broken() -> Iterator[bytes]:
        yield os.urandom(100)
        raise OSError("cut")

    with pytest.raises(OSError, match="cut"):
        blobs.put("a", broken())
    assert not blobs.exists("a")
