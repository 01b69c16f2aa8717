"""The picture that other sites show where a competition or a board is linked (Open Graph): its title, and who leads.

It is drawn (`card_picture`) from what a stranger sees and kept while that stands still.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nav_eval_gateway.pages.competitions import find_current_phase
from nav_eval_gateway.pages.context import Visit, make_anonymous_visit
from nav_eval_gateway.pages.showcase import ELSEWHERE, find_public_board
from nav_eval_gateway.responses import has_already
from nav_eval_store.boards.leaderboard import Row
from nav_eval_store.models import Phase

if TYPE_CHECKING:
    from nav_eval_gateway.pages.card_picture import Card

router = APIRouter(include_in_schema=False)
Stranger = Annotated[Visit, Depends(make_anonymous_visit)]

LEADERS = 3
KEPT = 64


class RecentCards:
    """Pictures that were asked for last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Card, bytes] = OrderedDict()

    def draw(self, card: "Card") -> bytes:
        from nav_eval_gateway.pages.card_picture import draw_card

        if card not in self._kept:
            self._kept[card] = draw_card(card)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return self._kept[card]


@router.get("/competitions/{name}/card.png")
async def show_card_of_competition(name: str, visit: Stranger) -> Response:
    """The picture of a competition: its current phase."""
    phase = await run_in_threadpool(find_current_phase, visit, name)
    return await show_card_of_board(name, phase, visit)


@router.get("/competitions/{competition}/{phase}/card.png")
async def show_card_of_board(competition: str, phase: str, visit: Stranger) -> Response:
    """The picture of a board."""
    now, board = await find_public_board(visit, competition, phase)

    def draw() -> bytes:
        with visit.store.read() as session:
            card = make_card(session.get_one(Phase, now.phase_id), board.rows)
        recent: RecentCards = visit.request.app.state.recent_cards
        return recent.draw(card)

    body = await run_in_threadpool(draw)
    etag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    headers = {**ELSEWHERE, "Cache-Control": "public, max-age=300", "ETag": etag}
    if has_already(visit.request.headers, etag):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="image/png", headers=headers)


def make_card(phase: Phase, rows: Sequence[Row]) -> "Card":
    from nav_eval_gateway.pages.card_picture import Card, Leader

    ranked = [row for row in rows if row.rank is not None and row.score.mean is not None][:LEADERS]
    return Card(
        title=phase.competition.title,
        name=phase.competition.name,
        phase=phase.config.title or phase.name,
        leaders=tuple(Leader(row.rank or 0, row.team, f"{row.score.mean:.3f}") for row in ranked),
    )
