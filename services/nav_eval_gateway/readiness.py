"""Can this gateway do its work? One check per thing that it needs, each with a reason when it says no."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from anyio import to_thread

from nav_eval_gateway.services import Services
from nav_eval_store import migrate
from nav_eval_store.messages import Broker

PATIENCE = 5.0
"""Seconds for a check; one that takes longer has failed."""
CHECKED = "health"
"""Where the blob store is tried."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One thing that a gateway needs."""

    ok: bool
    detail: str


async def readiness(services: Services) -> dict[str, Check]:
    """All checks, side by side."""
    names, checks = zip(*_checks(services).items(), strict=True)
    return dict(zip(names, await asyncio.gather(*map(_checked, checks)), strict=True))


def _checks(services: Services) -> Mapping[str, Callable[[], str]]:
    return {
        "database": lambda: _database(services),
        "migrations": lambda: _migrations(services),
        "blobs": lambda: _blobs(services),
        "broker": lambda: _broker(services.settings.broker),
    }


async def _checked(check: Callable[[], str]) -> Check:
    try:
        detail = await asyncio.wait_for(to_thread.run_sync(check, abandon_on_cancel=True), PATIENCE)
    except TimeoutError:
        return Check(ok=False, detail=f"no answer within {PATIENCE:g} s")
    except Exception as error:  # noqa: BLE001  whatever a driver raises is the answer
        return Check(ok=False, detail=_reason(error))
    return Check(ok=True, detail=detail)


def _reason(error: Exception) -> str:
    """The first line: connection strings and stack traces are nobody's business."""
    cause = getattr(error, "orig", None) or error
    words = (str(cause).strip() or type(cause).__name__).splitlines()[0]
    return words[:200]


def _database(services: Services) -> str:
    services.database.ping()
    return services.database.url.get_backend_name()


def _migrations(services: Services) -> str:
    migrate.check(services.database)
    return f"version {migrate.head()}"


def _blobs(services: Services) -> str:
    key = f"{CHECKED}/{uuid4().hex}"
    services.blobs.put(key, b"ok")
    try:
        if services.blobs.get(key) != b"ok":
            raise OSError("what was written is not what was read")
    finally:
        services.blobs.delete(key)
    return "writable"


def _broker(broker: Broker) -> str:
    if broker.folder is not None:
        broker.folder.mkdir(parents=True, exist_ok=True)
        probe = broker.folder / f".{uuid4().hex}"
        probe.touch()
        probe.unlink()
        return "files"
    return _ping_redis(broker.url)


def _ping_redis(url: str) -> str:
    """PING, in Redis' own words: the gateway does not need its library for more."""
    parts = urlsplit(url)
    with _connected(parts.scheme, parts.hostname or "localhost", parts.port or 6379, parts.path) as connection:
        connection.settimeout(PATIENCE)
        if parts.password:
            words = ["AUTH", *([unquote(parts.username)] if parts.username else []), unquote(parts.password)]
            _ask(connection, *words)
        answer = _ask(connection, "PING")
    if not answer.startswith(b"+PONG"):
        raise OSError(f"Redis answers {answer[:80].decode(errors='replace').strip()}")
    return "redis"


def _connected(scheme: str, host: str, port: int, path: str) -> socket.socket:
    if scheme == "redis+socket":
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE)
        connection.connect(path)
        return connection
    plain = socket.create_connection((host, port), timeout=PATIENCE)
    return ssl.create_default_context().wrap_socket(plain, server_hostname=host) if scheme == "rediss" else plain


def _ask(connection: socket.socket, *words: str) -> bytes:
    encoded = [word.encode() for word in words]
    connection.sendall(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded))
    answer = connection.recv(512)
    if answer.startswith(b"-"):
        raise OSError(f"Redis answers {answer[1:80].decode(errors='replace').strip()}")
    return answer
