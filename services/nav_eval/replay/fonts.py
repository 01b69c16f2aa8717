"""Letters for pictures: Pillow's own font, or one of the machine for what that has no letters for (Chinese, say)."""

from functools import cache, lru_cache
from pathlib import Path

from PIL import ImageFont

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

OURS = ""  #: Pillow's own font, which is always there
FONTS = (
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Bold.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
    "/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
)
"""Where Debian's packages put what has more letters than Latin ones."""
NOBODYS = "\U0010fffd"  #: a letter that no font has


def can_write(text: str) -> bool:
    return find_font(text) is not None


def load_font(size: int, text: str = "") -> Font:
    """A font for a text; boxes stand for letters that none here has."""
    return _load(size, find_font(text) or OURS)


@lru_cache(maxsize=1024)
def find_font(text: str) -> str | None:
    """The first font that has all letters of a text."""
    return next((font for font in (OURS, *list_fonts()) if _has_letters(font, text)), None)


@cache
def list_fonts() -> tuple[str, ...]:
    return tuple(path for path in FONTS if Path(path).is_file())


def _has_letters(font: str, text: str) -> bool:
    """A letter that a font lacks is drawn as the box that stands for what it lacks."""
    loaded = _load(32, font)
    missing = bytes(loaded.getmask(NOBODYS))
    return all(letter == " " or bytes(loaded.getmask(letter)) != missing for letter in set(text))


@cache
def _load(size: int, path: str) -> Font:
    return ImageFont.truetype(path, max(8, size)) if path else ImageFont.load_default(size=max(8, size))
