"""The pictures of one camera as a replay keeps them, a step at a time."""

from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from nav_eval.replay.model import CameraView
from nav_eval.replay.video import encode_jpeg, shrink
from nav_eval.replay.view_kinds import ViewKind


class ViewRecorder:
    """Shrinks and encodes what a camera shows; colours of categories are kept as they are, edges and all."""

    def __init__(self, sensor: str, kind: ViewKind, *, side: int, quality: int) -> None:
        self._sensor, self._kind, self._side, self._quality = sensor, kind, side, quality
        self._frames: list[bytes] = []
        self._size = (0, 0)
        self._has_seen = kind is not ViewKind.SEMANTIC

    def add(self, picture: NDArray[np.uint8]) -> None:
        self._has_seen = self._has_seen or bool(picture.any())
        image = self._shrink(picture)
        self._size = image.size
        self._frames.append(self._encode(image))

    @property
    def is_worth_showing(self) -> bool:
        """False for the categories of a scene that nobody annotated: every pixel is nothing."""
        return self._has_seen

    def make_view(self) -> CameraView:
        return CameraView(
            sensor=self._sensor,
            width=self._size[0],
            height=self._size[1],
            kind=self._kind,
            media_type="image/webp" if self._kind is ViewKind.SEMANTIC else "image/jpeg",
            frames=self._frames,
        )

    def _shrink(self, picture: NDArray[np.uint8]) -> Image.Image:
        if self._kind is not ViewKind.SEMANTIC:
            return shrink(picture, self._side)
        image = Image.fromarray(picture)
        image.thumbnail((self._side, self._side), Image.Resampling.NEAREST, reducing_gap=None)
        return image

    def _encode(self, image: Image.Image) -> bytes:
        if self._kind is ViewKind.COLOUR:
            return encode_jpeg(image, quality=self._quality)
        if self._kind is ViewKind.DEPTH:
            return encode_jpeg(image.convert("L"), quality=self._quality)
        file = BytesIO()
        image.save(file, "WEBP", lossless=True, quality=20, method=0)
        return file.getvalue()
