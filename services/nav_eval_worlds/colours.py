"""Colours that have a name, so that "the red sofa" means the same to the generator and to a person.

Each name has several shades; a split uses every other one. Shades of one name stay close enough that
nobody would give them another name.
"""

from functools import lru_cache

from nav_eval.generator_version import FIRST_GENERATOR
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

#: what later generators use instead: the strong colours as they are on cloth, paint and wood
MUTED: dict[str, tuple[str, ...]] = {
    "red": ("9b3f3a", "a54840", "8f3635", "a0443f"),
    "orange": ("c8793f", "cc8248", "bd6f38", "c67c45"),
    "yellow": ("d9b65c", "dfbe68", "cfab52", "d8b865"),
    "green": ("6f9463", "69905f", "78996b", "6c9266"),
    "dark green": ("33503c", "38553f", "2d4835", "354f3d"),
    "teal": ("3d7a7b", "447f7f", "367073", "3f7a7d"),
    "light blue": ("a9c5d6", "b3cddc", "9fbdd0", "adc8d8"),
    "blue": ("43699c", "4b71a5", "3c6092", "466c9f"),
    "dark blue": ("26375a", "2b3c60", "213151", "29395d"),
    "purple": ("70588c", "785f93", "674f83", "735b8f"),
    "pink": ("d4a0ab", "daa9b3", "cc96a2", "d6a4ae"),
    "light green": ("d3ddca", "d9e2d1", "cbd7c1", "d6dfce"),
    "light yellow": ("f0e8cb", "f3ecd4", "eae1c0", "f1eace"),
    "light pink": ("ecdbd9", "f0e2e0", "e6d2d0", "eedfdc"),
}

VIVID = ("red", "orange", "yellow", "green", "dark green", "teal", "blue", "light blue", "dark blue", "purple", "pink")
NEUTRAL = ("white", "light grey", "grey", "dark grey", "beige")


def choose_shade(colour: str, draw: RandomStream) -> str:
    later = draw.generator != FIRST_GENERATOR and colour in MUTED
    return draw.choose_pooled(MUTED[colour] if later else SHADES[colour])


@lru_cache(maxsize=1024)
def to_linear(hex_shade: str) -> Vec3:
    """Linear light of an sRGB shade."""
    red, green, blue = (decode_srgb(int(hex_shade[n : n + 2], 16) / 255) for n in (0, 2, 4))
    return red, green, blue


def decode_srgb(value: float) -> float:
    """sRGB to linear, rounded past the last bits in which libraries differ."""
    light = value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
    return round(light, 6)
