"""Light that falls on lit surfaces: a file's own lamps, or a plain light where it has none.

Unlit surfaces (scans, generated houses) never come here. Dull surfaces under light that is the same everywhere look
the same from everywhere: their light is folded into the tints of their vertices and costs nothing when they are drawn.
All others are shaded pixel by pixel (`shaders`).
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_uncounted_kernel
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import MATTE, MOST_LAMPS, ROOM, Light, Material, Scene
from nav_eval.simulator.rendering.surroundings import ONCE_MIRRORED, compute_surroundings

SKY: Vec3 = (0.5, 0.5, 0.5)
"""What a white surface that looks up gets from everywhere, where a file has no lamps,"""
GROUND: Vec3 = (0.3, 0.3, 0.3)
"""and one that looks down; in between it is mixed by the height of the normal."""
SUN = Light(kind="sun", intensity=0.52 * math.pi, direction=(-0.44, -0.575, -0.69))
"""From above, in front and to the right."""
BLACK: Vec3 = (0.0, 0.0, 0.0)
AMBIENT_BESIDE_LAMPS = 0.2
"""Of the light from everywhere that is left where a file has lamps of its own."""
DULL = 0.75
"""Roughness from which on highlights of what is not metal are too weak and wide to be told from plain light;"""
SHEEN, MEAN_FACING = 0.025, 0.7
"""this is their strength, for a lobe as wide as that (GGX at a roughness of 1), seen at an angle of 45 degrees."""
BRIGHTEST_FOLDED = 1.05
"""Light that a picture's bytes may be multiplied by: where it is a little more than 1, nobody sees that it is cut."""

LAMP = np.dtype([
    ("position", "<f4", 3), ("range", "<f4"), ("direction", "<f4", 3), ("outer", "<f4"),
    ("color", "<f4", 3), ("inner", "<f4"),
])  # fmt: skip
"""A lamp as the shader reads it: cosines of a spot's cones, range 0 for none, position unused by suns."""
_NO_CONE = (-2.0, -1.5)  # cosines that every direction is within


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Lighting:
    """All light of a scene."""

    sky: Vec3  #: factor on the colour of what looks up,
    ground: Vec3  #: and down
    lamps: NDArray[np.void]  #: dtype `LAMP`, suns first
    suns: int
    surroundings: bool = False  #: a bright room instead of sky and ground; `sky` is its colour

    @property
    def is_uniform(self) -> bool:
        """The same at every place."""
        return len(self.lamps) == self.suns

    @property
    def can_fold(self) -> bool:
        """Whether it may become a factor on a picture's bytes, which cannot be brighter than they are."""
        brightest = max(self.sky) + float(self.lamps["color"][: self.suns].max(axis=1, initial=0.0).sum()) / math.pi
        return self.is_uniform and not self.surroundings and brightest < BRIGHTEST_FOLDED


