"""What does an honest request notice while others misbehave?

One gateway process as `nav-eval serve` starts it, with its usual limits. An honest user and a stranger ask for their
account and a board, one request after the other; p99 of these, quiet and under abuse, in one run. The abuse comes from
another process, over other loopback addresses (`python -m bench.abuse PORT SECONDS`):

- 1,000 streams of live events that are held open, woken every second by something that happens,
- 500 slow clients: each sends a byte of a head now and then, and comes back when it is cut off,
- 64 attackers who ask without pause: readiness, boards in endless variants, passwords, made-up tokens.

Traffic goes to 127.0.0.1 alone, bounded in number and time.
"""

import asyncio
import http.client
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from nav_eval.config import load_competition
from nav_eval_store.audit import Subject, make_system_actor
from nav_eval_store.competitions import configuration
from nav_eval_store.database import Database
from nav_eval_store.migrations import runner
from nav_eval_store.notifications import events
from nav_eval_store.people import accounts, teams

ROOT = Path(__file__).parent.parent
HOST = "127.0.0.1"
BENCH = make_system_actor("bench")
COMPETITION = ROOT / "configs/competitions/demo.yaml"
TEAMS = 50
STREAMS, SLOW, ATTACKERS = 1000, 500, 64
STREAMS_OF_ADDRESS, SLOW_OF_ADDRESS, ATTACKERS_OF_ADDRESS = 100, 50, 8
REQUESTS = 600
WARM_UP = 100
ATTACK_SECONDS = 150.0


class Prepared(NamedTuple):
    """What the honest ones know."""

    database: Database
    competition: str
    phase: str
    token: str


