"""What the two Basis containers have in common: a few numbers and some slices of bytes."""

from collections.abc import Callable
from typing import TypeAlias

from nav_eval.errors import SceneError

#: Called with width and height before any pixel is decoded; refuses what is too large.
Claim: TypeAlias = Callable[[int, int], None]


class BrokenPicture(SceneError):
    """A Basis picture is cut off or broken; compress it again."""


def piece(content: bytes, offset: int, length: int, what: str) -> bytes:
    """`length` bytes at `offset`, all of them."""
    part = content[offset : offset + length]
    if len(part) < length or length < 0:
        raise BrokenPicture(f"{what} lies past the end of the file")
    return part
