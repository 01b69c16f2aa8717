"""The picture of a competition or a board, drawn: Pillow is loaded when the first one is asked for.

Letters come from Pillow's own font; what it has no letters for (Chinese, say) from a font of the machine. Where there
is none, the competition's short name stands in for its title, and a team is left out.
"""

import io
import unicodedata
from typing import NamedTuple

from PIL import Image, ImageDraw

from nav_eval.replay import fonts

SIZE = (1200, 630)
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
