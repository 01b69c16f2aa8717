"""Strangers with time and connections to spare: what they hold open, ask for and send costs nobody else anything."""

import asyncio
import errno
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from nav_eval_gateway.http_protocol import ConnectionLimits
from nav_eval_store.blobs import BlobStore
from nav_eval_store.competitions import configuration
from nav_eval_store.notifications import events
from support.challenge import GENEROUS, Challenge, competition_config
from support.gateway import API, PASSWORD, Server, gateway_settings, serving
from support.load import Deadline

pytestmark = pytest.mark.integration
TIGHT = ConnectionLimits(head_bytes=16 << 10, head_seconds=3.0, linger_seconds=1.0, stall_seconds=1.0, per_address=60)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = gateway_settings(tmp_path_factory.mktemp("abuse"), streams_per_address=10, streams_per_account=3)
    with serving(settings, connections=TIGHT) as server:
        Challenge(server.database, competition_config(GENEROUS))
        yield server


def connect(server: Server) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def read_to_end(connection: socket.socket) -> bytes:
    """All that comes until the server closes the connection; it must."""
    found = b""
    try:
        while data := connection.recv(1 << 16):
            found += data
    except ConnectionResetError:
        pass
    return found


@pytest.mark.parametrize(
    "sent",
    [
        b"",  # nothing at all
        b"GET / HTTP/1.1\r\n",  # half a head
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nX-Slow: ",  # a good request first
        b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",  # its answer is out, its body is not
    ],
)
def test_what_is_never_finished_is_closed(server: Server, sent: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(sent)
        read_to_end(connection)  # or the time-out of the socket tells


def is_cut(connection: socket.socket, piece: bytes, *, times: int, pause: float = 0.0) -> bool:
    """Whether the server ends the connection before all pieces are sent."""
    try:
        for _ in range(times):
            connection.sendall(piece)
            time.sleep(pause)
    except (ConnectionResetError, BrokenPipeError):
        return True
    return False


def test_a_head_that_comes_a_byte_at_a_time_is_closed_all_the_same(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        assert is_cut(connection, b"a", times=1200, pause=0.05)


def test_an_honest_client_may_take_its_time_with_a_body(server: Server) -> None:
    body = b'{"name": "ada", "password": "wrong wrong wrong"}'
    with connect(server) as connection:
        connection.sendall(b"POST %s/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" % API.encode())
        connection.sendall(b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
        for start in range(0, len(body), 16):
            connection.sendall(body[start : start + 16])
            time.sleep(0.6)
        assert b" 401 " in read_to_end(connection).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nX-Long: %s\r\n\r\n" % (b"a" * 20_000),
        b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * 20_000),
        b"GET / HTTP/1.1\r\n%s\r\n" % b"".join(b"X-%d: y\r\n" % number for number in range(200)),
    ],
)
def test_a_large_head_is_refused(server: Server, head: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(head)
        assert read_to_end(connection).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "begin",
    [
        b"GET / HTTP/1.1\r\nX-Endless: ",
        b"GET /",
        b"POST /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-After: ",  # after the body
        b"POST /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;",  # beside the size of a chunk
    ],
)
def test_an_endless_head_is_cut_soon(server: Server, begin: bytes) -> None:
    """500 MB of it made the process 470 MB larger."""
    with connect(server) as connection:
        connection.sendall(begin)
        assert is_cut(connection, b"a" * (1 << 16), times=1000)


