"""What a camera delivers: one array per channel that was asked for."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nav_eval.simulator.rendering.errors import BadCamera


class Channel(StrEnum):
    RGB = "rgb"  #: uint8, height × width × 3, sRGB
    DEPTH = "depth"  #: float32, height × width, metres along the optical axis; 0 where there is nothing
    SEMANTIC = "semantic"  #: int32, height × width, category id; 0 is "nothing"
    INSTANCE = "instance"  #: uint32, height × width, object id; 0 is "nothing"


ALL_CHANNELS = frozenset(Channel)
_SHAPES: dict[Channel, tuple[type[np.generic], tuple[int, ...]]] = {
    Channel.RGB: (np.uint8, (3,)),
    Channel.DEPTH: (np.float32, ()),
    Channel.SEMANTIC: (np.int32, ()),
    Channel.INSTANCE: (np.uint32, ()),
}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Frame:
    """One picture. Channels that were not asked for are None; the first row is the top of the image."""

    rgb: NDArray[np.uint8] | None = None
    depth: NDArray[np.float32] | None = None
    semantic: NDArray[np.int32] | None = None
    instance: NDArray[np.uint32] | None = None

    @classmethod
    def empty(cls, width: int, height: int, channels: Iterable[Channel]) -> Self:
        """Fresh arrays, not yet filled."""
        return cls(**{str(channel): np.empty(*_spec(channel, width, height)) for channel in channels})

    def check(self, width: int, height: int, channels: Iterable[Channel]) -> None:
        """Refuse arrays that a picture of this size cannot be written into."""
        for channel in channels:
            array = getattr(self, channel)
            shape, dtype = _spec(channel, width, height)
            if array is None or array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
                found = "nothing" if array is None else f"{array.dtype}{array.shape}"
                raise BadCamera(f"{channel} needs a C-contiguous {np.dtype(dtype)}{shape} array, got {found}.")


def _spec(channel: Channel, width: int, height: int) -> tuple[tuple[int, ...], type[np.generic]]:
    dtype, tail = _SHAPES[channel]
    return (height, width, *tail), dtype
