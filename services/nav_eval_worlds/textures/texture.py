"""Textures by name: painted by code on first use, then shared by all houses of a process.

A texture is a function of (pattern, variant) alone. Variants are even for seen and odd for unseen
houses, so the two splits share no picture.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Texture, Wrap
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.textures import pictures, surfaces
from nav_eval_worlds.textures.outlooks import OUTLOOKS
from nav_eval_worlds.textures.surfaces import Array
from nav_eval_worlds.textures.texture_store import load_or_paint
from nav_eval_worlds.textures.wear import WORN, make_worn_patterns

SURFACES: dict[str, Callable[[RandomStream], Array]] = {
    "grain": surfaces.paint_grain,
    "planks": surfaces.paint_planks,
    "wide planks": surfaces.paint_wide_planks,
    "parquet": surfaces.paint_parquet,
    "tiles": surfaces.paint_tiles,
    "large tiles": surfaces.paint_large_tiles,
    "checker tiles": surfaces.paint_checker_tiles,
    "square tiles": surfaces.paint_square_tiles,
    "mosaic": surfaces.paint_mosaic,
    "subway tiles": surfaces.paint_subway_tiles,
    "brick": surfaces.paint_brick,
    "carpet": surfaces.paint_carpet,
    "concrete": surfaces.paint_concrete,
    "plaster": surfaces.paint_plaster,
    "wall stripes": surfaces.paint_wall_stripes,
    "wall dots": surfaces.paint_wall_dots,
    "wall diamonds": surfaces.paint_wall_diamonds,
    "weave": surfaces.paint_weave,
    "tweed": surfaces.paint_tweed,
    "knit": surfaces.paint_knit,
    "plain cloth": surfaces.paint_plain_cloth,
    "cloth stripes": surfaces.paint_cloth_stripes,
    "cloth checks": surfaces.paint_cloth_checks,
    "leather": surfaces.paint_leather,
    "brushed": surfaces.paint_brushed,
    "glaze": surfaces.paint_glaze,
    "marble": surfaces.paint_marble,
    "granite": surfaces.paint_granite,
    "wicker": surfaces.paint_wicker,
    "cardboard": surfaces.paint_cardboard,
    "leaves": surfaces.paint_leaves,
    "mirror": surfaces.paint_mirror,
    "pane": surfaces.paint_pane,
}
PICTURES: dict[str, Callable[[RandomStream], Array]] = {
    "landscape": pictures.paint_landscape,
    "seascape": pictures.paint_seascape,
    "abstract": pictures.paint_abstract,
    "shapes": pictures.paint_shapes,
    "stripes art": pictures.paint_stripes_art,
    "flowers": pictures.paint_flowers,
    "portrait": pictures.paint_portrait,
    "animal": pictures.paint_animal,
    "programme": pictures.paint_programme,
    "desktop": pictures.paint_desktop,
    "dial": pictures.paint_dial,
    "rug border": pictures.paint_rug_border,
    "rug stripes": pictures.paint_rug_stripes,
    "rug diamonds": pictures.paint_rug_diamonds,
    "view": pictures.paint_view,
    "smudge": pictures.paint_smudge,
}

WORN_PATTERNS = make_worn_patterns(SURFACES, PICTURES)
PATTERNS = SURFACES | PICTURES | OUTLOOKS | WORN_PATTERNS
ONCE = frozenset(PICTURES) | frozenset(OUTLOOKS) | {name + WORN for name in PICTURES}
_PANORAMAS = frozenset(("view", *OUTLOOKS))  #: which go on beside their edges

_DECODED = np.array([v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in np.arange(256) / 255])


@lru_cache(maxsize=512)
def make_texture(pattern: str, variant: int) -> Texture:
    """The picture of a pattern."""
    pixels = load_or_paint(pattern, variant, lambda: _paint(pattern, variant))
    wrap = Wrap.CLAMP if pattern in ONCE - _PANORAMAS else Wrap.REPEAT
    return Texture(pixels=pixels, wrap_u=wrap, wrap_v=wrap)


def _paint(pattern: str, variant: int) -> NDArray[np.uint8]:
    draw = RandomStream(variant, "texture", pattern, split="unseen" if variant % 2 else "seen")
    values = PATTERNS[pattern](draw)
    if values.ndim == 2:
        values = np.repeat(values[..., None], 3, axis=-1)
    pixels = np.full((*values.shape[:2], 4), 255, np.uint8)
    pixels[..., : values.shape[2]] = (np.clip(values, 0, 1) * 255 + 0.5).astype(np.uint8)
    return pixels


@lru_cache(maxsize=512)
def compute_mean_light(pattern: str, variant: int) -> Vec3:
    """The linear colour of the texture seen from afar: what a material's colour must make up for."""
    pixels = make_texture(pattern, variant).pixels
    counts = [np.bincount(pixels[..., channel].ravel(), minlength=256) for channel in range(3)]
    red, green, blue = (round(float((count * _DECODED).sum() / count.sum()), 4) for count in counts)
    return red, green, blue
