"""What people look at: boards, live runs, replays, teams, and the organiser's console.

Pages read through the same functions of the store and the same decisions of `access` as the API does. They are
rendered on the server; scripts make them livelier and are needed for nothing that is only read.
"""

from fastapi import APIRouter, FastAPI

from nav_eval_gateway.pages import accounts, assets, boards, competitions, refusals

ROUTERS: tuple[APIRouter, ...] = (
    assets.router,
    accounts.router,
    competitions.router,
    boards.router,
)


def install(app: FastAPI) -> None:
    """Add the pages; after the API's own handlers of refusals."""
    app.state.board_shelf = boards.BoardShelf()
    for router in ROUTERS:
        app.include_router(router)
    refusals.install(app)
