"""Pictures from bytes to RGBA, with the size checked before a pixel is decoded."""

import io
import warnings

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from nav_eval.errors import SceneError
from nav_eval.scene.reading.basis import BrokenPicture, decode_basis, decode_ktx2, is_basis, is_ktx2
from nav_eval.scene.reading.limits import ReadLimits, TooLarge, check_limit

PILLOW_FORMATS = ("PNG", "JPEG", "WEBP", "AVIF", "BMP", "GIF", "TGA")


class UnreadableImage(SceneError):
    """A picture cannot be decoded."""


class ImageDecoder:
    """Decodes the pictures of one scene within its limits."""

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = limits
        self._pixels = 0

    def decode(self, content: bytes | memoryview, *, source: str) -> NDArray[np.uint8]:
        """Height × width × 4, first row on top."""
        head = bytes(content[:16])
        if not (is_ktx2(head) or is_basis(head)):
            return self._decode_with_pillow(content, source)
        decode = decode_ktx2 if is_ktx2(head) else decode_basis
        try:
            pixels = decode(bytes(content), claim=lambda width, height: self.claim(width, height, source=source))
        except BrokenPicture as error:
            raise UnreadableImage(f"{source} cannot be decoded: {error}.") from error
        return np.ascontiguousarray(pixels)

    def claim(self, width: int, height: int, *, source: str) -> None:
        """Count a picture against the limits before memory is set aside for it."""
        if width < 1 or height < 1:
            raise UnreadableImage(f"{source} has the size {width} × {height}.")
        check_limit(width * height, limit=self._limits.image_pixels, what="pixels in a picture", source=source)
        self._pixels += width * height
        check_limit(self._pixels, limit=self._limits.texture_pixels, what="pixels in all pictures", source=source)

    def _decode_with_pillow(self, content: bytes | memoryview, source: str) -> NDArray[np.uint8]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a large picture, and of odd metadata: our own limits decide
                with Image.open(io.BytesIO(content), formats=PILLOW_FORMATS) as image:
                    self.claim(*image.size, source=source)
                    return np.asarray(_eight_bits(image).convert("RGBA"))
        except Image.DecompressionBombError as error:
            raise TooLarge(f"{source}: {error} {TooLarge.__doc__}") from error
        except UnidentifiedImageError as error:
            raise UnreadableImage(f"{source} is not a picture that we know how to read.") from error
        except SceneError:
            raise
        except Exception as error:
            raise UnreadableImage(f"{source} cannot be decoded ({type(error).__name__}: {error}).") from error


def _eight_bits(image: Image.Image) -> Image.Image:
    """Pillow clips 16-bit grey instead of scaling it."""
    if image.mode.startswith("I"):
        grey = np.asarray(image).astype(np.float64) * (255.0 / 65535.0)
        return Image.fromarray(np.clip(np.rint(grey), 0, 255).astype(np.uint8), "L")
    return image
