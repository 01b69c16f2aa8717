"""How fast does one gateway process answer, compared with FastAPI that does nothing else?

Boards: 1,000 teams and 10,000 submissions, asked for over HTTP by a client in another process, in turns with a bare
endpoint that answers with the same bytes. Rows: two gateways, one on 10,000 and one on 1,000,000 rows of episodes,
asked in turns. Uploads: 1 GB by tus, in turns with a bare endpoint that writes what it gets into a file.
"""

import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import text

from bench.http_load import load_from_another_process
from bench.store import BENCH, FEW, MANY, SUBMISSIONS, TEAMS, Subjects, _filled
from nav_eval.child_process import make_nav_eval_command
from nav_eval_store.audit import make_user_actor
from nav_eval_store.boards import ranking
from nav_eval_store.database import Database
from nav_eval_store.models import Phase
from nav_eval_store.people import accounts, teams
from nav_eval_store.people.accounts import ALL_SCOPES

HOST = "127.0.0.1"
PHASE = "/api/v1/competitions/bench/phases/dev"
BOARD = f"{PHASE}/leaderboard"
CONNECTIONS = 16
BURST_SECONDS = 2.0
BURSTS = 5
UPLOAD_BYTES = 1_000_000_000
UPLOADS = 3


def run() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _filled_gateway(folder / "few", FEW) as few, _filled_gateway(folder / "many", MANY) as many:
            figures = {"teams": TEAMS, "submissions": SUBMISSIONS, "episode_rows": SUBMISSIONS * MANY}
            body = _ask(many.connection(), "GET", BOARD, {})[1]
            (folder / "body").write_bytes(body)
            with _bare(folder) as bare:
                figures |= {"board_kilobytes": len(body) >> 10, **_boards(many, bare)}
                figures |= _uploads(many, bare)
            return figures | _rows(few, many)


class Server(NamedTuple):
    """A server process, what it knows, and who may ask for all of it."""

    port: int
    subjects: Subjects | None = None
    token: str = ""

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(HOST, self.port, timeout=600)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def _ask(
    connection: http.client.HTTPConnection, method: str, path: str, headers: dict[str, str], body: bytes = b""
) -> tuple[http.client.HTTPResponse, bytes]:
    connection.request(method, path, body=body or None, headers=headers)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path}: {answer.status} {content[:500]!r}")
    return answer, content


@contextmanager
def _filled_gateway(folder: Path, episodes: int) -> Iterator[Server]:
    folder.mkdir()
    database = Database(f"sqlite:///{folder}/store.db")
    subjects = _filled(database, episodes)
    ranking.update_ranks(database, subjects.phase)
    with database.begin() as session:
        user = accounts.create_user(session, "bench", actor=BENCH)
        accounts.grant_organiser(session, user, actor=BENCH)
        competition = session.get_one(Phase, subjects.phase).competition
        teams.create_team(session, competition, "Uploaders", captain=user, actor=make_user_actor(user))
        token = accounts.issue_token(session, user, "bench", actor=BENCH, scopes=ALL_SCOPES).secret
    variables = {"NAV_EVAL_HOME": str(folder), "NAV_EVAL_RATE_LIMIT": "0", "NAV_EVAL_DATABASE": str(database.url)}
    with _serving(make_nav_eval_command("serve", "--port"), variables=variables) as port:
        yield Server(port, subjects, token)
    database.dispose()


@contextmanager
def _bare(folder: Path) -> Iterator[Server]:
    arguments = [str(folder / "body"), str(folder)]
    with _serving([sys.executable, "-m", "bench.bare_server"], *arguments) as port:
        yield Server(port)


