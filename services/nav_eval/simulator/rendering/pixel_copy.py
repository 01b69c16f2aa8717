"""Pixels on their way from a graphics card: fetched when others have been asked for, so that nobody waits for them."""

from collections.abc import Callable, Mapping, Sequence

import moderngl
import numpy as np
from numpy.typing import NDArray

from nav_eval.simulator.rendering.camera import Frame


class PixelCopy:
    """What a canvas showed when it was copied, in buffers of OpenGL's."""

    def __init__(self, buffers: Mapping[str, moderngl.Buffer]) -> None:
        """One buffer per output, as large as the canvas."""
        self.buffers = buffers

    def read(self, output: str, into: NDArray[np.generic]) -> None:
        """Waits until it is drawn."""
        self.buffers[output].read_into(into)

    def release(self) -> None:
        for buffer in self.buffers.values():
            buffer.release()


class PendingFrames:
    """Pictures that were submitted to OpenGL; their arrays are filled by `collect`."""

    def __init__(self, frames: Sequence[Frame], fetch: Callable[[], None]) -> None:
        self._frames = frames
        self._fetch: Callable[[], None] | None = fetch

    def collect(self) -> Sequence[Frame]:
        """Wait for the pixels; in the thread that draws."""
        if self._fetch is not None:
            fetch, self._fetch = self._fetch, None
            fetch()
        return self._frames
