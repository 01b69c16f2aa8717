"""The gateway as one ASGI application: `create_app(GatewaySettings.from_environment())`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
from fastapi import APIRouter, FastAPI
from starlette.routing import Match
from starlette.types import Scope

import nav_eval
from nav_eval_gateway import errors, openapi, pages, routes
from nav_eval_gateway.dependencies import Services
from nav_eval_gateway.middleware import BodyLimit, RequestBoundary, TusHeaders
from nav_eval_gateway.prometheus import Metrics, MetricsMiddleware
from nav_eval_gateway.proxies import ProxyHeaders
from nav_eval_gateway.rate_limit import RateLimitMiddleware, RateLimits
from nav_eval_gateway.routes.health import KeptChecks
from nav_eval_gateway.server_sent_events import end_on_signals
from nav_eval_gateway.settings import GatewaySettings
from nav_eval_store.database import Clock
from nav_eval_store.migrations import runner

PREFIX = "/api/v1"
DESCRIPTION = """
Take part in a vision-language-navigation challenge, or run one. Concepts, uploads, live events and webhooks are
explained in docs/api.md. Errors are `application/problem+json` with one sentence in `detail`.
"""


def create_app(settings: GatewaySettings, *, clock: Clock | None = None) -> FastAPI:
    """The gateway. It opens database and blobs when it starts, and refuses to start on another schema."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = settings.threads
        app.state.services = Services.open(settings, clock=clock)
        try:
            runner.check_revision(app.state.services.database)
            app.state.metrics.watch(app.state.services.database)
            with end_on_signals(app.state.services.events):
                yield
        finally:
            await app.state.services.close()

    app = FastAPI(
        title="nav-eval",
        version=nav_eval.__version__,
        description=DESCRIPTION,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # both would load scripts from other hosts
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,
        redirect_slashes=False,
    )
    app.state.metrics = Metrics()
    app.state.readiness = KeptChecks()
    _add_middlewares(app, settings)
    errors.install(app)
    api = ApiRouter(prefix=PREFIX, responses=errors.describe_problems(*errors.COMMON))
    for router in routes.API:
        api.include_router(router)
    app.include_router(api)
    for router in routes.ROOT:
        app.include_router(router)
    pages.install(app, settings)
    openapi.install(app)
    return app


class ApiRouter(APIRouter):
    """Is asked about its own paths only: looking through its routes is a quarter of what a small answer costs."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return super().matches(scope) if scope["path"].startswith(PREFIX) else (Match.NONE, {})


def _add_middlewares(app: FastAPI, settings: GatewaySettings) -> None:
    """From the innermost to the outermost."""
    app.add_middleware(
        BodyLimit, most=settings.max_body, seconds=settings.body_seconds, except_under=(f"{PREFIX}/uploads",)
    )
    app.add_middleware(TusHeaders, under=f"{PREFIX}/uploads")
    app.add_middleware(RateLimitMiddleware, limits=RateLimits.of(settings))
    app.add_middleware(RequestBoundary, https=settings.is_https)
    app.add_middleware(MetricsMiddleware, metrics=app.state.metrics)
    app.add_middleware(ProxyHeaders, trust=settings.proxy_trust)


__all__ = ["PREFIX", "create_app"]
