"""The gateway as one ASGI application: `create_app(GatewaySettings.from_environment())`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

import nav_eval
from nav_eval_gateway import openapi, pages, problems, routes
from nav_eval_gateway.live import ends_on_signals
from nav_eval_gateway.metrics import Metrics, MetricsMiddleware
from nav_eval_gateway.middlewares import BodyLimit, Boundary, TusHeaders
from nav_eval_gateway.rate_limits import RateLimitMiddleware, RateLimits
from nav_eval_gateway.services import Services
from nav_eval_gateway.settings import GatewaySettings
from nav_eval_store import migrate
from nav_eval_store.clock import Clock

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
        migrate.check(app.state.services.database)
        app.state.metrics.watch(app.state.services.database)
        with ends_on_signals(app.state.services.hub):
            try:
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
        generate_unique_id_function=_operation_id,
        redirect_slashes=False,
    )
    app.state.metrics = Metrics()
    _add_middlewares(app, settings)
    problems.install(app)
    api = APIRouter(prefix=PREFIX, responses=problems.problems(*problems.COMMON))
    for router in routes.API:
        api.include_router(router)
    app.include_router(api)
    for router in routes.ROOT:
        app.include_router(router)
    pages.install(app, settings)
    openapi.install(app)
    return app


def _add_middlewares(app: FastAPI, settings: GatewaySettings) -> None:
    """From the innermost to the outermost."""
    app.add_middleware(
        BodyLimit, most=settings.max_body, seconds=settings.body_seconds, except_under=(f"{PREFIX}/uploads",)
    )
    app.add_middleware(TusHeaders, under=f"{PREFIX}/uploads")
    app.add_middleware(RateLimitMiddleware, limits=RateLimits.of(settings))
    app.add_middleware(Boundary, https=settings.is_https)
    app.add_middleware(MetricsMiddleware, metrics=app.state.metrics)


def _operation_id(route: APIRoute) -> str:
    """Short names for generated clients: `create_submission`."""
    return route.name


__all__ = ["PREFIX", "create_app"]
