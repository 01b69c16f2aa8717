"""Pictures that Magnum would look at without a copy; here they only carry their parts."""

from enum import Enum
from typing import Any


class PixelFormat(Enum):
    R8_UNORM = 1
    RG8_UNORM = 2
    RGB8_UNORM = 3
    RGBA8_UNORM = 4
    R32UI = 5
    R32F = 6


class ImageView2D:
    def __init__(self, format: PixelFormat, size: Any, data: Any = None) -> None:
        self.format, self.size, self.data = format, size, data


class MutableImageView2D(ImageView2D):
    """As above, and may be written to."""
