"""How glTF surfaces look: colour, metal, roughness and their maps, alpha, emission, glass.

The older specular-glossiness model is converted (`glossiness`). All maps of a material share one set of texture
coordinates, that of its colour; a map with another one is left out and named in the report. Varnish, cloth and their
like are in `layers`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.records.geometry import Vec3
from nav_eval.scene.formats.gltf import schema
from nav_eval.scene.formats.gltf.document import Document
from nav_eval.scene.formats.gltf.glossiness import convert_glossiness
from nav_eval.scene.formats.gltf.layers import read_layers
from nav_eval.scene.formats.gltf.primitives import PrimitiveMesh
from nav_eval.scene.formats.gltf.textures import TextureTable
from nav_eval.scene.model import MATTE, AlphaMode, Material, Shading

GLASS_COVER = 0.25
"""How much of a fully transmissive surface still covers what is behind it where it is not shaded."""
BLACK: Vec3 = (0.0, 0.0, 0.0)
POLISHED = 0.1  #: roughness below which a surface shows what is around it


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


def find_uv_source(material: schema.GltfMaterial) -> schema.TextureInfo | None:
    """The picture whose texture coordinates the material uses: of its colour, or of its first map."""
    color = find_base_color(material).texture
    if color is not None or is_unlit(material):
        return color
    return next((info for info in _list_maps(material).values()), None)


def is_unlit(material: schema.GltfMaterial) -> bool:
    return material.extensions.unlit is not None or _is_emission_only(material)


def is_photograph(material: schema.GltfMaterial) -> bool:
    """Whether it is a picture and nothing else: no other maps, no emission, no tint."""
    has_maps = bool(_list_maps(material))
    color = find_base_color(material)
    return color.texture is not None and color.factor == (1.0, 1.0, 1.0, 1.0) and not has_maps


def read_material(document: Document, textures: TextureTable, material: schema.GltfMaterial) -> Material:
    """Our material for a glTF one; its pictures are decoded."""
    color = find_base_color(material)
    red, green, blue, alpha = color.factor
    read = Material(
        name=material.name,
        base_color=(red, green, blue, alpha),
        texture=None if color.texture is None else textures.slot(color.texture.index),
        unlit=is_unlit(material),
        alpha_mode=_choose_alpha_mode(document, material),
        alpha_cutoff=material.alpha_cutoff,
        double_sided=material.double_sided,
    )
    cover = _compute_glass_cover(material)
    if cover < 1.0:
        read = replace(read, alpha_mode=AlphaMode.BLEND, base_color=(red, green, blue, alpha * cover))
    return read if read.unlit else _add_shading(document, textures, material, read)


def _add_shading(document: Document, textures: TextureTable, material: schema.GltfMaterial, read: Material) -> Material:
    maps = _read_maps(document, textures, material)
    glows = material.emissive_texture is None or "emission_map" in maps
    read = replace(read, emissive=_compute_emission(material) if glows else BLACK)
    glossy = material.extensions.specular_glossiness
    if glossy is not None:
        specular = maps.pop("roughness_map", None)
        read = convert_glossiness(read, glossy, textures, specular=specular)
        metallic, roughness, roughness_map = _get_metal(read.shading)
    else:
        plain = material.pbr_metallic_roughness
        metallic, roughness = _clip(plain.metallic_factor), _clip(plain.roughness_factor)
        roughness_map = maps.pop("roughness_map", None)
    normal, occlusion = material.normal_texture, material.occlusion_texture
    transmission = material.extensions.transmission
    others: dict[str, Any] = {**maps, **read_layers(document, textures, material)}
    shading = Shading(
        metallic=metallic,
        roughness=roughness,
        roughness_map=roughness_map,
        normal_scale=normal.scale if normal else MATTE.normal_scale,
        occlusion_strength=_clip(occlusion.strength) if occlusion else MATTE.occlusion_strength,
        transmission=_clip(transmission.transmission_factor) if transmission else 0.0,
        transmission_color=_compute_attenuation(textures, material.extensions.volume),
        **others,
    )
    return replace(read, shading=shading)


def _get_metal(shading: Shading) -> tuple[float, float, int | None]:
    return shading.metallic, shading.roughness, shading.roughness_map


def _list_maps(material: schema.GltfMaterial) -> dict[str, schema.TextureInfo]:
    """The maps that the material shows, by the fields of `Shading`; specular colours go by the name of roughness."""
    glossy, transmission = material.extensions.specular_glossiness, material.extensions.transmission
    plain = material.pbr_metallic_roughness.metallic_roughness_texture
    clear = transmission is not None and transmission.transmission_factor > 0
    wanted: dict[str, schema.TextureInfo | None] = {
        "emission_map": material.emissive_texture if any(material.emissive_factor) else None,
        "roughness_map": plain if glossy is None else glossy.specular_glossiness_texture,
        "normal_map": material.normal_texture,
        "occlusion_map": material.occlusion_texture,
        "transmission_map": transmission.transmission_texture if clear and transmission else None,
    }
    return {name: info for name, info in wanted.items() if info is not None}


def _read_maps(document: Document, textures: TextureTable, material: schema.GltfMaterial) -> dict[str, int]:
    source = find_uv_source(material)
    maps = {}
    for name, info in _list_maps(material).items():
        if source is not None and _get_uv_mapping(info) != _get_uv_mapping(source):
            what = name.removesuffix("_map")
            document.log.warn(
                f"Material {material.name!r}: its {what} picture has texture coordinates of its own and is left out."
            )
            continue
        slot = textures.slot(info.index)
        if slot is not None:
            maps[name] = slot
    return maps


def _get_uv_mapping(info: schema.TextureInfo) -> tuple[int, schema.TextureTransform]:
    transform = info.extensions.transform or schema.TextureTransform()
    uv_set = info.tex_coord if transform.tex_coord is None else transform.tex_coord
    return uv_set, schema.TextureTransform(offset=transform.offset, rotation=transform.rotation, scale=transform.scale)


def _compute_attenuation(textures: TextureTable, volume: schema.Volume | None) -> Vec3:
    """What is left of white behind a body of glass (KHR_materials_volume), where it is as thick as on average."""
    if volume is None or volume.thickness_factor <= 0.0 or volume.attenuation_distance <= 0.0:
        return (1.0, 1.0, 1.0)
    depth = volume.thickness_factor / volume.attenuation_distance
    if volume.thickness_texture is not None:
        depth *= textures.compute_mean(volume.thickness_texture.index)[1]
    red, green, blue = (_clip(value) ** depth for value in volume.attenuation_color)
    return red, green, blue


def _clip(value: float) -> float:
    return min(max(value, 0.0), 1.0)


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
    """Light baked into the emissive picture of a black, dull material: the picture is the colour.

    What is polished shows its surroundings as well, and what glows more than a picture can say is a lamp.
    """
    plain, strength = material.pbr_metallic_roughness, material.extensions.emissive_strength
    if plain.roughness_factor < POLISHED or (strength is not None and strength.emissive_strength > 1.0):
        return False
    is_black = plain.base_color_factor[:3] == (0.0, 0.0, 0.0)
    return is_black and material.emissive_texture is not None and any(material.emissive_factor)


def _choose_alpha_mode(document: Document, material: schema.GltfMaterial) -> AlphaMode:
    modes = {"OPAQUE": AlphaMode.OPAQUE, "MASK": AlphaMode.MASK, "BLEND": AlphaMode.BLEND}
    if material.alpha_mode not in modes:
        document.log.warn(f"Material {material.name!r} has the unknown alphaMode {material.alpha_mode!r}: opaque.")
    return modes.get(material.alpha_mode, AlphaMode.OPAQUE)


def _compute_glass_cover(material: schema.GltfMaterial) -> float:
    transmission = material.extensions.transmission
    factor = min(transmission.transmission_factor, 1.0) if transmission else 0.0
    return 1.0 - (1.0 - GLASS_COVER) * factor