def run() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name, _gateway(Path(name)) as (port, prepared):
        _measure(port, prepared, WARM_UP)
        before = _measure(port, prepared, REQUESTS // 2)
        with _abuse(port, prepared) as told:
            under = _measure(port, prepared, REQUESTS)
        after = _measure(port, prepared, REQUESTS // 2)
    quiet = before + after
    return {
        "streams": told["streams"],
        "slow_clients": told["slow"],
        "attackers": ATTACKERS,
        "attacks_refused_share": told["refused"] / max(1, told["asked"]),
        "quiet_p50_milliseconds": _percentile(quiet, 50),
        "quiet_p99_milliseconds": _percentile(quiet, 99),
        "abused_p50_milliseconds": _percentile(under, 50),
        "abused_p99_milliseconds": _percentile(under, 99),
        "honest_p99_ratio": _percentile(under, 99) / _percentile(quiet, 99),
        "honest_p50_ratio": _percentile(under, 50) / _percentile(quiet, 50),
    }


def _percentile(values: list[float], percent: int) -> float:
    return 1000 * statistics.quantiles(values, n=100)[percent - 1]


@contextmanager
def _gateway(home: Path) -> Iterator[tuple[int, Prepared]]:
    prepared = _prepare(home)
    command = [sys.executable, "-m", "nav_eval.cli", "serve", "--port", "0"]
    environment = {**os.environ, "NAV_EVAL_HOME": str(home), "NAV_EVAL_BROKER": f"filesystem://{home / 'broker'}"}
    with (home / "log").open("w+") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=ROOT)
        try:
            yield _wait_for_port(process, log), prepared
        finally:
            process.terminate()
            process.wait(60)
            prepared.database.dispose()


def _wait_for_port(process: subprocess.Popen[bytes], log: IO[str]) -> int:
    while process.poll() is None:
        log.seek(0)
        if match := re.search(r"serves at http://[^:]+:(\d+)", log.read()):
            port = int(match[1])
            if _answers(port):
                return port
        time.sleep(0.1)
    raise RuntimeError("the gateway did not start")


def _answers(port: int) -> bool:
    try:
        connection = http.client.HTTPConnection(HOST, port, timeout=60)
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except OSError:
        return False


def _prepare(home: Path) -> Prepared:
    database = Database(f"sqlite:///{home / 'nav-eval.db'}")
    runner.upgrade(database)
    config = load_competition(COMPETITION)
    with database.begin() as session:
        configuration.apply(session, config, actor=BENCH)
        competition = configuration.get_competition(session, config.name)
        for number in range(TEAMS):
            user = accounts.create_user(session, f"user-{number}", actor=BENCH)
            teams.create_team(session, competition, f"Team {number}", captain=user, actor=BENCH)
        token = accounts.issue_token(session, user, "bench", actor=BENCH).secret
    return Prepared(database, config.name, competition.phases[0].name, token)


def _measure(port: int, prepared: Prepared, count: int) -> list[float]:
    """Seconds of each honest request: a user's own page of the API, and a board for a stranger."""
    connection = http.client.HTTPConnection(HOST, port, timeout=600)
    board = f"/api/v1/competitions/{prepared.competition}/phases/{prepared.phase}/leaderboard"
    asked = [("/api/v1/me", {"Authorization": f"Bearer {prepared.token}"}), (board, {})]
    found = []
    for number in range(count):
        path, headers = asked[number % 2]
        if number % 2:
            time.sleep(0.1)  # a stranger has 600 requests a minute
        started = time.perf_counter()
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        found.append(time.perf_counter() - started)
        if answer.status != 200:
            raise RuntimeError(f"an honest request was answered {answer.status}")
    connection.close()
    return found


@contextmanager
def _abuse(port: int, prepared: Prepared) -> Iterator[dict[str, int]]:
    board = f"{prepared.competition} {prepared.phase}"
    command = [sys.executable, "-m", "bench.abuse", str(port), str(ATTACK_SECONDS), board]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    over, told = threading.Event(), dict.fromkeys(("streams", "slow", "asked", "refused"), 0)
    waking = threading.Thread(target=_wake, args=(prepared, over), daemon=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()  # all streams and slow clients are there
        waking.start()
        yield told
        told |= json.loads(process.communicate("end\n", timeout=120)[0].splitlines()[-1])
    finally:
        over.set()
        process.kill()
        process.wait()


def _wake(prepared: Prepared, over: threading.Event) -> None:
    """Something happens every second, and every stream hears of it."""
    with prepared.database.read() as session:
        competition_id = configuration.get_competition(session, prepared.competition).id
    while not over.wait(1.0):
        with prepared.database.begin() as session:
            events.emit(session, events.PHASE_CHANGED, Subject(competition_id=competition_id))


class Attack:
    """All that is bad, in one process."""

    def __init__(self, port: int, competition: str, phase: str) -> None:
        self._port, self._competition, self._phase = port, competition, phase
        self.counts: Counter[str] = Counter(streams=0, slow=0, asked=0, refused=0)
        self._reading: list[asyncio.Task[None]] = []

    async def run(self, seconds: float) -> None:
        for number in range(STREAMS):
            await self._follow(f"127.0.10.{1 + number // STREAMS_OF_ADDRESS}")
        jobs = [asyncio.create_task(self._dawdle(f"127.0.20.{1 + n // SLOW_OF_ADDRESS}")) for n in range(SLOW)]
        jobs += [
            asyncio.create_task(self._ask(f"127.0.30.{1 + n // ATTACKERS_OF_ADDRESS}", n)) for n in range(ATTACKERS)
        ]
        await asyncio.sleep(3.0)
        print("ready", flush=True)
        reader = asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        await asyncio.wait([reader], timeout=seconds)
        self.counts["slow"] = len(jobs) - ATTACKERS
        print(json.dumps(self.counts), flush=True)
        os._exit(0)

    async def _connect(self, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(HOST, self._port, local_addr=(address, 0))

    async def _follow(self, address: str) -> None:
        reader, writer = await self._connect(address)
        writer.write(f"GET /api/v1/competitions/{self._competition}/events HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        self.counts["streams"] += b" 200 " in await reader.readline()
        self._reading.append(asyncio.create_task(_drain(reader)))

    async def _dawdle(self, address: str) -> None:
        while True:
            try:
                _, writer = await self._connect(address)
                writer.write(b"GET / HTTP/1.1\r\nX-Slow: ")
                while not writer.is_closing():
                    writer.write(b"a")
                    await writer.drain()
                    await asyncio.sleep(random.uniform(1, 3))
            except OSError:
                await asyncio.sleep(1.0)

    async def _ask(self, address: str, number: int) -> None:
        while True:
            try:
                reader, writer = await self._connect(address)
                while True:
                    writer.write(self._make_request(number))
                    status = (await reader.readuntil(b"\r\n"))[9:12]
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = re.search(rb"(?i)content-length: (\d+)", head)
                    await reader.readexactly(int(length[1]) if length else 0)
                    self.counts["asked"] += 1
                    self.counts["refused"] += status == b"429"
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.1)

    def _make_request(self, number: int) -> bytes:
        word = random.randrange(1 << 30)
        match number % 4:
            case 0:
                line, more = "GET /readyz", ""
            case 1:
                line, more = f"GET /competitions/{self._competition}/{self._phase}/board?q={word}&foo={word}", ""
            case 2:
                body = json.dumps({"name": "user-1", "password": f"guess {word} guess"})
                more = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
                return f"POST /api/v1/login HTTP/1.1\r\nHost: x\r\n{more}".encode()
            case _:
                line, more = "GET /api/v1/me", f"Authorization: Bearer made-up-{word}\r\n"
        return f"{line} HTTP/1.1\r\nHost: x\r\n{more}\r\n".encode()


async def _drain(reader: asyncio.StreamReader) -> None:
    while await reader.read(1 << 16):
        pass


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    asyncio.run(Attack(int(sys.argv[1]), *sys.argv[3].split()).run(float(sys.argv[2])))
