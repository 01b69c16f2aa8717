"""Colours that people really have at home: calm ones, a few strong ones, and in one house those that go together.

A palette says for a kind of finish how often each colour is chosen. What no palette names is chosen rarely.
"""

from collections.abc import Mapping
from dataclasses import replace

from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.style import HouseStyle

RARELY = 0.12  #: weight of a colour that a palette does not name

Palette = Mapping[str, Mapping[str, float]]

_EVERYWHERE: Palette = {
    "fabric": {
        "beige": 3,
        "light grey": 3,
        "grey": 3,
        "dark grey": 2,
        "white": 1.5,
        "brown": 1,
        "dark blue": 1,
        "dark green": 0.8,
        "teal": 0.4,
        "blue": 0.4,
    },
    "leather": {"brown": 3, "dark brown": 2, "black": 2, "beige": 1.5, "white": 0.6},
    "cloth": {
        "white": 3,
        "beige": 3,
        "light grey": 2.5,
        "grey": 1.5,
        "dark blue": 0.8,
        "light blue": 0.8,
        "dark green": 0.5,
        "brown": 0.5,
    },
    "linen": {"white": 4, "beige": 2, "light grey": 2, "light blue": 0.5},
    "striped": {"grey": 3, "beige": 3, "dark blue": 1.5, "blue": 0.8, "light blue": 1, "dark green": 0.6, "red": 0.4},
    "wood": {"light brown": 3, "brown": 2, "dark brown": 1},
    "lacquer": {
        "white": 5,
        "light grey": 2.5,
        "dark grey": 1.2,
        "black": 0.7,
        "dark green": 0.5,
        "dark blue": 0.5,
        "light blue": 0.3,
    },
    "bright lacquer": {"white": 4, "dark blue": 1, "teal": 0.5, "green": 0.4, "red": 0.4, "yellow": 0.3},
    "plastic": {"white": 3, "grey": 2, "black": 2},
    "pottery": {"white": 4, "beige": 2.5, "brown": 1, "black": 0.6, "blue": 0.5, "teal": 0.4, "dark green": 0.4},
    "glassware": {"green": 1, "dark green": 1.5, "brown": 1, "light blue": 1.5},
    "enamel": {"white": 4, "light grey": 2.5, "dark grey": 1, "black": 1},
    "cover": {
        "dark blue": 2,
        "brown": 2,
        "white": 2,
        "black": 1.5,
        "red": 1,
        "dark green": 1.2,
        "blue": 1,
        "yellow": 0.6,
        "orange": 0.6,
        "teal": 0.8,
    },
    "rug": {
        "beige": 3,
        "grey": 3,
        "dark grey": 1.5,
        "brown": 1.5,
        "dark blue": 1,
        "red": 0.7,
        "dark green": 0.5,
        "light blue": 0.6,
    },
    "planks": {"light brown": 3, "brown": 2, "dark brown": 0.8, "beige": 1.5, "grey": 0.8},
    "floor tiles": {"light grey": 3, "beige": 2.5, "grey": 2, "white": 1.5, "dark grey": 1},
    "carpet": {"beige": 3, "grey": 2.5, "light grey": 3, "brown": 1},
    "paint": {
        "white": 5,
        "beige": 2.5,
        "light grey": 2.5,
        "light blue": 0.3,
        "light green": 0.3,
        "light yellow": 0.4,
        "light pink": 0.2,
    },
    "accent paint": {"grey": 2.5, "dark blue": 1.2, "teal": 0.8, "green": 0.8, "yellow": 0.3},
    "wallpaper": {
        "beige": 3,
        "light grey": 3,
        "light blue": 0.8,
        "light green": 0.7,
        "light yellow": 0.5,
        "light pink": 0.4,
    },
    "wall tiles": {"white": 5, "light grey": 2.5, "beige": 2, "light blue": 0.5, "light green": 0.4},
    "trim": {"white": 4, "light brown": 1.5, "brown": 1, "dark brown": 0.6},
    "car paint": {"grey": 3, "white": 3, "black": 0.0, "dark blue": 1.5, "blue": 1, "red": 1},  # black is a silhouette
    "shade": {"white": 4, "beige": 3, "light grey": 1},
    "stone": {"white": 2, "grey": 2, "dark grey": 1.5, "black": 1, "beige": 1.5},
}