class FacingShares(NamedTuple):
    """What of light that is the same everywhere falls on dull surfaces, by way of facing; kernels take it whole.

    Lights that grow stronger, weaker or another colour leave it as it is: finding it takes most of the time.
    """

    up: NDArray[np.float64]  #: N, how much each looks at the sky
    around: NDArray[np.float64]  #: N, of bright surroundings, where there are any
    suns: NDArray[np.float64]  #: S × N, cosines; 0 for what is turned away
    lobes: NDArray[np.float64]  #: S × N, what is mirrored on top

    @classmethod
    def over(cls, normals: NDArray[np.float64], lighting: Lighting) -> "FacingShares":
        suns = np.zeros((lighting.suns, len(normals)))
        for number, sun in enumerate(lighting.lamps[: lighting.suns]):
            suns[number] = _compute_facing(normals, sun)
        around = compute_surroundings(normals, 1.0) if lighting.surroundings else np.zeros(len(normals))
        return cls(0.5 + 0.5 * normals[:, 1], around, suns, SHEEN * suns / (suns + MEAN_FACING))

    def add_up(self, lighting: Lighting) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Under lights from the same directions: factors on the colours of dull surfaces, and what they mirror on top.

        Mirrored light is the mean over where one may stand; it is the same whatever the colour.
        """
        light, sheen = np.empty((len(self.up), 3)), np.empty((len(self.up), 3))
        colors = lighting.lamps["color"][: lighting.suns].astype(np.float64) / math.pi
        everywhere = np.array([lighting.sky, lighting.ground], dtype=np.float64)
        _add_up(self, lighting.surroundings, everywhere, colors, light, sheen)
        return light, sheen


@compile_uncounted_kernel
def _add_up(
    shares: FacingShares,
    surroundings: bool,
    everywhere: NDArray[np.float64],
    colors: NDArray[np.float64],
    light: NDArray[np.float64],
    sheen: NDArray[np.float64],
) -> None:
    for i in range(len(light)):
        for k in range(3):
            sky, ground = everywhere[0, k], everywhere[1, k]
            if surroundings:
                diffuse, mirrored = ONCE_MIRRORED * shares.around[i] * sky, (1 - ONCE_MIRRORED) * shares.around[i] * sky
            else:
                diffuse, mirrored = shares.up[i] * sky + (1 - shares.up[i]) * ground, 0.0
            for sun in range(len(colors)):
                diffuse += shares.suns[sun, i] * colors[sun, k]
                mirrored += shares.lobes[sun, i] * colors[sun, k]
            light[i, k], sheen[i, k] = diffuse, mirrored


def _compute_facing(normals: NDArray[np.float64], sun: np.void) -> NDArray[np.float64]:
    """Cosines; 0 for what is turned away."""
    cosines = -(normals @ np.asarray(sun["direction"], dtype=np.float64))
    return np.asarray(np.clip(cosines, 0.0, None))


def choose_lighting(scene: Scene) -> Lighting:
    """The scene's lamps and little else, or the plain light; or a bright room, and the lamps."""
    lights = [light for light in scene.lights if not light.baked and light.intensity > 0]
    room = next((light for light in lights if light.kind == ROOM), None)
    lamps = [light for light in lights if light.kind != ROOM]
    share = AMBIENT_BESIDE_LAMPS if lamps else 1.0
    if room is None:
        lamps = lamps or [SUN]
    lamps = sorted(lamps, key=lambda light: light.kind != "sun")
    if len(lamps) > MOST_LAMPS:
        brightest = sorted(range(len(lamps)), key=lambda i: -lamps[i].intensity)[:MOST_LAMPS]
        lamps = [lamps[i] for i in sorted(brightest)]
    return Lighting(
        sky=_scale(SKY, share) if room is None else _scale(room.color, room.intensity),
        ground=_scale(GROUND, share) if room is None else BLACK,
        surroundings=room is not None,
        lamps=np.array([_describe_lamp(lamp) for lamp in lamps], dtype=LAMP),
        suns=sum(lamp.kind == "sun" for lamp in lamps),
    )


def is_dull(material: Material) -> bool:
    """Whether it looks the same from everywhere."""
    shading = material.shading
    glows_over_a_picture = material.texture is not None and any(material.emissive)
    has_maps = len(material.maps) > (material.texture is not None)
    is_rough = shading.metallic == 0.0 and shading.roughness >= DULL
    is_bare = (shading.coat, shading.sheen, shading.reflectance) == (MATTE.coat, MATTE.sheen, MATTE.reflectance)
    return is_rough and is_bare and shading.transmission == 0.0 and not (has_maps or glows_over_a_picture)


def describe_lighting(lighting: Lighting) -> dict[str, Any]:
    """For a file: everything but the lamps, which are an array of their own."""
    return {
        "sky": lighting.sky,
        "ground": lighting.ground,
        "suns": lighting.suns,
        "surroundings": lighting.surroundings,
    }


def _describe_lamp(lamp: Light) -> tuple[Any, ...]:
    outer, inner = _NO_CONE
    if lamp.kind == "spot":
        outer, inner = math.cos(lamp.outer_cone), math.cos(min(lamp.inner_cone, lamp.outer_cone - 1e-3))
    reach = lamp.range if math.isfinite(lamp.range) else 0.0
    length = math.hypot(*lamp.direction) or 1.0
    direction = tuple(value / length for value in lamp.direction)
    return (lamp.position, reach, direction, outer, _scale(lamp.color, lamp.intensity), inner)


def _scale(color: Vec3, factor: float) -> Vec3:
    red, green, blue = color
    return red * factor, green * factor, blue * factor
