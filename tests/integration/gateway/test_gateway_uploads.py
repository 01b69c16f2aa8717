"""tus 1.0, header by header, against a real server."""

import base64
import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

from nav_eval_store.models import Job
from nav_eval_store.submissions.lifecycle import JobState
from nav_eval_store.work import workers
from support.challenge import Challenge, jobs_of
from support.gateway import API, Server
from support.load import Deadline

pytestmark = pytest.mark.integration

BYTES = "application/offset+octet-stream"
V = {"Tus-Resumable": "1.0.0"}


def b64(value: str | bytes) -> str:
    return base64.b64encode(value.encode() if isinstance(value, str) else value).decode()


class Team:
    """A team that uploads."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.http = server.captain(name)

    def submission(self, data: bytes = b"", **fields: object) -> str:
        sha256 = hashlib.sha256(data).hexdigest() if data else None
        body = {"competition": "cup", "phase": "dev", "sha256": sha256, "size": len(data) or None, **fields}
        answer = self.http.post("/submissions", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def announce(self, submission: str, length: int | None, **headers: str) -> httpx.Response:
        told = {"Upload-Defer-Length": "1"} if length is None else {"Upload-Length": str(length)}
        metadata = f"submission_id {b64(submission)},filename {b64('image.tar')}"
        return self.http.post("/uploads", headers={**V, "Upload-Metadata": metadata, **told, **headers})

    def upload(self, data: bytes, length: int | None = None) -> tuple[str, str]:
        """A submission, and where its upload goes."""
        submission = self.submission(data)
        answer = self.announce(submission, length or len(data))
        assert answer.status_code == 201, answer.text
        return submission, answer.headers["location"].removeprefix(API)

    def patch(self, location: str, at: int, data: bytes, **headers: str) -> httpx.Response:
        usual = {**V, "Upload-Offset": str(at), "Content-Type": BYTES}
        return self.http.patch(location, content=data, headers={**usual, **headers})

    def offset(self, location: str) -> int:
        answer = self.http.head(location, headers=V)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        return int(answer.headers["upload-offset"])

    def status(self, submission: str) -> str:
        return str(self.http.get(f"/submissions/{submission}").json()["status"])


@pytest.fixture
def new_team(gateway: Server, cup: Challenge) -> Iterator[Callable[[], Team]]:
    made: list[Team] = []

    def make() -> Team:
        made.append(Team(gateway, f"up-{os.urandom(4).hex()}"))
        return made[-1]

    yield make
    for team in made:
        team.http.close()


@pytest.fixture
def team(new_team: Callable[[], Team]) -> Team:
    return new_team()


def test_the_server_says_what_it_can(gateway: Server, cup: Challenge) -> None:
    with gateway.client() as anybody:
        answer = anybody.options("/uploads")
    assert answer.status_code == 204
    assert answer.headers["tus-version"] == answer.headers["tus-resumable"] == "1.0.0"
    assert {"creation", "creation-with-upload", "termination", "expiration", "checksum"} <= set(
        answer.headers["tus-extension"].split(",")
    )
    assert answer.headers["tus-checksum-algorithm"] == "sha256,sha1"
    assert int(answer.headers["tus-max-size"]) == 20_000_000_000


def test_pieces_become_an_image_that_waits_to_be_validated(team: Team, gateway: Server, cup: Challenge) -> None:
    data = os.urandom(300_000)
    submission, location = team.upload(data)
    assert team.status(submission) == "uploading"
    for at in range(0, len(data), 100_000):
        assert team.offset(location) == at
        answer = team.patch(location, at, data[at : at + 100_000])
        assert answer.status_code == 204, answer.text
        assert int(answer.headers["upload-offset"]) == at + 100_000
        assert answer.headers["upload-expires"].endswith("GMT")
    shown = team.http.get(f"/submissions/{submission}").json()
    assert shown["status"] == "validating"
    assert shown["image_sha256"] == hashlib.sha256(data).hexdigest()
    with gateway.database.read() as session:
        (job,) = jobs_of(session, cup.get(submission_id(submission)).id)
        waiting = session.scalars(select(Job).where(Job.state == JobState.WAITING)).all()
    assert (job.kind, job.state) == ("validate", JobState.WAITING)
    assert any(each.dispatched_at is not None for each in waiting)  # its message, or one of somebody before it
    assert gateway.settings.store.open_blobs().get(f"images/{shown['image_sha256']}") == data
    assert team.patch(location, len(data), b"").status_code == 204  # the end, once more
    assert team.patch(location, 0, b"x").status_code == 409


def submission_id(text: str) -> object:
    from uuid import UUID

    return UUID(text)


def test_the_workers_are_told_by_the_broker(team: Team, gateway: Server) -> None:
    with gateway.database.begin() as session:
        workers.register_worker(session, "idle", host="h", version="1", slots=1000)
    data = os.urandom(10)
    _, location = team.upload(data)
    folder = Path(gateway.settings.broker.folder or "") / "queue"
    before = len(list(folder.glob("*.msg"))) if folder.exists() else 0
    assert team.patch(location, 0, data).status_code == 204
    deadline = Deadline(5)
    while len(list(folder.glob("*.msg"))) <= before:
        assert not deadline.is_over, "no message"
        time.sleep(0.02)
    assert any("nav_eval_worker.validate" in file.read_text() for file in folder.glob("*.msg"))


def test_an_interrupted_team_gets_the_same_submission_and_the_same_upload(team: Team) -> None:
    data = os.urandom(1000)
    submission, location = team.upload(data)
    team.patch(location, 0, data[:400])
    assert team.submission(data) == submission
    again = team.announce(submission, len(data))
    assert again.headers["location"] == f"{API}{location}"
    assert again.headers["upload-offset"] == "400"
    assert team.announce(submission, 999).status_code == 409  # other bytes


def test_creation_with_upload(team: Team) -> None:
    data = os.urandom(5000)
    submission = team.submission(data)
    metadata = f"submission_id {b64(submission)}"
    headers = {**V, "Upload-Length": "5000", "Upload-Metadata": metadata, "Content-Type": BYTES}
    answer = team.http.post("/uploads", content=data, headers=headers)
    assert (answer.status_code, answer.headers["upload-offset"]) == (201, "5000")
    assert team.status(submission) == "validating"


def test_a_length_can_be_told_later(team: Team) -> None:
    submission = team.submission()
    location = team.announce(submission, None).headers["location"].removeprefix(API)
    assert team.http.head(location, headers=V).headers["upload-defer-length"] == "1"
    assert team.patch(location, 0, b"abc").status_code == 204
    assert team.patch(location, 3, b"def", **{"Upload-Length": "6"}).status_code == 204
    assert team.status(submission) == "validating"


@pytest.mark.parametrize("algorithm", ["sha256", "sha1"])
def test_a_wrong_checksum_takes_its_bytes_back(team: Team, algorithm: str) -> None:
    data = os.urandom(600)
    submission, location = team.upload(data)
    good = f"{algorithm} {b64(hashlib.new(algorithm, data[:300]).digest())}"
    assert team.patch(location, 0, data[300:], **{"Upload-Checksum": good}).status_code == 460
    assert team.offset(location) == 0
    assert team.patch(location, 0, data[:300], **{"Upload-Checksum": good}).status_code == 204
    assert team.patch(location, 300, data[300:]).status_code == 204
    assert team.status(submission) == "validating"


def test_bytes_that_are_not_those_announced_are_refused_and_may_come_again(team: Team) -> None:
    data = os.urandom(100)
    submission, location = team.upload(data)
    refused = team.patch(location, 0, bytes(100))
    assert refused.status_code == 422
    assert "sha256" in refused.json()["detail"]
    assert team.http.head(location, headers=V).status_code == 404
    again = team.announce(submission, 100).headers["location"].removeprefix(API)
    assert again != location
    assert team.patch(again, 0, data).status_code == 204
    assert team.status(submission) == "validating"


def test_an_upload_can_be_given_up(team: Team) -> None:
    _, location = team.upload(b"x" * 100)
    team.patch(location, 0, b"x" * 10)
    assert team.http.delete(location, headers=V).status_code == 204
    assert team.http.head(location, headers=V).status_code == 404
    assert team.patch(location, 10, b"x").status_code == 404


def test_a_cancelled_submission_takes_no_more_bytes(team: Team) -> None:
    submission, location = team.upload(b"x" * 100)
    assert team.http.post(f"/submissions/{submission}/cancel").json()["status"] == "cancelled"
    assert team.patch(location, 0, b"x").status_code == 410


def test_weights_may_come_beside_the_image(team: Team, gateway: Server, cup: Challenge) -> None:
    submission = team.submission(b"image")
    weights = f"submission_id {b64(submission)},purpose {b64('weights')}"
    location = team.announce(submission, 7, **{"Upload-Metadata": weights}).headers["location"].removeprefix(API)
    image = team.announce(submission, 5).headers["location"].removeprefix(API)
    assert team.patch(image, 0, b"image").status_code == 204
    assert team.status(submission) == "uploading"  # the weights are awaited
    assert team.http.post(f"/submissions/{submission}/submit").status_code == 409
    assert team.patch(location, 0, b"weights").status_code == 204
    assert team.status(submission) == "validating"


def test_a_team_may_say_itself_when_it_is_complete(team: Team) -> None:
    submission = team.submission(b"image")
    metadata = f"submission_id {b64(submission)},submit {b64('no')}"
    location = team.announce(submission, 5, **{"Upload-Metadata": metadata}).headers["location"].removeprefix(API)
    assert team.patch(location, 0, b"image").status_code == 204
    assert team.status(submission) == "uploading"
    assert team.http.post(f"/submissions/{submission}/submit").json()["status"] == "validating"
    assert team.http.post(f"/submissions/{submission}/submit").json()["status"] == "validating"  # twice is once


def test_another_team_finds_no_upload(team: Team, new_team: Callable[[], Team], gateway: Server) -> None:
    submission, location = team.upload(b"x" * 10)
    stranger = new_team()
    assert stranger.http.head(location, headers=V).status_code == 404
    assert stranger.patch(location, 0, b"x").status_code == 404
    assert stranger.http.delete(location, headers=V).status_code == 404
    assert stranger.announce(submission, 10).status_code == 404
    with gateway.client() as anybody:
        assert anybody.head(location, headers=V).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Tus-Resumable": "0.2.2"}, 412),
        ({"Content-Type": "application/octet-stream"}, 415),
        ({"Upload-Offset": "-1"}, 400),
        ({"Upload-Offset": "1e3"}, 400),
        ({"Upload-Offset": "9" * 30}, 400),
        ({"Upload-Offset": "5"}, 409),
        ({"Upload-Checksum": "md5 AAAA"}, 400),
        ({"Upload-Checksum": "sha256 not base64"}, 400),
        ({"Upload-Length": "11"}, 409),
    ],
)
def test_patches_that_are_refused(team: Team, headers: dict[str, str], status: int) -> None:
    _, location = team.upload(b"x" * 10)
    answer = team.patch(location, 0, b"x", **headers)
    assert answer.status_code == status
    assert answer.headers["tus-resumable"] == "1.0.0"
    assert team.offset(location) == 0


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Upload-Length": "ten"}, 400),
        ({"Upload-Length": "0"}, 422),
        ({"Upload-Length": "30000000000000"}, 413),
        ({"Upload-Metadata": "submission_id !!!"}, 400),
        ({"Upload-Metadata": ""}, 400),
        ({"Upload-Metadata": f"submission_id {b64('../../etc/passwd')}"}, 400),
        ({"Upload-Metadata": "x" * 9000}, 400),
        ({"Upload-Metadata": f"submission_id {b64(bytes([255, 254]))}"}, 400),
        ({"Upload-Defer-Length": "1"}, 400),
    ],
)
def test_announcements_that_are_refused(team: Team, headers: dict[str, str], status: int) -> None:
    submission = team.submission(b"x")
    assert team.announce(submission, 1, **headers).status_code == status


def test_more_bytes_than_announced_are_refused(team: Team) -> None:
    _, location = team.upload(b"x" * 10)
    assert team.patch(location, 0, b"x" * 11).status_code == 413
    assert team.offset(location) == 0

    def endless() -> Iterator[bytes]:
        for _ in range(50):
            yield b"x"

    headers = {**V, "Upload-Offset": "0", "Content-Type": BYTES}
    assert team.http.patch(location, content=endless(), headers=headers).status_code == 413
    assert team.offset(location) <= 10


def raw(gateway: Server, team: Team, location: str, *, at: int, length: int) -> socket.socket:
    """A connection that has announced a body of `length` bytes."""
    host, port = gateway.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=10)
    lines = [
        f"PATCH {API}{location} HTTP/1.1",
        f"Host: {host}",
        f"Authorization: {team.http.headers['authorization']}",
        "Tus-Resumable: 1.0.0",
        f"Content-Type: {BYTES}",
        f"Upload-Offset: {at}",
        f"Content-Length: {length}",
    ]
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    return connection


def test_a_cut_connection_keeps_what_came_and_a_second_writer_waits(team: Team, gateway: Server) -> None:
    data = os.urandom(100_000)
    submission, location = team.upload(data)
    with raw(gateway, team, location, at=0, length=len(data)) as connection:
        connection.sendall(data[:60_000])
        deadline = Deadline(5)
        while not gateway.app.state.services.uploading:
            assert not deadline.is_over
            time.sleep(0.02)
        assert team.patch(location, 0, b"x").status_code == 423
    deadline = Deadline(5)
    while team.offset(location) != 60_000:
        assert not deadline.is_over
        time.sleep(0.02)
    while (answer := team.patch(location, 60_000, data[60_000:])).status_code == 423:
        time.sleep(0.02)
    assert answer.status_code == 204
    assert team.status(submission) == "validating"


def test_one_of_many_writers_at_once_wins(team: Team) -> None:
    data = os.urandom(200_000)
    submission, location = team.upload(data)
    statuses: list[int] = []
    with team.server.client(team.http.headers["authorization"].removeprefix("Bearer ")) as shared:
        headers = {**V, "Upload-Offset": "0", "Content-Type": BYTES}
        threads = [
            threading.Thread(
                target=lambda: statuses.append(shared.patch(location, content=data, headers=headers).status_code)
            )
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert statuses.count(204) == 1
    assert set(statuses) <= {204, 423, 409}
    assert team.status(submission) == "validating"


def test_the_method_may_stand_in_a_header(team: Team) -> None:
    submission, location = team.upload(b"abc")
    headers = {**V, "Upload-Offset": "0", "Content-Type": BYTES, "X-HTTP-Method-Override": "PATCH"}
    assert team.http.post(location, content=b"abc", headers=headers).status_code == 204
    assert team.status(submission) == "validating"
