"""What people look at: boards, live runs, replays, teams, and the organiser's console.

Pages read through the same functions of the store and the same decisions of `access` as the API does. They are
rendered on the server; scripts make them livelier and are needed for nothing that is only read.
"""

from fastapi import APIRouter, FastAPI

from nav_eval_gateway.pages import (
    accounts,
    assets,
    boards,
    competitions,
    organising,
    refusals,
    replays,
    submissions,
    teams,
    webhooks,
)
from nav_eval_gateway.pages.bridge import UploadBridge
from nav_eval_gateway.pages.heads import HeadOfPages
from nav_eval_gateway.settings import GatewaySettings

ROUTERS: tuple[APIRouter, ...] = (
    assets.router,
    accounts.router,
    competitions.router,
    boards.router,
    submissions.router,
    replays.router,
    teams.router,
    webhooks.router,
    organising.router,
)


def install(app: FastAPI, settings: GatewaySettings) -> None:
    """Add the pages; after the API's own handlers of refusals."""
    app.add_middleware(refusals.ProblemPages)
    app.add_middleware(UploadBridge, settings=settings)
    app.add_middleware(HeadOfPages)
    app.state.board_shelf = boards.BoardShelf()
    app.state.film_shelf = replays.FilmShelf()
    for router in ROUTERS:
        app.include_router(router)
    refusals.install(app)
