"""Colours that have a name, so that "the red sofa" means the same to the generator and to a person.

Each name has several shades; a split uses every other one. Shades of one name stay close enough that
nobody would give them another name.
"""

from functools import lru_cache

from nav_eval.records.geometry import Vec3
from nav_eval_worlds.randomness import RandomStream

SHADES: dict[str, tuple[str, ...]] = {
    "white": ("f1efeb", "f5f4f2", "eceae6", "f3f2ee"),
    "light grey": ("c6c7c9", "cfd0d2", "bdbec1", "c9cacb"),
    "grey": ("8b8d90", "949699", "828588", "8f9194"),
    "dark grey": ("4b4d51", "535559", "434549", "4f5155"),
    "black": ("202022", "262629", "1b1b1d", "232325"),
    "beige": ("d9c7a6", "dfcfb2", "d1be9c", "e1d3b8"),
    "light brown": ("ba8c5d", "c29664", "af8254", "b98f63"),
    "brown": ("7b5336", "855a3b", "704b31", "80573a"),
    "dark brown": ("47311f", "4e3624", "3f2b1b", "4a3323"),
    "red": ("b4262b", "bf362f", "a21d2d", "b92e31"),
    "orange": ("dc762b", "e0842e", "d06b1e", "db7c33"),
    "yellow": ("e3ba3b", "eac94f", "dbae2b", "e6c145"),
    "green": ("5b9650", "52905a", "679f5a", "5a9457"),
    "dark green": ("2c5237", "2f573f", "274a30", "2b4f3a"),
    "light green": ("c8dcbc", "cfe1c5", "bfd6b3", "cbdec2"),
    "light yellow": ("f1e6b8", "f4eac4", "ebdfab", "f2e8bf"),
    "light pink": ("eed3d3", "f1dadb", "e8c9ca", "efd7d6"),
    "teal": ("2c8084", "34898a", "256f78", "318087"),
    "light blue": ("9cc4de", "a8cee5", "8eb9d9", "a1c8e0"),
    "blue": ("3062ab", "3a6dbb", "2a569e", "3567b2"),
    "dark blue": ("1f3058", "243760", "1a2a4d", "22345a"),
    "purple": ("6c4b95", "76569d", "60408a", "704f98"),
    "pink": ("dd90a9", "e49eb2", "d5839e", "e097ae"),
    "gold": ("c9a24a", "cfa954", "c19a41", "caa450"),
}

VIVID = ("red", "orange", "yellow", "green", "dark green", "teal", "blue", "light blue", "dark blue", "purple", "pink")
NEUTRAL = ("white", "light grey", "grey", "dark grey", "beige")


def choose_shade(colour: str, draw: RandomStream) -> str:
    return draw.choose_pooled(SHADES[colour])


@lru_cache(maxsize=1024)
def to_linear(hex_shade: str) -> Vec3:
    """Linear light of an sRGB shade."""
    red, green, blue = (decode_srgb(int(hex_shade[n : n + 2], 16) / 255) for n in (0, 2, 4))
    return red, green, blue


def decode_srgb(value: float) -> float:
    """sRGB to linear, rounded past the last bits in which libraries differ."""
    light = value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
    return round(light, 6)
