"""How glTF surfaces look, reduced to what a sensor shows: base colour with its picture, alpha, emission.

Metal, roughness, clear coat and their like have no counterpart in the model; they are named in the
report once. Clear glass (KHR_materials_transmission) becomes a blended surface. Pictures are decoded once each.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.formats.gltf import schema
from nav_eval.scene.formats.gltf.document import Document
from nav_eval.scene.formats.gltf.primitives import PrimitiveMesh
from nav_eval.scene.formats.images import ImageDecoder, UnreadableImage
from nav_eval.scene.formats.scene_folder import MissingFile
from nav_eval.scene.model import AlphaMode, Material, Texture, Wrap

#: How much of a fully transmissive surface still covers what is behind it.
GLASS_COVER = 0.25


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseColor:
    """Where a material's colour comes from."""

    factor: tuple[float, float, float, float]
    texture: schema.TextureInfo | None


def find_base_color(material: schema.GltfMaterial) -> BaseColor:
    """The colour picture: diffuse where the file prefers that model, emission where all else is black."""
    glossy = material.extensions.specular_glossiness
    if glossy is not None:
        return BaseColor(factor=glossy.diffuse_factor, texture=glossy.diffuse_texture)
    plain = material.pbr_metallic_roughness
    if _is_emission_only(material):
        red, green, blue = _compute_emission(material)
        return BaseColor(factor=(red, green, blue, plain.base_color_factor[3]), texture=material.emissive_texture)
    return BaseColor(factor=plain.base_color_factor, texture=plain.base_color_texture)


def convert_material(document: Document, material: schema.GltfMaterial, *, texture: int | None) -> Material:
    """Our material for a glTF one; `texture` is where its colour picture ended up."""
    unlit = material.extensions.unlit is not None or _is_emission_only(material)
    red, green, blue, alpha = find_base_color(material).factor
    mode = _choose_alpha_mode(document, material)
    if _is_glass(document, material):
        mode, alpha = AlphaMode.BLEND, alpha * _compute_glass_cover(material)
    if material.emissive_texture is not None and any(material.emissive_factor) and not unlit:
        document.log.warn(f"Material {material.name!r}: its emissive picture is left out.")
    glow = not unlit and material.emissive_texture is None
    return Material(
        name=material.name,
        base_color=(red, green, blue, alpha),
        texture=texture,
        unlit=unlit,
        alpha_mode=mode,
        alpha_cutoff=material.alpha_cutoff,
        double_sided=material.double_sided,
        emissive=_compute_emission(material) if glow else (0.0, 0.0, 0.0),
    )


def bake_uvs(
    document: Document, mesh: PrimitiveMesh, info: schema.TextureInfo | None, *, where: str
) -> NDArray[np.float32]:
    """Texture coordinates for the colour picture: its UV set, with KHR_texture_transform applied."""
    if info is None:
        return np.zeros((len(mesh.positions), 2), np.float32)
    transform = info.extensions.transform or schema.TextureTransform()
    uv_set = info.tex_coord if transform.tex_coord is None else transform.tex_coord
    if uv_set >= len(mesh.uv_sets):
        document.log.warn(f"{where} has no texture coordinates TEXCOORD_{uv_set} for its picture; (0, 0) is used.")
        return np.zeros((len(mesh.positions), 2), np.float32)
    return _transform_uvs(mesh.uv_sets[uv_set], transform)


def _transform_uvs(uvs: NDArray[np.float32], transform: schema.TextureTransform) -> NDArray[np.float32]:
    if transform.offset == (0.0, 0.0) and transform.rotation == 0.0 and transform.scale == (1.0, 1.0):
        return uvs
    sine, cosine = np.sin(transform.rotation), np.cos(transform.rotation)
    rotation = np.array([[cosine, sine], [-sine, cosine]])
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray((uvs * np.array(transform.scale)) @ rotation.T + np.array(transform.offset), np.float32)


def _compute_emission(material: schema.GltfMaterial) -> tuple[float, float, float]:
    extension = material.extensions.emissive_strength
    strength = extension.emissive_strength if extension else 1.0
    red, green, blue = material.emissive_factor
    return red * strength, green * strength, blue * strength


def _is_emission_only(material: schema.GltfMaterial) -> bool:
    """Light baked into the emissive picture of a black material: the picture is the colour."""
    black = material.pbr_metallic_roughness.base_color_factor[:3] == (0.0, 0.0, 0.0)
    return black and material.emissive_texture is not None and any(material.emissive_factor)


def _choose_alpha_mode(document: Document, material: schema.GltfMaterial) -> AlphaMode:
    modes = {"OPAQUE": AlphaMode.OPAQUE, "MASK": AlphaMode.MASK, "BLEND": AlphaMode.BLEND}
    if material.alpha_mode not in modes:
        document.log.warn(f"Material {material.name!r} has the unknown alphaMode {material.alpha_mode!r}: opaque.")
    return modes.get(material.alpha_mode, AlphaMode.OPAQUE)


def _is_glass(document: Document, material: schema.GltfMaterial) -> bool:
    transmission = material.extensions.transmission
    if transmission is None or transmission.transmission_factor <= 0:
        return False
    if transmission.transmission_texture is not None:
        document.log.warn(f"Material {material.name!r}: its transmission picture is left out; shown opaque.")
        return False
    return True


def _compute_glass_cover(material: schema.GltfMaterial) -> float:
    transmission = material.extensions.transmission
    factor = min(transmission.transmission_factor, 1.0) if transmission else 0.0
    return 1.0 - (1.0 - GLASS_COVER) * factor


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
