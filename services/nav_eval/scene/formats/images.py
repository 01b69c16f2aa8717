"""Pictures from bytes to RGBA, with the size checked before a pixel is decoded, and colours from sRGB to linear light.

A picture that is missing or broken takes nothing else with it: the report says so, and the material shows its plain
colour.
"""

import io
import warnings

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from nav_eval.errors import SceneError
from nav_eval.scene.color import to_linear
from nav_eval.scene.formats.basis import BrokenPicture, decode_basis, decode_ktx2, is_basis, is_ktx2
from nav_eval.scene.formats.scene_folder import (
    ForbiddenPath,
    MissingFile,
    ReadLimits,
    SceneFolder,
    SceneTooLarge,
    check_limit,
)
from nav_eval.scene.model import ReadLog, Texture, Wrap

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
                    return np.asarray(_to_eight_bits(image).convert("RGBA"))
        except Image.DecompressionBombError as error:
            raise SceneTooLarge(f"{source}: {error} {SceneTooLarge.__doc__}") from error
        except UnidentifiedImageError as error:
            raise UnreadableImage(f"{source} is not a picture that we know how to read.") from error
        except SceneError:
            raise
        except Exception as error:
            raise UnreadableImage(f"{source} cannot be decoded ({type(error).__name__}: {error}).") from error


def _to_eight_bits(image: Image.Image) -> Image.Image:
    """Pillow clips 16-bit grey instead of scaling it."""
    if image.mode.startswith("I"):
        grey = np.asarray(image).astype(np.float64) * (255.0 / 65535.0)
        return Image.fromarray(np.clip(np.rint(grey), 0, 255).astype(np.uint8), "L")
    return image


def to_linear_bytes(colors: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """N × 3 or N × 4 sRGB bytes as N × 4 linear bytes; alpha is linear already."""
    levels = np.rint(to_linear(np.arange(256) / 255.0) * 255.0).astype(np.uint8)
    rgba = np.full((len(colors), 4), 255, np.uint8)
    rgba[:, :3] = levels[colors[:, :3]]
    rgba[:, 3:] = colors[:, 3:] if colors.shape[1] == 4 else 255
    return rgba


class TextureFiles:
    """The textures of one scene, in the order in which its materials ask for them."""

    def __init__(self, folder: SceneFolder, log: ReadLog) -> None:
        self._folder = folder
        self._log = log
        self._decoder = ImageDecoder(folder.limits)
        self._indices: dict[tuple[str, Wrap], int | None] = {}
        self.textures: list[Texture] = []

    def get_index(self, name: str, *, wrap: Wrap = Wrap.REPEAT) -> int | None:
        """The place in `textures` of the picture in this file; None if it cannot be shown."""
        if (name, wrap) not in self._indices:
            self._indices[name, wrap] = self._add(name, wrap)
        return self._indices[name, wrap]

    def _add(self, name: str, wrap: Wrap) -> int | None:
        try:
            pixels = self._decoder.decode(self._folder.read_named(name), source=f"{self._log.source}: {name}")
        except (ForbiddenPath, MissingFile, UnreadableImage) as error:
            self._log.warn(f"{error} The plain colour is shown instead.")
            return None
        self.textures.append(Texture(pixels=pixels, wrap_u=wrap, wrap_v=wrap))
        return len(self.textures) - 1
