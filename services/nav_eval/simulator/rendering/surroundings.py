"""A bright room around the scene (`lighting: environment`): what arrives from any direction, blurred by any roughness.

It is described by a few numbers instead of a picture: walls whose light changes slowly with the direction, and six
lamps, each a round spot that a rougher surface mirrors wider. The numbers are fitted to what three.js' RoomEnvironment
shows after its prefiltering (`python -m bench light` measures how near that comes), whose mean light is 1.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.records.geometry import Vec3

WALLS = 0.657
"""Light of the walls; it falls with the squares of x and z, and a little towards the top."""
WALLS_XX, WALLS_ZZ, WALLS_Y = -0.155, -0.161, -0.088
CONTRAST, CONTRAST_LOST = 1.829, 0.478
"""How much of that is seen in a mirror, and how much less by a dull surface."""
WIDTH, WIDTH_POWER, WIDTH_BOUND = 2.008, 2.091, 2.927
"""How wide (radians) a roughness r mirrors a lamp: WIDTH · q / (1 + WIDTH_BOUND · q), with q = r ^ WIDTH_POWER."""
ONCE_MIRRORED = 0.98
"""Of the light that arrives at a dull surface, what its colour gets; the rest is mirrored."""


class RoomLamp(NamedTuple):
    """A bright spot of the room."""

    direction: Vec3  #: unit length
    flux: float  #: light times solid angle
    width: float  #: radians


ROOM_LAMPS = (
    RoomLamp((0.0, 1.0, 0.0), 0.849, 0.058),
    RoomLamp((-0.026, 0.513, 0.858), 2.985, 0.118),
    RoomLamp((-0.697, 0.623, 0.355), 0.422, 0.057),
    RoomLamp((-0.636, 0.701, -0.322), 0.297, 0.053),
    RoomLamp((0.187, 0.664, -0.724), 0.352, 0.058),
    RoomLamp((0.773, 0.627, -0.093), 0.967, 0.11),
)


def compute_surroundings(ways: NDArray[np.float64], roughness: float) -> NDArray[np.float64]:
    """What a surface of this roughness sees along unit vectors (N × 3); 1 is what a dull one sees all around."""
    x, y, z = ways.T
    spread = roughness**WIDTH_POWER
    width = WIDTH * spread / (1 + WIDTH_BOUND * spread)
    walls = WALLS_XX * x * x + WALLS_Y * y + WALLS_ZZ * z * z
    light: NDArray[np.float64] = WALLS + (CONTRAST - CONTRAST_LOST * roughness) * walls
    for lamp in ROOM_LAMPS:
        sharpness = 1 / (lamp.width**2 + width**2)
        light = light + lamp.flux * sharpness / math.tau * np.exp(sharpness * (ways @ lamp.direction - 1))
    return light


def make_surroundings_source() -> str:
    """GLSL: `look_around(way, roughness)`, the same function."""
    lamps = "\n".join(
        f"    light += shine(dot(way, vec3({x}, {y}, {z})), {lamp.flux}, {lamp.width**2:.6f} + width * width);"
        for lamp in ROOM_LAMPS
        for x, y, z in (lamp.direction,)
    )
    return f"""
float shine(float cosine, float flux, float area) {{
    return flux / (area * {math.tau:.6f}) * exp((cosine - 1.0) / area);
}}
float look_around(vec3 way, float roughness) {{
    float spread = pow(roughness, {WIDTH_POWER});
    float width = {WIDTH} * spread / (1.0 + {WIDTH_BOUND} * spread);
    float walls = {WALLS_XX} * way.x * way.x + {WALLS_Y} * way.y + {WALLS_ZZ} * way.z * way.z;
    float light = {WALLS} + ({CONTRAST} - {CONTRAST_LOST} * roughness) * walls;
{lamps}
    return light;
}}
"""
