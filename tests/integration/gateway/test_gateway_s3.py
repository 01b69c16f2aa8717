"""A gateway whose blobs are in S3: uploads, cuts, wrong checksums and files, through the real protocol."""

import base64
import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from nav_eval_store import blob_keys
from support.challenge import GENEROUS, Challenge, competition_config
from support.gateway import API, Server, gateway_settings, serving
from support.load import Deadline

pytestmark = pytest.mark.integration
V = {"Tus-Resumable": "1.0.0"}
BYTES = {**V, "Content-Type": "application/offset+octet-stream"}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    boto3, s3fs = pytest.importorskip("boto3"), pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
    }.items():
        monkeypatch.setenv(name, value)
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="blobs")
    settings = gateway_settings(tmp_path)
    settings = replace(settings, store=replace(settings.store, blobs="s3://blobs/nav-eval"))
    with serving(settings) as server:
        Challenge(server.database, competition_config({**GENEROUS, "visibility": {"preset": "practice"}}))
        yield server
    s3fs.S3FileSystem.clear_instance_cache()
    moto.stop()


def test_an_upload_in_pieces_with_a_cut_and_a_wrong_one(server: Server) -> None:
    data = os.urandom(12_000_000)
    with server.captain("ada") as team:
        sha256 = hashlib.sha256(data).hexdigest()
        body = {"competition": "cup", "phase": "dev", "sha256": sha256, "size": len(data)}
        submission = team.post("/submissions", json=body).json()["id"]
        metadata = f"submission_id {base64.b64encode(submission.encode()).decode()}"
        made = team.post("/uploads", headers={**V, "Upload-Length": str(len(data)), "Upload-Metadata": metadata})
        location = made.headers["location"].removeprefix(API)

        def patch(at: int, content: object, **headers: str) -> httpx.Response:
            return team.patch(location, content=content, headers={**BYTES, "Upload-Offset": str(at), **headers})

        def offset() -> int:
            return int(team.head(location, headers=V).headers["upload-offset"])

        def cut() -> Iterator[bytes]:
            yield data[:6_000_000]
            time.sleep(0.2)
            raise ConnectionResetError

        with pytest.raises(ConnectionResetError):
            patch(0, cut())
        deadline = Deadline(20)
        while offset() != 6_000_000:
            assert not deadline.is_over
            time.sleep(0.1)
        wrong = f"sha256 {base64.b64encode(bytes(32)).decode()}"
        while (refused := patch(6_000_000, data[6_000_000:7_000_000], **{"Upload-Checksum": wrong})).status_code == 423:
            time.sleep(0.1)
        assert refused.status_code == 460
        assert offset() == 6_000_000
        assert patch(6_000_000, data[6_000_000:]).status_code == 204
        shown = team.get(f"/submissions/{submission}").json()
        assert (shown["status"], shown["image_sha256"]) == ("validating", sha256)

        blobs = server.settings.store.open_blobs()
        assert blobs.size(f"images/{sha256}") == len(data)
        assert list(blobs.list("uploads")) == []
        blobs.put(blob_keys.make_artifact_key(UUID(submission), "map.png"), bytes(range(100)))
        (listed,) = team.get(f"/submissions/{submission}/artifacts").json()["items"]
        part = team.get(listed["url"].removeprefix(API), headers={"Range": "bytes=10-19"})
        assert (part.status_code, part.content) == (206, bytes(range(10, 20)))
