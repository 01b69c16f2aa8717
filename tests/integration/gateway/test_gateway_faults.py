"""Races, kills and servers that are away: nothing is lost, nothing is counted twice."""

import base64
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from tusclient.client import TusClient
from tusclient.exceptions import TusCommunicationError
from tusclient.uploader import Uploader

from nav_eval_store.models import LedgerEntry
from nav_eval_store.uploads import records
from nav_eval_store.work import recovery
from nav_eval_store.work.broker import Broker
from support.challenge import Challenge, competition_config
from support.gateway import API, Server, gateway_settings, server_process, serving
from support.load import measure_slowdown
from support.postgres import PostgresServer

pytestmark = pytest.mark.integration
V = {"Tus-Resumable": "1.0.0"}


@pytest.fixture
def fresh_url(new_url: Callable[[], str]) -> str:
    return new_url()


@pytest.fixture
def narrow(fresh_url: str, tmp_path: Path) -> Iterator[Server]:
    """A gateway whose competition allows three submissions."""
    with serving(gateway_settings(tmp_path, database=fresh_url)) as server:
        Challenge(server.database, competition_config({"quota": {"per_day": 3, "total": 3, "concurrent": 3}}))
        yield server


def test_fifty_creates_at_once_against_three_slots_leave_three(narrow: Server) -> None:
    with narrow.captain("ada") as captain:
        token = captain.headers["authorization"].removeprefix("Bearer ")
    gate = threading.Barrier(50)

    def create(number: int) -> int:
        with narrow.client(token) as client:
            gate.wait()
            body = {"competition": "cup", "phase": "dev", "name": f"n{number}"}
            return client.post("/submissions", json=body).status_code

    with ThreadPoolExecutor(50) as pool:
        statuses = list(pool.map(create, range(50)))
    assert sorted(statuses) == [201] * 3 + [429] * 47
    with narrow.client(token) as client:
        assert len(client.get("/submissions").json()["items"]) == 3
    with narrow.database.read() as session:
        assert session.query(LedgerEntry).count() == 3


def test_fifty_creates_of_one_archive_are_one_submission(narrow: Server) -> None:
    with narrow.captain("ada") as captain:
        token = captain.headers["authorization"].removeprefix("Bearer ")
    gate = threading.Barrier(20)

    def create(_: int) -> str:
        with narrow.client(token) as client:
            gate.wait()
            body = {"competition": "cup", "phase": "dev", "sha256": "a" * 64, "size": 10}
            return str(client.post("/submissions", json=body).json()["id"])

    with ThreadPoolExecutor(20) as pool:
        assert len(set(pool.map(create, range(20)))) == 1


def test_a_used_up_quota_says_when_to_come_back(narrow: Server) -> None:
    with narrow.captain("ada") as captain:
        for number in range(3):
            body = {"competition": "cup", "phase": "dev", "name": str(number)}
            made = captain.post("/submissions", json=body).json()
            captain.post(f"/submissions/{made['id']}/cancel").raise_for_status()  # gives its slot back
        for number in range(3):
            captain.post("/submissions", json={**body, "name": f"b{number}"}).raise_for_status()
        refused = captain.post("/submissions", json=body)
    assert refused.status_code == 429
    assert "in progress" in refused.json()["detail"]


def test_a_used_up_day_says_when_it_is_over(fresh_url: str, tmp_path: Path) -> None:
    with serving(gateway_settings(tmp_path, database=fresh_url)) as server:
        Challenge(server.database, competition_config({"quota": {"per_day": 1, "concurrent": 5}}))
        with server.captain("ada") as captain:
            body = {"competition": "cup", "phase": "dev"}
            captain.post("/submissions", json=body).raise_for_status()
            refused = captain.post("/submissions", json=body)
            (quota,) = captain.get(f"/teams/{captain.get('/me').json()['teams'][0]['team_id']}/quota").json()
    assert refused.status_code == 429
    assert 86_000 < int(refused.headers["retry-after"]) <= 86_400
    assert (quota["left"], quota["next_at"] is not None) == (0, True)


