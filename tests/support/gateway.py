"""A gateway for tests: in this process for speed, or a real server in a process of its own."""

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from nav_eval.child_process import make_nav_eval_command
from nav_eval_gateway.app import create_app
from nav_eval_gateway.http_protocol import ConnectionGuard, ConnectionLimits, make_server_config
from nav_eval_gateway.settings import GatewaySettings
from nav_eval_store.database import Clock, Database
from nav_eval_store.people import accounts
from nav_eval_store.people.accounts import ALL_SCOPES, Scope
from nav_eval_store.settings import StoreSettings
from nav_eval_store.work.broker import Broker
from support.challenge import KEYRING, TEST
from support.load import Deadline
from support.migrated import migrate

API = "/api/v1"
PASSWORD = "correct horse battery"


def gateway_settings(folder: Path, *, database: str | None = None, **changes: Any) -> GatewaySettings:
    """Settings of a gateway whose files are in `folder`; the database is migrated."""
    url = database or f"sqlite:///{folder / 'store.db'}"
    store = StoreSettings(database=url, blobs=str(folder / "blobs"), keyring=KEYRING)
    migrate(url)
    broker = Broker(f"filesystem://{folder / 'broker'}")
    usual = {
        **dict.fromkeys(("rate_limit", "login_rate_limit", "login_failures", "requests_at_once"), 0),
        **dict.fromkeys(("streams_per_address", "streams_per_account", "refusal_seconds"), 0),
        "poll_seconds": 0.05,
    }
    return GatewaySettings(store=store, broker=broker, secret_key="test" * 8, **{**usual, **changes})


class Server:
    """A running gateway, and hands to use it."""

    def __init__(self, url: str, settings: GatewaySettings, database: Database, app: FastAPI) -> None:
        self.app = app
        self.url = url
        self.settings = settings
        self.database = database

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        """A client whose paths begin after /api/v1."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=f"{self.url}{API}", headers=headers, timeout=30, **options)

    def user(self, name: str, *, organiser: bool = False, scopes: tuple[Scope, ...] | None = None) -> str:
        """A token of a user, who is created when there is none."""
        with self.database.begin() as session:
            try:
                user = accounts.get_user(session, name)
            except accounts.NotFound:
                user = accounts.create_user(session, name, actor=TEST, email=f"{name}@example.org")
            if organiser:
                accounts.grant_organiser(session, user, actor=TEST)
            usual = ALL_SCOPES if organiser else (Scope.READ, Scope.SUBMIT, Scope.TEAM)
            return accounts.issue_token(session, user, "test", actor=TEST, scopes=scopes or usual).secret

    def captain(self, name: str, competition: str = "cup") -> httpx.Client:
        """The client of a user with a team of the same name."""
        token = self.user(name)
        with self.client(token) as client:
            client.post(f"/competitions/{competition}/teams", json={"name": f"Team {name}"}).raise_for_status()
        return self.client(token)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def serving(
    settings: GatewaySettings, *, clock: Clock | None = None, connections: ConnectionLimits | None = None
) -> Iterator[Server]:
    """A real uvicorn in a thread."""
    app = create_app(settings, clock=clock)
    guard = ConnectionGuard(connections or ConnectionLimits(per_address=0), trust=settings.proxy_trust)
    config = make_server_config(app, guard, host="127.0.0.1", port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the gateway did not start"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    database = settings.store.open_database(clock=clock)
    try:
        yield Server(f"http://127.0.0.1:{port}", settings, database, app)
    finally:
        server.should_exit = True
        thread.join(timeout=120)
        database.dispose()


class ServerProcess:
    """`nav-eval serve` in a process of its own, which can be killed and started again on the same port."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.settings = settings
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {
            "NAV_EVAL_DATABASE": self.settings.store.database,
            "NAV_EVAL_BLOBS": self.settings.store.blobs,
            "NAV_EVAL_BROKER": self.settings.broker.url,
            "NAV_EVAL_SECRET_KEY": self.settings.secret_key,
            "NAV_EVAL_ENCRYPTION_KEYS": self.settings.store.keyring.keys or "",
            "NAV_EVAL_HOME": str(Path(self.settings.store.blobs).parent),
            **dict.fromkeys(_LIMITS, "0"),
            "PATH": "/usr/bin:/bin",
        }
        command = make_nav_eval_command("serve", "--port", str(self.port))
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        assert self._process is not None
        deadline = Deadline(30)
        while True:
            try:
                httpx.get(f"{self.url}{API}/competitions", timeout=5)
                return
            except httpx.TransportError:
                assert self._process.poll() is None, "the gateway ended"
                assert not deadline.is_over, "the gateway did not start"
                time.sleep(0.05)

    def stop(self) -> None:
        """Politely."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=120)
            self._process = None

    def kill(self) -> None:
        """As a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=120)
            self._process = None


_LIMITS = (
    "NAV_EVAL_RATE_LIMIT",
    "NAV_EVAL_LOGIN_RATE_LIMIT",
    "NAV_EVAL_LOGIN_FAILURES",
    "NAV_EVAL_REQUESTS_AT_ONCE",
    "NAV_EVAL_STREAMS_PER_ADDRESS",
    "NAV_EVAL_CONNECTIONS_PER_ADDRESS",
)


@contextmanager
def server_process(settings: GatewaySettings) -> Iterator[ServerProcess]:
    process = ServerProcess(settings)
    process.start()
    try:
        yield process
    finally:
        process.kill()


__all__ = ["API", "Server", "ServerProcess", "gateway_settings", "replace", "server_process", "serving"]
