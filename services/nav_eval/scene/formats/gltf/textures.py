"""The pictures of a glTF file: decoded once each, with the samplers that materials ask for."""

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.formats.gltf import schema
from nav_eval.scene.formats.gltf.document import Document
from nav_eval.scene.formats.images import ImageDecoder, UnreadableImage
from nav_eval.scene.formats.scene_folder import MissingFile
from nav_eval.scene.model import Texture, Wrap

WRAPS = {10497: Wrap.REPEAT, 33071: Wrap.CLAMP, 33648: Wrap.MIRROR}
NEAREST = 9728


class TextureTable:
    """Textures in the order in which materials first ask for them."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._decoder = ImageDecoder(document.limits)
        self._images: dict[int, NDArray[np.uint8] | None] = {}
        self._slots: dict[tuple[int, Wrap, Wrap, bool], int] = {}
        self.textures: list[Texture] = []

    def slot(self, index: int) -> int | None:
        """Where glTF texture `index` is in `textures`; None where it cannot be shown."""
        document = self._document
        texture = document.item(document.gltf.textures, index, "texture")
        image = _choose_image(texture)
        if image is None:
            document.log.warn(f"Texture {index} has no image that we know how to read; the plain colour is shown.")
            return None
        sampler = schema.Sampler()
        if texture.sampler is not None:
            sampler = document.item(document.gltf.samplers, texture.sampler, "sampler")
        key = (image, *_get_wraps(sampler), sampler.mag_filter == NEAREST)
        if key not in self._slots:
            pixels = self._get_pixels(image)
            if pixels is None:
                return None
            self._slots[key] = len(self.textures)
            self.textures.append(Texture(pixels=pixels, wrap_u=key[1], wrap_v=key[2], nearest=key[3]))
        return self._slots[key]

    def add(self, texture: Texture) -> int:
        """Where a picture that we made ourselves is in `textures`."""
        self.textures.append(texture)
        return len(self.textures) - 1

    def compute_mean(self, index: int) -> NDArray[np.float64]:
        """The mean of each channel of glTF texture `index`, 0 to 1; of white where it cannot be read."""
        document = self._document
        image = _choose_image(document.item(document.gltf.textures, index, "texture"))
        pixels = None if image is None else self._get_pixels(image)
        return np.ones(4) if pixels is None else pixels.mean(axis=(0, 1)) / 255.0

    def _get_pixels(self, index: int) -> NDArray[np.uint8] | None:
        if index not in self._images:
            self._images[index] = self._decode(index)
        return self._images[index]

    def _decode(self, index: int) -> NDArray[np.uint8] | None:
        document = self._document
        image = document.item(document.gltf.images, index, "image")
        name = image.name or (image.uri or "")[:80] or f"image {index}"
        try:
            return self._decoder.decode(
                self._read_content(image, index), source=f"{document.source}: image {index} ({name})"
            )
        except (MissingFile, UnreadableImage) as error:
            document.log.warn(f"{error} The plain colour is shown instead.")
            return None

    def _read_content(self, image: schema.GltfImage, index: int) -> bytes | memoryview:
        if image.buffer_view is not None:
            return self._document.view(image.buffer_view)
        if image.uri is not None:
            return self._document.folder.read(image.uri)
        raise self._document.error(f"image {index} has neither a uri nor a bufferView; export the file again.")


def _choose_image(texture: schema.GltfTexture) -> int | None:
    """The image to show: a compressed one where the texture offers it, as it is the intended one."""
    offers = texture.extensions
    for offer in (offers.basisu, offers.google_basis, offers.webp, offers.avif):
        if offer is not None and offer.source is not None:
            return offer.source
    return texture.source


def _get_wraps(sampler: schema.Sampler) -> tuple[Wrap, Wrap]:
    return WRAPS.get(sampler.wrap_s, Wrap.REPEAT), WRAPS.get(sampler.wrap_t, Wrap.REPEAT)
