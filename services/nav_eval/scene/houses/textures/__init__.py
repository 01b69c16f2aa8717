"""Textures by name: painted by code on first use, then shared by all houses of a process.

A texture is a function of (pattern, variant) alone. Variants are even for seen and odd for unseen
houses, so the two splits share no picture.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from nav_eval.dataset.episode import Vec3
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.textures import pictures, surfaces
from nav_eval.scene.houses.textures.noise import Array
from nav_eval.scene.model import Texture, Wrap

SURFACES: tuple[Callable[[Draw], Array], ...] = (
    surfaces.grain, surfaces.planks, surfaces.wide_planks, surfaces.parquet, surfaces.tiles, surfaces.large_tiles,
    surfaces.checker_tiles, surfaces.square_tiles, surfaces.mosaic, surfaces.subway_tiles, surfaces.brick,
    surfaces.carpet, surfaces.concrete, surfaces.plaster, surfaces.wall_stripes, surfaces.wall_dots,
    surfaces.wall_diamonds, surfaces.weave, surfaces.tweed, surfaces.knit, surfaces.plain_cloth,
    surfaces.cloth_stripes, surfaces.cloth_checks, surfaces.leather, surfaces.brushed, surfaces.glaze,
    surfaces.marble, surfaces.granite, surfaces.wicker, surfaces.cardboard, surfaces.leaves, surfaces.mirror,
)  # fmt: skip
PICTURES: tuple[Callable[[Draw], Array], ...] = (
    pictures.landscape, pictures.seascape, pictures.abstract, pictures.shapes, pictures.stripes_art,
    pictures.flowers, pictures.portrait, pictures.animal, pictures.programme, pictures.desktop, pictures.dial,
    pictures.rug_border, pictures.rug_stripes, pictures.rug_diamonds, pictures.view,
)  # fmt: skip

PATTERNS = {maker.__name__.replace("_", " "): maker for maker in (*SURFACES, *PICTURES)}
ONCE = frozenset(maker.__name__.replace("_", " ") for maker in PICTURES)

_DECODED = np.array([v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in np.arange(256) / 255])


@lru_cache(maxsize=512)
def texture(pattern: str, variant: int) -> Texture:
    """The picture of a pattern."""
    draw = Draw(variant, "texture", pattern, split="unseen" if variant % 2 else "seen")
    values = PATTERNS[pattern](draw)
    if values.ndim == 2:
        values = np.repeat(values[..., None], 3, axis=-1)
    pixels = np.full((*values.shape[:2], 4), 255, np.uint8)
    pixels[..., :3] = (np.clip(values, 0, 1) * 255 + 0.5).astype(np.uint8)
    pixels.setflags(write=False)
    wrap = Wrap.CLAMP if pattern in ONCE and pattern != "view" else Wrap.REPEAT
    return Texture(pixels=pixels, wrap_u=wrap, wrap_v=wrap)


@lru_cache(maxsize=512)
def mean_light(pattern: str, variant: int) -> Vec3:
    """The linear colour of the texture seen from afar: what a material's colour must make up for."""
    pixels = texture(pattern, variant).pixels
    counts = [np.bincount(pixels[..., channel].ravel(), minlength=256) for channel in range(3)]
    red, green, blue = (round(float((count * _DECODED).sum() / count.sum()), 4) for count in counts)
    return red, green, blue
