"""The picture that other sites show where a competition or a board is linked (Open Graph): its title, and who leads.

It is drawn from what a stranger sees and kept while that stands still. Letters come from Pillow's own font; what it has
no letters for (Chinese, say) from a font of the machine. Where there is none, the competition's short name stands in
for its title, and a team is left out.
"""

import hashlib
import io
import unicodedata
from collections import OrderedDict
from collections.abc import Sequence
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends
from PIL import Image, ImageDraw
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nav_eval.replay import fonts
from nav_eval_gateway.pages.competitions import find_current_phase
from nav_eval_gateway.pages.context import Visit, make_anonymous_visit
from nav_eval_gateway.pages.showcase import ELSEWHERE, find_public_board
from nav_eval_gateway.responses import has_already
from nav_eval_store.boards.leaderboard import Row
from nav_eval_store.models import Phase

router = APIRouter(include_in_schema=False)
Stranger = Annotated[Visit, Depends(make_anonymous_visit)]

SIZE = (1200, 630)
LEADERS = 3
KEPT = 64
LEFT, RIGHT = 96, 1104
PAPER, INK, SOFT, TRAIL, FLAG = "#0f3b3e", "#f4f1ea", "#a9cac6", "#f2c14e", "#ff7a59"


class Leader(NamedTuple):
    """An entry as the picture shows it."""

    rank: int
    team: str
    score: str


class Card(NamedTuple):
    """What the picture says; equal cards are equal pictures."""

    title: str
    name: str
    """The competition's short name, which any font can write."""
    phase: str
    leaders: tuple[Leader, ...]
    """None where the board is not public."""


class RecentCards:
    """Pictures that were asked for last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Card, bytes] = OrderedDict()

    def draw(self, card: Card) -> bytes:
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


def make_card(phase: Phase, rows: Sequence[Row]) -> Card:
    ranked = [row for row in rows if row.rank is not None and row.score.mean is not None][:LEADERS]
    return Card(
        title=phase.competition.title,
        name=phase.competition.name,
        phase=phase.config.title or phase.name,
        leaders=tuple(Leader(row.rank or 0, row.team, f"{row.score.mean:.3f}") for row in ranked),
    )


def draw_card(card: Card) -> bytes:
    image = Image.new("RGB", SIZE, PAPER)
    pen = ImageDraw.Draw(image)
    _draw_trail(pen)
    bottom = _write_title(pen, card)
    if _can_write(card.phase):
        _write_line(pen, card.phase, (LEFT, bottom + 14), size=34, fill=SOFT, width=RIGHT - LEFT)
    for place, leader in enumerate(card.leaders):
        _write_leader(pen, leader, top=360 + 68 * place)
    pen.text((LEFT, 66), "nav-eval", fill=TRAIL, font=fonts.load_font(34), anchor="lm")
    file = io.BytesIO()
    image.quantize(64).save(file, "PNG", optimize=True)
    return file.getvalue()


def _draw_trail(pen: ImageDraw.ImageDraw) -> None:
    """The mark: a dashed way to a flag."""
    for x in range(640, 1060, 34):
        pen.line((x, 66, x + 18, 66), fill=TRAIL, width=6)
    pen.line((1070, 30, 1070, 84), fill=FLAG, width=6)
    pen.polygon([(1070, 30), (1120, 46), (1070, 62)], fill=FLAG)


def _write_title(pen: ImageDraw.ImageDraw, card: Card) -> int:
    """In one line or two; where it ended."""
    title = _clean(card.title) if _can_write(card.title) else card.name
    lines = _wrap(title, size=64, width=RIGHT - LEFT)
    top = 130
    for line in lines:
        _write_line(pen, line, (LEFT, top), size=64, fill=INK, width=RIGHT - LEFT)
        top += 78
    return top


def _write_leader(pen: ImageDraw.ImageDraw, leader: Leader, *, top: int) -> None:
    pen.text((LEFT, top + 40), str(leader.rank), fill=TRAIL, font=fonts.load_font(40), anchor="ls")
    if _can_write(leader.team):
        _write_line(pen, leader.team, (LEFT + 70, top), size=40, fill=INK, width=700)
    pen.text((RIGHT, top + 40), leader.score, fill=INK, font=fonts.load_font(40), anchor="rs")


def _write_line(
    pen: ImageDraw.ImageDraw, text: str, place: tuple[int, int], *, size: int, fill: str, width: int
) -> None:
    """As much of a text as there is room for."""
    text = _clean(text)
    font, shown = fonts.load_font(size, text), text
    while shown and pen.textlength(shown if shown == text else f"{shown}…", font=font) > width:
        shown = shown[:-1]
    written = shown if shown == text else f"{shown.rstrip()}…"
    pen.text((place[0], place[1] + size), written, fill=fill, font=font, anchor="ls")


def _wrap(text: str, *, size: int, width: int) -> list[str]:
    """Two lines at most; Chinese has no spaces to break at."""
    font = fonts.load_font(size, text)
    if font.getlength(text) <= width:
        return [text]
    fits = next(end for end in range(len(text), 0, -1) if font.getlength(text[:end]) <= width)
    space = text.rfind(" ", 0, fits + 1)
    end = space if space > 0 else fits
    return [text[:end].rstrip(), text[end:].strip()]


def _clean(text: str) -> str:
    """On one line, without what turns or hides letters."""
    kept = "".join(" " if letter.isspace() else letter for letter in text if unicodedata.category(letter) != "Cf")
    return " ".join("".join(letter for letter in kept if letter.isprintable()).split())[:200]


def _can_write(text: str) -> bool:
    return fonts.can_write(_clean(text))