@contextmanager
def _serving(command: list[str], *arguments: str, variables: dict[str, str] | None = None) -> Iterator[int]:
    """A server process on a free port, until the end of the block."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        port = int(listener.getsockname()[1])
    process = subprocess.Popen([*command, str(port), *arguments], env={**os.environ, **(variables or {})})
    try:
        _wait(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait(port: int, process: "subprocess.Popen[bytes]") -> None:
    last = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < last:
        try:
            socket.create_connection((HOST, port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise RuntimeError("the server did not start")


def _boards(gateway: Server, bare: Server) -> dict[str, object]:
    """Requests per second of both, burst by burst in turns."""
    ours, theirs = [], []
    for _ in range(BURSTS):
        ours.append(_burst(gateway, BOARD))
        theirs.append(_burst(bare, "/board"))
    ratios = [bare_rate / rate for rate, bare_rate in zip(ours, theirs, strict=True)]
    return {
        "board_requests_per_second": statistics.median(ours),
        "bare_requests_per_second": statistics.median(theirs),
        "board_over_bare_ratio": statistics.median(ratios),
    }


def _burst(server: Server, path: str) -> float:
    load = load_from_another_process(HOST, server.port, path, connections=CONNECTIONS, seconds=BURST_SECONDS)
    if set(load.statuses) != {"200"}:
        raise RuntimeError(f"{path} answered {load.statuses}")
    return load.per_second


def _rows(few: Server, many: Server) -> dict[str, object]:
    """What a million rows cost, against ten thousand."""
    figures: dict[str, object] = {}
    asks: dict[str, tuple[Callable[[Server], Callable[[], object]], int]] = {
        "status_ended": (lambda server: _status(server, "ended"), 60),
        "status_running": (lambda server: _status(server, "running"), 60),
        "status_queued": (lambda server: _status(server, "queued"), 60),
        "board_kept": (_kept_board, 60),
        "board_changed": (_changed_board, 7),
    }
    for name, (ask, repeats) in asks.items():
        quick, slow = _in_turns(ask(few), ask(many), repeats)
        figures[f"{name}_milliseconds"] = slow * 1e3
        figures[f"{name}_rows_ratio"] = slow / quick
    return figures


def _in_turns(one: Callable[[], object], other: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median seconds of both, warm-up calls left out."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(-2, repeats):
        for call, kept in zip((one, other), times, strict=True):
            started = time.perf_counter()
            call()
            if turn >= 0:
                kept.append(time.perf_counter() - started)
    return statistics.median(times[0]), statistics.median(times[1])


def _status(server: Server, which: str) -> Callable[[], object]:
    connection, ids = server.connection(), iter(getattr(server.subjects, which) * 100)
    return lambda: _ask(connection, "GET", f"/api/v1/submissions/{next(ids)}", server.headers)


def _kept_board(server: Server) -> Callable[[], object]:
    connection = server.connection()
    return lambda: _ask(connection, "GET", BOARD, {})


def _changed_board(server: Server) -> Callable[[], object]:
    """Each time as if something had happened: nothing can come from memory."""
    connection = server.connection()

    def ask() -> object:
        assert server.subjects is not None
        with server.subjects.database.begin() as session:
            session.execute(
                text("UPDATE phases SET board_version = board_version + 1, ranked_version = ranked_version + 1")
            )
        return _ask(connection, "GET", BOARD, {})

    return ask


def _uploads(gateway: Server, bare: Server) -> dict[str, object]:
    """Megabytes per second of both, upload by upload in turns."""
    copies, uploads = [], []
    for number in range(UPLOADS):
        copies.append(_sent(bare, "PUT", "/copy", {}))
        uploads.append(_upload(gateway, number))
    megabytes = UPLOAD_BYTES / 1e6
    return {
        "upload_megabytes_per_second": megabytes / min(uploads),
        "copy_megabytes_per_second": megabytes / min(copies),
        "upload_over_copy_ratio": min(copies) / min(uploads),
    }


def _upload(gateway: Server, number: int) -> float:
    """Seconds from the first byte to the answer, digest verified and submission handed in."""
    wanted = {"competition": "bench", "phase": "dev", "name": f"upload {number}"}
    usual = {**gateway.headers, "Content-Type": "application/json"}
    _, created = _ask(gateway.connection(), "POST", "/api/v1/submissions", usual, json.dumps(wanted).encode())
    submission = json.loads(created)["id"]
    tus = {**gateway.headers, "Tus-Resumable": "1.0.0"}
    announced = {
        **tus,
        "Upload-Length": str(UPLOAD_BYTES),
        "Upload-Metadata": f"submission_id {b64encode(submission.encode()).decode()}",
    }
    answer, _ = _ask(gateway.connection(), "POST", "/api/v1/uploads", announced)
    going_on = {**tus, "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}
    seconds = _sent(gateway, "PATCH", str(answer.headers["Location"]), going_on)
    _ask(gateway.connection(), "POST", f"/api/v1/submissions/{submission}/cancel", usual, b"{}")
    return seconds


def _sent(server: Server, method: str, path: str, headers: dict[str, str]) -> float:
    """Seconds that a server takes for a body of 1 GB."""
    piece = os.urandom(1 << 20)
    head = {"Host": HOST, "Content-Length": str(UPLOAD_BYTES), **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    with socket.create_connection((HOST, server.port)) as connection:
        started = time.perf_counter()
        connection.sendall(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode())
        for start in range(0, UPLOAD_BYTES, len(piece)):
            connection.sendall(memoryview(piece)[: UPLOAD_BYTES - start])
        answer = connection.recv(65536)
        seconds = time.perf_counter() - started
    if not answer.startswith(b"HTTP/1.1 204"):
        raise RuntimeError(f"{method} {path}: {answer[:500]!r}")
    return seconds
