"""How glTF surfaces look, reduced to what a sensor shows: base colour, alpha, emission.

Metal, roughness, clear coat and their like have no counterpart in the model; they are named in the
report once. Clear glass (KHR_materials_transmission) becomes a blended surface.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import AlphaMode, Material
from nav_eval.scene.reading.gltf import schema
from nav_eval.scene.reading.gltf.document import Document
from nav_eval.scene.reading.gltf.primitives import PrimitiveMesh

#: How much of a fully transmissive surface still covers what is behind it.
GLASS_COVER = 0.25


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseColor:
    """Where a material's colour comes from."""

    factor: tuple[float, float, float, float]
    texture: schema.TextureInfo | None


def base_color(material: schema.Material) -> BaseColor:
    """The colour picture: diffuse where the file prefers that model, emission where all else is black."""
    glossy = material.extensions.specular_glossiness
    if glossy is not None:
        return BaseColor(factor=glossy.diffuse_factor, texture=glossy.diffuse_texture)
    plain = material.pbr_metallic_roughness
    if _glows_only(material):
        red, green, blue = _emissive(material)
        return BaseColor(factor=(red, green, blue, plain.base_color_factor[3]), texture=material.emissive_texture)
    return BaseColor(factor=plain.base_color_factor, texture=plain.base_color_texture)


def convert_material(document: Document, material: schema.Material, *, texture: int | None) -> Material:
    """Our material for a glTF one; `texture` is where its colour picture ended up."""
    unlit = material.extensions.unlit is not None or _glows_only(material)
    red, green, blue, alpha = base_color(material).factor
    mode = _alpha_mode(document, material)
    if _is_glass(document, material):
        mode, alpha = AlphaMode.BLEND, alpha * _glass_cover(material)
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
        emissive=_emissive(material) if glow else (0.0, 0.0, 0.0),
    )


def baked_uvs(
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
    return _transformed(mesh.uv_sets[uv_set], transform)


def _transformed(uvs: NDArray[np.float32], transform: schema.TextureTransform) -> NDArray[np.float32]:
    if transform.offset == (0.0, 0.0) and transform.rotation == 0.0 and transform.scale == (1.0, 1.0):
        return uvs
    sine, cosine = np.sin(transform.rotation), np.cos(transform.rotation)
    rotation = np.array([[cosine, sine], [-sine, cosine]])
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray((uvs * np.array(transform.scale)) @ rotation.T + np.array(transform.offset), np.float32)


def _emissive(material: schema.Material) -> tuple[float, float, float]:
    extension = material.extensions.emissive_strength
    strength = extension.emissive_strength if extension else 1.0
    red, green, blue = material.emissive_factor
    return red * strength, green * strength, blue * strength


def _glows_only(material: schema.Material) -> bool:
    """Light baked into the emissive picture of a black material: the picture is the colour."""
    black = material.pbr_metallic_roughness.base_color_factor[:3] == (0.0, 0.0, 0.0)
    return black and material.emissive_texture is not None and any(material.emissive_factor)


def _alpha_mode(document: Document, material: schema.Material) -> AlphaMode:
    modes = {"OPAQUE": AlphaMode.OPAQUE, "MASK": AlphaMode.MASK, "BLEND": AlphaMode.BLEND}
    if material.alpha_mode not in modes:
        document.log.warn(f"Material {material.name!r} has the unknown alphaMode {material.alpha_mode!r}: opaque.")
    return modes.get(material.alpha_mode, AlphaMode.OPAQUE)


def _is_glass(document: Document, material: schema.Material) -> bool:
    transmission = material.extensions.transmission
    if transmission is None or transmission.transmission_factor <= 0:
        return False
    if transmission.transmission_texture is not None:
        document.log.warn(f"Material {material.name!r}: its transmission picture is left out; shown opaque.")
        return False
    return True


def _glass_cover(material: schema.Material) -> float:
    transmission = material.extensions.transmission
    factor = min(transmission.transmission_factor, 1.0) if transmission else 0.0
    return 1.0 - (1.0 - GLASS_COVER) * factor
