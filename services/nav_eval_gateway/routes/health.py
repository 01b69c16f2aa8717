"""For those who watch over the gateway: is it there, can it work, how is it doing."""

import hmac
from typing import Annotated, Literal

from anyio import to_thread
from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import JSONResponse

import nav_eval
from nav_eval_gateway.dependencies import Parts
from nav_eval_gateway.errors import NotSignedIn
from nav_eval_gateway.metrics import CONTENT_TYPE, Metrics
from nav_eval_gateway.problems import problems
from nav_eval_gateway.readiness import readiness
from nav_eval_gateway.schemas.base import Answer, example

router = APIRouter(tags=["health"])


class Health(Answer):
    """The process answers."""

    model_config = example(status="ok", version="0.1.0")

    status: Literal["ok"] = "ok"
    version: str


class CheckAnswer(Answer):
    """One thing that the gateway needs."""

    ok: bool
    detail: str


class Readiness(Answer):
    """Whether the gateway can do its work."""

    model_config = example(
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
async def health() -> Health:
    """The process answers. Nothing else is checked: a restart does not mend a database."""
    return Health(version=nav_eval.__version__)


@router.get(
    "/readyz",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "Something is missing; the checks say what."}},
    summary="Can it work?",
)
async def ready(parts: Parts) -> Response:
    """Database, migrations, blob store and broker, each with a reason; 503 unless all are there."""
    checks = {name: CheckAnswer(ok=check.ok, detail=check.detail) for name, check in (await readiness(parts)).items()}
    answer = Readiness(ready=all(check.ok for check in checks.values()), checks=checks)
    return JSONResponse(answer.model_dump(), 200 if answer.ready else 503)


def metrics(request: Request) -> Metrics:
    found: Metrics = request.app.state.metrics
    return found


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **problems(401, 422),
    },
    summary="How is it doing?",
)
async def show_metrics(
    parts: Parts,
    measured: Annotated[Metrics, Depends(metrics)],
    authorization: Annotated[str, Header(description="`Bearer` and the token of NAV_EVAL_METRICS_TOKEN, if set.")] = "",
) -> Response:
    """Requests, queue, jobs and workers for Prometheus; docs/operations.md lists them."""
    token = parts.settings.metrics_token
    if token is not None and not hmac.compare_digest(authorization.encode(), f"Bearer {token}".encode()):
        raise NotSignedIn("The metrics need their own token: `Authorization: Bearer …` with NAV_EVAL_METRICS_TOKEN.")
    return Response(await to_thread.run_sync(measured.text), headers={"Content-Type": CONTENT_TYPE})