def test_who_does_not_read_an_answer_loses_the_connection(server: Server) -> None:
    with connect(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        ask = b"GET %s/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" % API.encode()
        assert is_cut(connection, ask, times=600, pause=0.1)


def test_one_address_has_so_many_connections_and_another_one_is_served(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(connect(server)).setblocking(False)
        with socket.socket() as other:
            other.bind(("127.0.0.9", 0))
            other.settimeout(60)
            other.connect((*server.url.removeprefix("http://").split(":")[:1], int(server.url.split(":")[-1])))
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert read_to_end(other).startswith(b"HTTP/1.1 200")
    until(lambda: is_served(server), "room for new connections")


def is_served(server: Server) -> bool:
    try:
        return httpx.get(f"{server.url}/healthz", timeout=30).status_code == 200
    except httpx.TransportError:
        return False


def until(found: Callable[[], object], what: str) -> None:
    deadline = Deadline(60)
    while not found():
        assert not deadline.is_over, f"waited for {what}"
        time.sleep(0.05)


STREAM = f"{API}/competitions/cup/events"


@contextmanager
def following(server: Server, **headers: str) -> Iterator[httpx.Response]:
    with httpx.stream("GET", f"{server.url}{STREAM}", headers=headers, timeout=30) as stream:
        yield stream


def test_streams_are_counted_by_address_and_by_account(server: Server) -> None:
    with ExitStack() as stack:
        answers = [stack.enter_context(following(server)).status_code for _ in range(12)]
        assert answers == [200] * 10 + [429] * 2
        ada = {"Authorization": f"Bearer {server.user('ada')}"}
        assert [stack.enter_context(following(server, **ada)).status_code for _ in range(4)] == [200] * 3 + [429]
        bob = {"Authorization": f"Bearer {server.user('bob')}"}
        assert stack.enter_context(following(server, **bob)).status_code == 200

    def may_follow() -> bool:
        with following(server) as stream:
            return stream.status_code == 200

    until(may_follow, "streams that were closed to count no more")


def test_strangers_read_what_happened_once_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wake-up of hundreds of streams was hundreds of looks at the database, and everybody waited for them."""
    looks = []
    real = events.read_events_after

    def count(session: object, last: int, **options: object) -> object:
        looks.append(options.get("subject"))
        return real(session, last, **options)  # type: ignore[arg-type]

    followers = 60
    with serving(gateway_settings(tmp_path)) as server:
        Challenge(server.database, competition_config(GENEROUS))
        with server.database.read() as session:
            competition_id = configuration.get_competition(session, "cup").id
        heard, ready = [], threading.Barrier(followers + 1)

        def follow() -> None:
            with following(server) as stream:
                lines = stream.iter_lines()
                next(lines)
                ready.wait(60)
                heard.append(next(line for line in lines if "phase.changed" in line))

        with ThreadPoolExecutor(followers) as pool:
            jobs = [pool.submit(follow) for _ in range(followers)]
            ready.wait(60)
            until(lambda: len(server.app.state.services.events._subscriptions) == followers, "all followers")
            time.sleep(0.5)  # all have read where things stand
            monkeypatch.setattr("nav_eval_store.notifications.events.read_events_after", count)
            with server.database.begin() as session:
                events.emit(session, events.PHASE_CHANGED, events.Subject(competition_id=competition_id))
            for job in jobs:
                job.result(60)
        shared = [subject for subject in looks if subject is not None]
    assert len(heard) == followers
    assert 1 <= len(shared) <= followers // 4


def test_readiness_is_looked_at_once_for_many(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    puts = []
    real = BlobStore.put
    monkeypatch.setattr(BlobStore, "put", lambda *given: puts.append(1) or real(*given))
    with httpx.Client(base_url=server.url, timeout=60) as client:
        assert {client.get("/readyz").status_code for _ in range(100)} == {200}
    assert len(puts) <= 5, "every anonymous look wrote a blob"


def test_readiness_knows_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(gateway_settings(tmp_path)) as server:
        monkeypatch.setattr(BlobStore, "measure_free", lambda _: 4096)  # where a few bytes still find room
        answer = httpx.get(f"{server.url}/readyz", timeout=30)
        assert answer.status_code == 503
        assert "full" in answer.json()["checks"]["blobs"]["detail"]

        def fail(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(BlobStore, "measure_free", lambda _: None)
        monkeypatch.setattr(BlobStore, "put", fail)
        until(lambda: "No space" in httpx.get(f"{server.url}/readyz", timeout=30).text, "what a write says")
        monkeypatch.undo()
        until(lambda: httpx.get(f"{server.url}/readyz", timeout=30).status_code == 200, "room again")


def test_slow_names_keep_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty webhooks whose names take their time took every thread that answers requests."""
    released = threading.Event()
    real = socket.getaddrinfo

    def take_time(host: object, *given: object, **options: object) -> object:
        if str(host).endswith("slow.example"):
            released.wait(60)
            raise socket.gaierror("no such name")
        return real(host, *given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", take_time)
    with serving(gateway_settings(tmp_path)) as server:
        Challenge(server.database, competition_config(GENEROUS))
        captain = server.captain("slowpoke")
        team = captain.get("/me").json()["teams"][0]["team_id"]

        def add(number: int) -> int:
            wanted = {"url": f"https://{number}.slow.example/hook"}
            with server.client(str(captain.headers["Authorization"]).split()[1]) as client:
                return client.post(f"/teams/{team}/webhooks", json=wanted).status_code

        with ThreadPoolExecutor(40) as pool:
            adding = [pool.submit(add, number) for number in range(40)]
            try:
                until(lambda: sum(job.done() for job in adding) >= 30, "refusals of the many")
                with server.client(server.user("quick")) as client:
                    assert client.get("/me").status_code == 200, "threads are there for others"
            finally:
                released.set()
            assert {job.result() for job in adding} <= {422, 429, 503}


def test_wrong_passwords_are_counted_by_account_whatever_the_address(tmp_path: Path) -> None:
    settings = gateway_settings(tmp_path, login_failures=4, trust_proxy=True)
    with serving(settings) as server, server.client() as client:
        Challenge(server.database, competition_config(GENEROUS))
        for name in ("ada", "bob"):
            wanted = {"name": name, "email": f"{name}@example.org", "password": PASSWORD}
            client.post("/users", json=wanted).raise_for_status()

        def log_in(name: str, password: str, address: str) -> int:
            wanted = {"name": name, "password": password}
            return client.post("/login", json=wanted, headers={"X-Forwarded-For": address}).status_code

        assert log_in("ada", PASSWORD, "198.51.100.1") == 201
        guesses = [log_in("ada", f"guess number {n}", f"203.0.113.{n}") for n in range(6)]
        assert guesses == [401] * 4 + [429] * 2
        assert log_in("Ada ", "guess again", "203.0.113.77") == 429, "however it is written"
        assert log_in("ada", PASSWORD, "198.51.100.1") == 201, "nobody else locks them out where they were before"
        assert log_in("bob", PASSWORD, "203.0.113.1") == 201
        page = httpx.post(f"{server.url}/login", data={"name": "ada", "password": "guess guess", "by": "password"})
        assert page.status_code in (403, 429), "the page's form draws from the same"


def test_all_lines_of_forwarded_for_are_read(tmp_path: Path) -> None:
    settings = gateway_settings(tmp_path, rate_limit=4, trust_proxy=True)
    with serving(settings) as server, httpx.Client(base_url=server.url) as client:
        for number in range(4):
            lines = [("X-Forwarded-For", f"203.0.113.{number}"), ("X-Forwarded-For", "198.51.100.7")]
            answer = client.get(f"{API}/competitions", headers=lines)
    assert answer.status_code == 429, "a line of the client's own made it somebody else each time"


def test_a_caller_has_so_many_requests_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    settings = gateway_settings(tmp_path, requests_at_once=3)
    with serving(settings) as server:

        async def wait(*_: object) -> dict[str, object]:
            await asyncio.to_thread(released.wait, 60)
            return {}

        monkeypatch.setattr("nav_eval_gateway.routes.health.check_readiness", wait)
        ask = lambda: httpx.get(f"{server.url}/readyz", timeout=60).status_code  # noqa: E731
        with ThreadPoolExecutor(8) as pool:
            asking = [pool.submit(ask) for _ in range(8)]
            until(lambda: sum(job.done() for job in asking) == 5, "the refusals")
            released.set()
            assert sorted(job.result() for job in asking) == [200] * 3 + [429] * 5


def test_a_body_that_comes_with_its_head_is_not_taken_for_one(server: Server) -> None:
    body = b" " * (1 << 17)
    head = b"POST %s/login HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % (API.encode(), len(body))
    with connect(server) as connection:
        for last in (b"\r\n", b"\r\n", b"Connection: close\r\n\r\n"):
            connection.sendall(head + last + body)
        assert read_to_end(connection).count(b"HTTP/1.1 422 ") == 3
