"""Input that means no good: every answer is a problem with a sentence, none is a 500, and the server lives on."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from support.challenge import Challenge, competition_config
from support.gateway import API, PASSWORD, Server, gateway_settings, serving
from support.load import measure_slowdown

pytestmark = pytest.mark.integration
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def hardened(new_url: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Small limits, so that reaching them takes no time."""
    folder = tmp_path_factory.mktemp("hardened")
    settings = gateway_settings(folder, database=new_url(), max_body=20_000, body_seconds=1.0, upload_idle_seconds=1.0)
    with serving(settings) as server:
        Challenge(server.database, competition_config())
        yield server


@pytest.fixture(scope="module")
def captain(hardened: Server) -> Iterator[httpx.Client]:
    with hardened.captain("ada") as client:
        yield client


def is_a_refusal(answer: httpx.Response) -> bool:
    problem = answer.json()
    return (
        400 <= answer.status_code < 500
        and answer.headers["content-type"] == "application/problem+json"
        and problem["status"] == answer.status_code
        and len(problem["detail"]) > 10
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"\xff\xfe\x00",
        b'{"name": "\xc3\x28", "password": "x"}',  # no UTF-8
        b'{"name": "\\ud800", "password": "half a character"}',
        b'{"name": "a\\u0000b", "password": "x"}',
        b'{"name": NaN, "password": 1e999}',
        b'{"name": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"name": "a", "password": "b", "scopes": ["root"]}',
        b'{"name": "a", "password": "b", "scopes": ' + json.dumps(["read"] * 50).encode() + b"}",
        b"name=a&password=b",
        b"\x1f\x8b\x08\x00",
    ],
)
def test_bodies_that_are_no_login(hardened: Server, body: bytes) -> None:
    with hardened.client() as anybody:
        answer = anybody.post("/login", content=body, headers=JSON)
    assert is_a_refusal(answer), answer.text


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "multipart/form-data; boundary=x", "", "a/b;" * 99])
def test_bodies_of_another_kind(hardened: Server, kind: str) -> None:
    content = json.dumps({"name": "ada", "password": PASSWORD})
    with hardened.client() as anybody:
        answer = anybody.post("/login", content=content, headers={"Content-Type": kind})
    assert is_a_refusal(answer), answer.text


def test_bodies_that_are_too_large(hardened: Server, captain: httpx.Client) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield b"x" * 1000

    assert captain.post("/submissions", content=b"x" * 30_000, headers=JSON).status_code == 413
    assert captain.post("/submissions", content=endless(), headers=JSON).status_code == 413


@pytest.mark.parametrize("name", ["a\nb", "a\x00b", "a\u202eb", "\x1b[2J", "x" * 201, "a\u2028b"])
def test_names_that_play_tricks(captain: httpx.Client, name: str) -> None:
    body = {"competition": "cup", "phase": "dev", "name": name}
    answer = captain.post("/submissions", json=body)
    assert is_a_refusal(answer)
    assert "\x1b" not in answer.text


@pytest.mark.parametrize(
    "change",
    [
        {"sha256": "A" * 64},
        {"sha256": "../" * 20},
        {"size": -1},
        {"size": 0},
        {"size": 1.5},
        {"size": 10**30},
        {"size": "many"},
        {"phase": "../dev"},
        {"phase": "dev\x00"},
        {"competition": ""},
        {"competition": "cup'; DROP TABLE teams; --"},
        {"priority": 100},
        {"team": "another"},
    ],
)
def test_submissions_that_are_refused(captain: httpx.Client, change: dict) -> None:
    assert is_a_refusal(captain.post("/submissions", json={"competition": "cup", "phase": "dev", **change}))


