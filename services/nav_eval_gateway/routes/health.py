"""For those who watch over the gateway: is it there, can it work, how is it doing."""

import asyncio
import errno
import hmac
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import uuid4

from anyio import to_thread
from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import JSONResponse

import nav_eval
from nav_eval_gateway.dependencies import Parts, Services
from nav_eval_gateway.errors import NotSignedIn, describe_problems
from nav_eval_gateway.prometheus import CONTENT_TYPE, Metrics
from nav_eval_gateway.schemas.base import Answer, make_example
from nav_eval_store.migrations import runner
from nav_eval_store.work.broker import Broker

router = APIRouter(tags=["health"])


class Health(Answer):
    """The process answers."""

    model_config = make_example(status="ok", version="0.1.0")

    status: Literal["ok"] = "ok"
    version: str


class CheckAnswer(Answer):
    """One thing that the gateway needs."""

    ok: bool
    detail: str


class Readiness(Answer):
    """Whether the gateway can do its work."""

    model_config = make_example(
        ready=False,
        checks={
            "database": {"ok": True, "detail": "postgresql"},
            "migrations": {"ok": True, "detail": "version 0002"},
            "blobs": {"ok": True, "detail": "writable"},
            "broker": {"ok": False, "detail": "[Errno 111] Connection refused"},
        },
    )

    ready: bool
    checks: dict[str, CheckAnswer]


@router.get("/healthz", summary="Is it there?")
async def show_health() -> Health:
    """The process answers. Nothing else is checked: a restart does not mend a database."""
    return Health(version=nav_eval.__version__)


@router.get(
    "/readyz",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "Something is missing; the checks say what."}},
    summary="Can it work?",
)
async def show_readiness(parts: Parts, request: Request) -> Response:
    """Database, migrations, blob store and broker, each with a reason; 503 unless all are there.

    Checks are made every few seconds at most, however many ask.
    """
    kept: KeptChecks = request.app.state.readiness
    found = await kept.get(lambda: check_readiness(parts))
    checks = {name: CheckAnswer(ok=check.ok, detail=check.detail) for name, check in found.items()}
    answer = Readiness(ready=all(check.ok for check in checks.values()), checks=checks)
    return JSONResponse(answer.model_dump(), 200 if answer.ready else 503)


def get_metrics(request: Request) -> Metrics:
    found: Metrics = request.app.state.metrics
    return found


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **describe_problems(401, 422),
    },
    summary="How is it doing?",
)
async def show_metrics(
    parts: Parts,
    measured: Annotated[Metrics, Depends(get_metrics)],
    authorization: Annotated[str, Header(description="`Bearer` and the token of NAV_EVAL_METRICS_TOKEN, if set.")] = "",
) -> Response:
    """Requests, queue, jobs and workers for Prometheus; docs/operations.md lists them."""
    token = parts.settings.metrics_token
    if token is not None and not hmac.compare_digest(authorization.encode(), f"Bearer {token}".encode()):
        raise NotSignedIn("The metrics need their own token: `Authorization: Bearer …` with NAV_EVAL_METRICS_TOKEN.")
    return Response(await to_thread.run_sync(measured.text), headers={"Content-Type": CONTENT_TYPE})


PATIENCE = 5.0
"""Seconds for a check; one that takes longer has failed."""
CHECKED = "health"
"""Where the blob store is tried."""
PROBE = b"nav-eval" * (1 << 14)


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One thing that a gateway needs."""

    ok: bool
    detail: str


FRESH = 5.0
"""Seconds for which an answer is good."""
BAD_FRESH = 1.0
"""The same for bad news: whoever waits for us to be ready should not wait for this."""


class KeptChecks:
    """What was found last, and one look for all who ask when it is old."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._found: Mapping[str, Check] = {}
        self._good_until = -math.inf
        self._looking = asyncio.Lock()

    async def get(self, look: Callable[[], Awaitable[Mapping[str, Check]]]) -> Mapping[str, Check]:
        if self._clock() < self._good_until:
            return self._found
        async with self._looking:
            if self._clock() >= self._good_until:
                self._found = await look()
                fresh = FRESH if all(check.ok for check in self._found.values()) else BAD_FRESH
                self._good_until = self._clock() + fresh
            return self._found


async def check_readiness(services: Services) -> dict[str, Check]:
    """All checks, side by side."""
    names, checks = zip(*_list_checks(services).items(), strict=True)
    return dict(zip(names, await asyncio.gather(*map(_run_check, checks)), strict=True))


def _list_checks(services: Services) -> Mapping[str, Callable[[], str]]:
    return {
        "database": lambda: _check_database(services),
        "migrations": lambda: _check_migrations(services),
        "blobs": lambda: _check_blobs(services),
        "broker": lambda: _check_broker(services.settings.broker),
    }


async def _run_check(check: Callable[[], str]) -> Check:
    try:
        detail = await asyncio.wait_for(to_thread.run_sync(check, abandon_on_cancel=True), PATIENCE)
    except TimeoutError:
        return Check(ok=False, detail=f"no answer within {PATIENCE:g} s")
    except Exception as error:  # noqa: BLE001  whatever a driver raises is the answer
        return Check(ok=False, detail=_format_reason(error))
    return Check(ok=True, detail=detail)


def _format_reason(error: Exception) -> str:
    """The first line: connection strings and stack traces are nobody's business."""
    cause = getattr(error, "orig", None) or error
    words = (str(cause).strip() or type(cause).__name__).splitlines()[0]
    return words[:200]


def _check_database(services: Services) -> str:
    services.database.ping()
    return services.database.url.get_backend_name()


def _check_migrations(services: Services) -> str:
    runner.check_revision(services.database)
    return f"version {runner.get_head_revision()}"


def _check_blobs(services: Services) -> str:
    """A handful of bytes may find room on a full disk; what people send does not."""
    key, free = f"{CHECKED}/{uuid4().hex}", services.blobs.measure_free()
    if free is not None and free < len(PROBE):
        raise OSError(errno.ENOSPC, "the disk is full")
    services.blobs.put(key, PROBE)
    try:
        if services.blobs.get(key) != PROBE:
            raise OSError("what was written is not what was read")
    finally:
        services.blobs.delete(key)
    return "writable"


def _check_broker(broker: Broker) -> str:
    if broker.folder is not None:
        broker.folder.mkdir(parents=True, exist_ok=True)
        probe = broker.folder / f".{uuid4().hex}"
        probe.touch()
        probe.unlink()
        return "files"
    return _ping_redis(broker.url)


def _ping_redis(url: str) -> str:
    import redis

    address = url.replace("redis+socket://", "unix://", 1)
    with redis.Redis.from_url(address, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE) as client:
        client.ping()
    return "redis"