def test_announcements_at_once_are_one_upload(narrow: Server) -> None:
    with narrow.captain("ada") as captain:
        token = captain.headers["authorization"].removeprefix("Bearer ")
        submission = captain.post("/submissions", json={"competition": "cup", "phase": "dev"}).json()["id"]
    metadata = f"submission_id {base64.b64encode(submission.encode()).decode()}"
    gate = threading.Barrier(10)

    def announce(_: int) -> str:
        with narrow.client(token) as client:
            gate.wait()
            answer = client.post("/uploads", headers={**V, "Upload-Length": "5", "Upload-Metadata": metadata})
            assert answer.status_code == 201, answer.text
            return answer.headers["location"]

    with ThreadPoolExecutor(10) as pool:
        assert len(set(pool.map(announce, range(10)))) == 1


@pytest.fixture
def uploader(fresh_url: str, tmp_path: Path) -> Iterator[Callable[..., object]]:
    """A gateway in a process of its own, with a team that has a submission of 40 MB."""
    settings = gateway_settings(tmp_path, database=fresh_url)
    archive = tmp_path / "image.tar"
    archive.write_bytes(os.urandom(40_000_000))
    with serving(settings) as server:
        Challenge(server.database, competition_config())
        token = server.user("ada")
        with server.client(token) as client:
            client.post("/competitions/cup/teams", json={"name": "Ants"}).raise_for_status()
            sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
            body = {"competition": "cup", "phase": "dev", "sha256": sha256, "size": 40_000_000}
            submission = client.post("/submissions", json=body).json()["id"]
    with server_process(settings) as process:
        yield process, token, archive, submission


def test_a_real_tus_client_goes_on_after_the_server_was_killed(uploader) -> None:
    process, token, archive, submission = uploader
    client = TusClient(f"{process.url}{API}/uploads", headers={"Authorization": f"Bearer {token}"})
    upload = client.uploader(str(archive), chunk_size=4_000_000, metadata={"submission_id": submission})
    upload.upload(stop_at=12_000_000)
    location, killer = upload.url, threading.Timer(0.02, process.kill)
    killer.start()
    with pytest.raises((TusCommunicationError, OSError)):
        _go_on(upload)
    killer.join()
    process.start()
    again = client.uploader(str(archive), chunk_size=4_000_000, url=location)
    assert 12_000_000 <= again.offset < 40_000_000
    again.upload()
    headers = {"Authorization": f"Bearer {token}"}
    assert httpx.get(f"{process.url}{API}/submissions/{submission}", headers=headers).json()["status"] == "validating"


def _go_on(upload: Uploader) -> None:
    while upload.offset < upload.get_file_size():
        upload.upload_chunk()
        time.sleep(0.02)