@pytest.mark.parametrize(
    "path",
    [
        "/submissions/..%2f..%2fetc%2fpasswd",
        "/submissions/%00",
        "/submissions/1",
        "/submissions/00000000-0000-0000-0000-000000000000",
        "/submissions/00000000-0000-0000-0000-000000000000/logs?episode=%ff",
        "/submissions/00000000-0000-0000-0000-000000000000/artifacts/../../../store.db",
        "/submissions/ffffffffffffffffffffffffffffffffffffffff",
        "/teams/%F0%9F%99%82",
        "/teams/00000000-0000-0000-0000-000000000000/members/%00",
        "/competitions/cup%2fphases",
        "/competitions/" + "x" * 3000,
        "/submissions?limit=0",
        "/submissions?limit=99999999999999999999",
        "/submissions?cursor=%00",
        "/submissions?status=nonsense",
        "/submissions?team=x",
        "/submissions?competition=%ff%fe",
    ],
)
def test_addresses_that_lead_nowhere(captain: httpx.Client, path: str) -> None:
    assert is_a_refusal(captain.get(path)), path


@pytest.mark.parametrize(
    "token",
    ["x", "nve_", "nve_aaaaaaaa_" + "a" * 43, "nve_" + "a" * 10_000, "a b", "é", "nve_aaaaaaa%00_" + "a" * 43],
)
def test_tokens_that_are_none(hardened: Server, token: str) -> None:
    with hardened.client() as anybody:
        answer = anybody.get("/me", headers={"Authorization": b"Bearer " + token.encode()})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"]


def test_another_scheme_is_no_token(hardened: Server) -> None:
    with hardened.client() as anybody:
        assert anybody.get("/me", headers={"Authorization": "Basic YTpi"}).status_code == 401
        assert anybody.get("/competitions", headers={"Authorization": "Basic YTpi"}).status_code == 200


def connection(server: Server) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def test_a_body_that_drips_is_not_waited_for(hardened: Server) -> None:
    with connection(hardened) as drip:
        head = f"POST {API}/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        drip.sendall(head.encode())
        began = time.monotonic()
        for _ in range(100):
            try:
                drip.sendall(b" ")
            except OSError:
                break
            drip.settimeout(0.1)
            try:
                answer = drip.recv(65536)
                break
            except TimeoutError:
                continue
        assert b" 408 " in answer.partition(b"\r\n")[0]
        assert time.monotonic() - began < 8 * measure_slowdown()


def test_an_upload_that_falls_silent_keeps_what_came(hardened: Server, captain: httpx.Client) -> None:
    from base64 import b64encode

    submission = captain.post("/submissions", json={"competition": "cup", "phase": "dev"}).json()["id"]
    metadata = f"submission_id {b64encode(submission.encode()).decode()}"
    tus = {"Tus-Resumable": "1.0.0"}
    made = captain.post("/uploads", headers={**tus, "Upload-Length": "1000", "Upload-Metadata": metadata})
    location = made.headers["location"]
    with connection(hardened) as silent:
        lines = [
            f"PATCH {location} HTTP/1.1",
            "Host: x",
            f"Authorization: {captain.headers['authorization']}",
            "Tus-Resumable: 1.0.0",
            "Content-Type: application/offset+octet-stream",
            "Upload-Offset: 0",
            "Content-Length: 1000",
            "",
            "x" * 300,
        ]
        silent.sendall("\r\n".join(lines).encode())
        assert b" 408 " in silent.recv(65536).partition(b"\r\n")[0]
    shown = captain.head(location.removeprefix(API), headers=tus)
    assert shown.headers["upload-offset"] == "300"


def test_what_the_server_says_when_it_breaks_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from nav_eval_store.competitions import configuration

    def broken(_: object) -> None:
        raise ZeroDivisionError("the password is swordfish")

    monkeypatch.setattr(configuration, "list_competitions", broken)
    with serving(gateway_settings(tmp_path)) as server, server.client() as anybody:
        answer = anybody.get("/competitions")
    assert answer.status_code == 500
    assert "swordfish" not in answer.text
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert any(answer.json()["request_id"] in record.getMessage() for record in caplog.records)


def test_the_server_lives_on(hardened: Server, captain: httpx.Client) -> None:
    assert captain.get("/me").json()["name"] == "ada"
