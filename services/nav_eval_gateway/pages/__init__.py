"""What people look at: boards, live runs, replays, teams, and the organiser's console.

Pages read through the same functions of the store and the same decisions of `permissions` as the API does. They are
rendered on the server; scripts make them livelier and are needed for nothing that is only read.
"""

from fastapi import APIRouter, FastAPI

from nav_eval_gateway.middleware import HeadAsGet
from nav_eval_gateway.pages import (
    addresses,
    cards,
    comparison,
    competitions,
    console,
    desk,
    error_pages,
    explorer,
    leaderboard,
    openid,
    password_resets,
    people,
    profiles,
    replay,
    showcase,
    static_files,
    submissions,
    webhooks,
)
from nav_eval_gateway.pages.csrf import UploadBridge
from nav_eval_gateway.settings import GatewaySettings

ROUTERS: tuple[APIRouter, ...] = (
    static_files.router,
    people.router,
    openid.router,
    addresses.router,
    password_resets.router,
    profiles.router,
    competitions.router,
    showcase.router,
    cards.router,
    leaderboard.router,
    submissions.router,
    explorer.router,
    comparison.router,
    replay.router,
    webhooks.router,
    desk.router,
    console.router,
)


def install(app: FastAPI, settings: GatewaySettings) -> None:
    """Add the pages; after the API's own handlers of refusals."""
    app.add_middleware(error_pages.ProblemPages)
    app.add_middleware(UploadBridge, settings=settings)
    app.add_middleware(HeadAsGet)
    app.state.recent_boards = leaderboard.RecentBoards()
    app.state.recent_films = replay.RecentFilms()
    app.state.recent_cards = cards.RecentCards()
    for router in ROUTERS:
        app.include_router(router)
    error_pages.install(app)
