"""Pictures as videos that can be entered anywhere: constant frame rate, exact time stamps, a key frame every second.

Encoding happens in a thread of its own, so that the next picture is drawn meanwhile; the queue is short, so
that memory stays bounded whichever of the two is slower.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from queue import Queue
from threading import Thread
from types import TracebackType
from typing import Any, Self

import av
import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import RecordError

CODEC, PIXELS = "h264", "yuv420p"
_OPTIONS = {"crf": "23", "preset": "veryfast", "g": "2", "bf": "0", "threads": "1"}
WAITING = 16  #: pictures


class VideoFailed(RecordError):
    """A video could not be written; the message says why."""


def even(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Colour at half resolution needs even sizes: the last row or column is doubled where they are odd."""
    height, width = picture.shape[:2]
    if height % 2 == 0 and width % 2 == 0:
        return picture
    return np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


class VideoWriter:
    """One `.mp4`; pictures are height × width × 3, uint8, all of one size."""

    def __init__(self, path: Path, *, fps: int) -> None:
        self.path = path
        self.frames = 0
        self._fps = fps
        self._queue: Queue[NDArray[np.uint8] | None] = Queue(WAITING)
        self._error: Exception | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        self._thread = Thread(target=self._encode_all, name=f"video {path.name}", daemon=True)
        self._thread.start()

    @property
    def seconds(self) -> float:
        """How long it is by now."""
        return self.frames / self._fps

    @property
    def nbytes(self) -> int:
        """How much of it is on disk; what is still being encoded is not."""
        return self.path.stat().st_size if self.path.exists() else 0

    def add(self, picture: NDArray[np.uint8]) -> None:
        """The next picture; it must not be changed afterwards."""
        if self._error is None:
            self._queue.put(even(picture))
            self.frames += 1
        else:
            self.close()

    def close(self) -> None:
        """Finish the file; raises what went wrong in the thread."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        if self._error is not None:
            raise VideoFailed(f"Cannot write {self.path}: {self._error}.") from self._error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _encode_all(self) -> None:
        try:
            with av.open(str(self.path), "w", options={"movflags": "+faststart"}) as container:
                self._encode(container)
        except Exception as error:  # noqa: BLE001 - the end of a thread; close() raises it again
            self._error = error
            while self._queue.get() is not None:  # let whoever waits for room go on
                pass

    def _encode(self, container: Any) -> None:  # noqa: ANN401 - PyAV's
        stream: Any = None
        for number, picture in enumerate(self._pictures()):
            if stream is None:
                stream = container.add_stream("libx264", rate=self._fps, options=_OPTIONS)
                stream.height, stream.width = picture.shape[:2]
                stream.pix_fmt = PIXELS
                stream.time_base = stream.codec_context.time_base = Fraction(1, self._fps)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, self._fps)
            container.mux(stream.encode(frame))
        if stream is not None:
            container.mux(stream.encode(None))

    def _pictures(self) -> Iterator[NDArray[np.uint8]]:
        while (picture := self._queue.get()) is not None:
            yield picture
