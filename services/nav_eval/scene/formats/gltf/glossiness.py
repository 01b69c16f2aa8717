"""The older specular-glossiness model (KHR_materials_pbrSpecularGlossiness) in terms of metal and roughness.

What reflects more than a dielectric can is a metal, and its colour is that of its reflection. With a specular picture
this is decided texel by texel.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.color import to_linear, to_srgb
from nav_eval.scene.formats.gltf import schema
from nav_eval.scene.formats.gltf.textures import TextureTable
from nav_eval.scene.model import Material, Shading

DIELECTRIC = 0.04
"""Of the light that falls straight onto it, what is reflected by anything that is not a metal."""

Array = NDArray[np.float64]


def convert_glossiness(
    material: Material, glossy: schema.SpecularGlossiness, textures: TextureTable, *, specular: int | None
) -> Material:
    """The material, read with its diffuse colour, under the newer model; `specular` is its second picture."""
    factor = np.array(glossy.specular_factor or (1.0, 1.0, 1.0))
    roughness = min(max(1.0 - glossy.glossiness_factor, 0.0), 1.0)
    if specular is not None:
        return _convert_pictures(material, textures, specular=specular, factor=factor, gloss=glossy.glossiness_factor)
    if glossy.specular_factor is None:
        return material  # nothing is said about reflections: dull
    color, metallic = _convert_colors(np.array(material.base_color[:3]), factor)
    red, green, blue = color.tolist()
    base = (red, green, blue, material.base_color[3])
    return replace(material, base_color=base, shading=Shading(metallic=float(metallic), roughness=roughness))


def _convert_colors(diffuse: Array, specular: Array) -> tuple[Array, Array]:
    """Base colours (… × 3) and metal (…) of linear diffuse and specular colours."""
    rest = 1.0 - specular.max(axis=-1)
    metallic = _solve_metallic(_compute_brightness(diffuse), _compute_brightness(specular), rest)
    share = metallic[..., None]
    from_diffuse = diffuse * (rest / (1 - DIELECTRIC))[..., None] / np.maximum(1 - share, 1e-6)
    from_specular = (specular - DIELECTRIC * (1 - share)) / np.maximum(share, 1e-6)
    return np.clip(from_diffuse * (1 - share**2) + from_specular * share**2, 0.0, 1.0), metallic


def _compute_brightness(color: Array) -> Array:
    return np.asarray(np.sqrt((color**2) @ np.array([0.299, 0.587, 0.114])))


def _solve_metallic(diffuse: Array, specular: Array, rest: Array) -> Array:
    """How much metal explains both brightnesses: the root of a quadratic equation."""
    b = diffuse * rest / (1 - DIELECTRIC) + specular - 2 * DIELECTRIC
    root = np.sqrt(np.maximum(b * b - 4 * DIELECTRIC * (DIELECTRIC - specular), 0.0))
    return np.where(specular < DIELECTRIC, 0.0, np.clip((root - b) / (2 * DIELECTRIC), 0.0, 1.0))


def _convert_pictures(
    material: Material, textures: TextureTable, *, specular: int, factor: Array, gloss: float
) -> Material:
    given = textures.textures[specular]
    height, width = given.pixels.shape[:2]
    diffuse = np.full((height, width, 4), 255, np.uint8)
    if material.texture is not None:
        diffuse = _resize(textures.textures[material.texture].pixels, height, width)
    base_factor = np.array(material.base_color[:3])
    color, metallic = _convert_colors(
        to_linear(diffuse[..., :3] / 255.0) * base_factor, to_linear(given.pixels[..., :3] / 255.0) * factor
    )
    base, rough = diffuse.copy(), np.full_like(diffuse, 255)
    base[..., :3] = np.rint(to_srgb(color) * 255)
    rough[..., 1] = np.rint(255 - given.pixels[..., 3] * min(max(gloss, 0.0), 1.0))
    rough[..., 2] = np.rint(metallic * 255)
    return replace(
        material,
        base_color=(1.0, 1.0, 1.0, material.base_color[3]),
        texture=textures.add(replace(given, pixels=base)),
        shading=Shading(metallic=1.0, roughness_map=textures.add(replace(given, pixels=rough))),
    )


def _resize(pixels: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """The nearest texels: the two pictures of a material are nearly always of one size."""
    rows = np.arange(height) * pixels.shape[0] // height
    columns = np.arange(width) * pixels.shape[1] // width
    return np.asarray(pixels[rows[:, None], columns])