def test_a_body_that_the_kill_cut_in_two_is_continued(uploader) -> None:
    process, token, archive, submission = uploader
    headers = {"Authorization": f"Bearer {token}", **V}
    client = TusClient(f"{process.url}{API}/uploads", headers={"Authorization": f"Bearer {token}"})
    upload = client.uploader(str(archive), metadata={"submission_id": submission})
    upload.set_url(upload.create_url())
    data = archive.read_bytes()

    def slowly() -> Iterator[bytes]:
        for at in range(0, len(data), 1_000_000):
            if at == 30_000_000:
                process.kill()
            yield data[at : at + 1_000_000]

    sent = {**headers, "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}
    with pytest.raises(httpx.TransportError):
        httpx.patch(upload.url, content=slowly(), headers=sent)
    process.start()
    offset = int(httpx.head(upload.url, headers=headers).headers["upload-offset"])
    assert 0 < offset <= 30_000_000
    rest = {**sent, "Upload-Offset": str(offset)}
    assert httpx.patch(upload.url, content=data[offset:], headers=rest, timeout=60).status_code == 204
    shown = httpx.get(f"{process.url}{API}/submissions/{submission}", headers=headers).json()
    assert shown["status"] == "validating"
    assert shown["image_sha256"] == hashlib.sha256(data).hexdigest()


def test_an_upload_that_was_complete_when_the_server_died_is_finished_by_asking(narrow: Server) -> None:
    data = b"the whole image"
    with narrow.captain("ada") as captain:
        sha256 = hashlib.sha256(data).hexdigest()
        body = {"competition": "cup", "phase": "dev", "sha256": sha256, "size": len(data)}
        submission = captain.post("/submissions", json=body).json()["id"]
        with narrow.database.begin() as session:
            upload = records.create_upload(
                session, UUID(submission), actor=recovery.RECOVER, length=len(data), sha256=sha256
            )
        with narrow.settings.store.open_blobs().append(upload.key, 0) as out:
            out.write(data)
        answer = captain.head(f"/uploads/{upload.id}", headers=V)
        assert answer.headers["upload-offset"] == str(len(data))
        assert captain.get(f"/submissions/{submission}").json()["status"] == "validating"


def test_a_broker_that_is_away_costs_a_request_nothing(fresh_url: str, tmp_path: Path) -> None:
    settings = replace(gateway_settings(tmp_path, database=fresh_url), broker=Broker("redis://127.0.0.1:1/0"))
    with serving(settings) as server:
        Challenge(server.database, competition_config({"quota": {"per_day": 100, "concurrent": 100}}))
        with server.captain("ada") as captain:
            began = time.monotonic()
            for number in range(5):
                body = {"competition": "cup", "phase": "dev", "name": str(number)}
                submission = captain.post("/submissions", json=body).json()["id"]
                metadata = "submission_id " + base64.b64encode(submission.encode()).decode()
                headers = {**V, "Upload-Length": "1", "Upload-Metadata": metadata}
                more = {"Content-Type": "application/offset+octet-stream"}
                assert captain.post("/uploads", content=b"x", headers={**headers, **more}).status_code == 201
                assert captain.get(f"/submissions/{submission}").json()["status"] == "validating"
            assert time.monotonic() - began < 20 * measure_slowdown()


def test_a_database_that_restarts_is_a_503_and_then_nothing(tmp_path: Path) -> None:
    postgres = PostgresServer()
    postgres.start()
    try:
        with serving(gateway_settings(tmp_path, database=postgres.create_database())) as server:
            cup = Challenge(server.database, competition_config())
            with server.captain("ada") as captain:
                team = UUID(captain.get("/me").json()["teams"][0]["team_id"])
                submission = cup.submit(team)
                heard: list[str] = []
                listener = threading.Thread(target=_listen, args=(captain, submission, heard))
                listener.start()
                while not heard:
                    time.sleep(0.02)
                postgres.stop(crash=True)
                refused = captain.get("/me")
                assert refused.status_code == 503
                assert refused.headers["content-type"] == "application/problem+json"
                assert "retry-after" in refused.headers
                postgres.start()
                assert captain.get("/me").status_code == 200
                cup.prepare(submission)
                cup.run(submission)
                listener.join(timeout=120)
                assert heard[-1] == "done"  # the same stream, across the restart
    finally:
        postgres.close()


def _listen(client: httpx.Client, submission: UUID, heard: list[str]) -> None:
    with client.stream("GET", f"/submissions/{submission}/events", timeout=30) as response:
        heard.extend(row.removeprefix("event: ") for row in response.iter_lines() if row.startswith("event: "))


def test_a_server_that_stops_ends_its_streams(fresh_url: str, tmp_path: Path) -> None:
    """SIGTERM with somebody watching: the server is gone in a moment, not in an hour."""
    settings = gateway_settings(tmp_path, database=fresh_url)
    with serving(settings) as server:
        Challenge(server.database, competition_config())
    with (
        server_process(settings) as process,
        httpx.stream("GET", f"{process.url}{API}/competitions/cup/events", timeout=30) as response,
    ):
        lines = response.iter_lines()
        assert next(lines).startswith("retry:")
        began = time.monotonic()
        process.stop()
        assert time.monotonic() - began < 8 * measure_slowdown()