_OWN: dict[str, Palette] = {
    "nordic": {
        "wood": {"light brown": 6, "brown": 0.6},
        "planks": {"light brown": 3, "beige": 3, "grey": 0.6},
        "fabric": {
            "light grey": 4,
            "grey": 3,
            "white": 2,
            "beige": 2,
            "light blue": 1,
            "dark blue": 0.7,
            "green": 0.6,
            "pink": 0.4,
        },
        "lacquer": {"white": 6, "light grey": 2, "light blue": 0.6},
        "paint": {"white": 7, "light grey": 2, "beige": 1},
        "accent paint": {"grey": 2, "teal": 1, "green": 1, "dark blue": 0.6},
        "rug": {"light grey": 1, "grey": 3, "beige": 3, "light blue": 1, "dark blue": 0.6},
    },
    "classic": {
        "wood": {"dark brown": 3, "brown": 4, "light brown": 0.5},
        "planks": {"brown": 3, "dark brown": 2, "light brown": 1},
        "fabric": {"beige": 3, "brown": 2, "dark green": 1.5, "red": 1, "dark blue": 1.5, "white": 1},
        "leather": {"brown": 3, "dark brown": 3, "red": 0.6},
        "rug": {"red": 3, "brown": 2, "dark blue": 2, "beige": 2},
        "wallpaper": {"beige": 4, "light yellow": 1.5, "light green": 1},
        "trim": {"white": 2, "brown": 2, "dark brown": 2},
        "accent paint": {"dark blue": 1, "red": 0.5, "green": 1, "grey": 1},
    },
    "modern": {
        "wood": {"light brown": 2, "brown": 1.5, "dark brown": 1.5},
        "planks": {"grey": 2, "light brown": 2, "beige": 1},
        "fabric": {"grey": 4, "dark grey": 3, "light grey": 3, "white": 2, "black": 0.5, "teal": 0.4, "yellow": 0.3},
        "leather": {"black": 4, "white": 2, "brown": 1, "beige": 1},
        "lacquer": {"white": 5, "light grey": 2, "dark grey": 2.5, "black": 1.5},
        "paint": {"white": 6, "light grey": 4},
        "rug": {"grey": 4, "dark grey": 3, "beige": 1},
        "stone": {"white": 3, "dark grey": 2, "black": 2, "grey": 2},
    },
    "industrial": {
        "wood": {"brown": 4, "dark brown": 2, "light brown": 1},
        "planks": {"brown": 2, "grey": 2, "dark brown": 1.5},
        "fabric": {"dark grey": 3, "grey": 3, "brown": 1.5, "beige": 1, "dark blue": 1},
        "leather": {"brown": 5, "dark brown": 3, "black": 2},
        "lacquer": {"black": 2, "dark grey": 3, "white": 2, "light grey": 1},
        "metal": {"black": 4, "grey": 2},
        "paint": {"light grey": 4, "white": 3, "beige": 1},
        "accent paint": {"grey": 4, "dark blue": 1, "teal": 0.5},
        "rug": {"dark grey": 3, "brown": 2, "red": 0.8, "grey": 2},
    },
    "country": {
        "wood": {"light brown": 4, "brown": 2},
        "fabric": {"beige": 4, "white": 2, "light blue": 1, "green": 1, "red": 0.6, "brown": 1},
        "cloth": {"white": 3, "beige": 3, "light blue": 1.5, "red": 0.6, "green": 0.6},
        "striped": {"red": 1.5, "blue": 1.5, "light blue": 1.5, "beige": 2, "green": 1},
        "lacquer": {"white": 5, "light blue": 1.2, "dark green": 1},
        "paint": {"beige": 3, "white": 3, "light yellow": 1.5, "light green": 0.8, "light blue": 0.6},
        "wallpaper": {"light yellow": 1.5, "light green": 1.5, "light blue": 1.5, "beige": 2, "light pink": 1},
        "wall tiles": {"white": 4, "beige": 2, "light blue": 1.2, "light green": 1},
    },
    "colourful": {
        "fabric": {
            "teal": 2,
            "yellow": 1.5,
            "pink": 1.2,
            "orange": 1.2,
            "blue": 1.5,
            "green": 1.2,
            "grey": 2,
            "beige": 2,
            "white": 1,
            "purple": 0.8,
        },
        "cloth": {"white": 2, "yellow": 1, "teal": 1, "orange": 1, "pink": 1, "blue": 1, "beige": 1.5},
        "plastic": {"white": 2, "yellow": 0.8, "teal": 0.8, "red": 0.6, "green": 0.6, "grey": 1.5, "black": 1},
        "lacquer": {"white": 4, "light blue": 1, "dark green": 1, "dark blue": 1},
        "accent paint": {"teal": 1.5, "yellow": 1, "orange": 1, "green": 1.2, "dark blue": 1, "red": 0.4},
        "rug": {"red": 1, "teal": 1, "yellow": 1, "blue": 1, "beige": 2, "pink": 0.8, "purple": 0.6},
        "paint": {"white": 5, "beige": 2, "light yellow": 1, "light blue": 0.8, "light green": 0.8, "light pink": 0.8},
    },
}

#: how many of the surfaces show use, in the oldest house of a style; the newest has a third of it
_WEAR = {"nordic": 0.5, "classic": 0.75, "modern": 0.35, "industrial": 0.95, "country": 0.9, "colourful": 0.7}

HOUSE_STYLES = {
    name: HouseStyle(name=name, wear=_WEAR[name], colours={**_EVERYWHERE, **own}) for name, own in _OWN.items()
}


def draw_house_style(draw: RandomStream) -> HouseStyle:
    style = HOUSE_STYLES[draw.choice(tuple(HOUSE_STYLES))]
    return replace(style, wear=round(style.wear * (0.33 + 0.67 * draw.unit()), 3))


def weigh_colours(kind: str, colours: tuple[str, ...], style: HouseStyle) -> list[tuple[str, float]]:
    """How often each of these colours is chosen for this kind of finish; all alike where no palette says."""
    palette = style.colours.get(kind)
    return [(colour, 1.0 if palette is None else palette.get(colour, RARELY)) for colour in colours]
