"""Finishes: what a surface is made of, which colours it comes in, which patterns it shows.

A finish is a value: it names its texture, it does not hold it. Materials carry the kind of their finish in
their names, so that a scene can be restyled later, also after a trip through a file.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from nav_eval.scene.houses.colours import NEUTRAL, VIVID, shade
from nav_eval.scene.houses.randomness import Draw

VARIANTS = 8  #: textures of each pattern; a split sees half of them


@dataclass(frozen=True, slots=True)
class Kind:
    """A family of finishes."""

    name: str
    material: str  #: the word for it in a sentence
    colours: tuple[str, ...]
    patterns: tuple[str, ...] = ("",)
    alpha: float = 1.0
    glow: float = 0.0  #: emitted part of the base colour
    unlit: bool = False


@dataclass(frozen=True, slots=True)
class Finish:
    """One surface: kind, colour by name and shade, texture by name and number."""

    kind: str
    colour: str
    shade: str
    pattern: str = ""
    variant: int = 0

    @property
    def material(self) -> str:
        return KINDS[self.kind].material


_FABRIC = (*VIVID, "white", "light grey", "grey", "dark grey", "beige", "brown")
_WOOD = ("light brown", "brown", "dark brown")
_PALE = ("light blue", "light green", "light yellow", "light pink")
_FIT = ("white",)

KINDS = {
    kind.name: kind
    for kind in (
        Kind("fabric", "fabric", _FABRIC, ("weave", "tweed", "knit")),
        Kind("leather", "leather", ("brown", "dark brown", "black", "white", "red", "beige"), ("leather",)),
        Kind("cloth", "fabric", _FABRIC, ("weave", "plain cloth")),
        Kind("linen", "fabric", ("white", "beige", "light grey", "light blue", "pink"), ("plain cloth",)),
        Kind("striped", "fabric", (*VIVID, "grey", "beige"), ("cloth stripes", "cloth checks")),
        Kind("wood", "wood", _WOOD, ("grain",)),
        Kind("lacquer", "wood", ("white", "light grey", "dark grey", "black", "light blue", "dark green", "dark blue")),
        Kind("bright lacquer", "wood", ("red", "yellow", "green", "blue", "orange", "teal", "white")),
        Kind("metal", "metal", ("light grey", "grey", "black"), ("brushed",)),
        Kind("chrome", "metal", ("light grey",)),
        Kind("brass", "metal", ("gold",)),
        Kind("plastic", "plastic", (*VIVID, "white", "grey", "black")),
        Kind("enamel", "metal", ("white", "light grey", "dark grey", "black")),
        Kind("ceramic", "ceramic", ("white",)),
        Kind("pottery", "ceramic", (*VIVID, "white", "beige", "brown", "black"), ("glaze",)),
        Kind("glassware", "glass", ("green", "dark green", "brown", "blue", "light blue", "orange")),
        Kind("glass", "glass", ("light blue",), alpha=0.18),
        Kind("stone", "stone", ("white", "grey", "dark grey", "black", "beige"), ("marble", "granite")),
        Kind("wicker", "wicker", ("light brown", "brown", "beige"), ("wicker",)),
        Kind("cardboard", "cardboard", ("light brown",), ("cardboard",)),
        Kind("paper", "paper", ("white",)),
        Kind("cover", "paper", (*VIVID, "black", "brown", "white")),
        Kind("wax", "wax", ("white", "red", "beige", "green")),
        Kind("leaf", "plant", ("green", "dark green"), ("leaves",)),
        Kind("soil", "soil", ("dark brown",)),
        Kind("rubber", "rubber", ("black", "dark grey")),
        Kind("car paint", "metal", ("red", "blue", "dark blue", "white", "grey", "black", "dark green", "yellow")),
        Kind("shade", "fabric", ("white", "beige", "yellow", "light grey", "orange"), ("plain cloth",), glow=0.55),
        Kind("bulb", "glass", ("white",), glow=1.0),
        Kind("mirror", "glass", ("light blue",), ("mirror",)),
        Kind("painting", "canvas", _FIT, ("landscape", "abstract", "flowers", "shapes")),
        Kind("photo", "paper", _FIT, ("portrait", "seascape", "stripes art", "animal")),
        Kind("screen", "glass", ("black",), ("programme", "desktop"), unlit=True),
        Kind("dial", "paper", _FIT, ("dial",)),
        Kind(
            "rug",
            "fabric",
            (*VIVID, "beige", "grey", "dark grey", "brown"),
            ("rug border", "rug stripes", "rug diamonds"),
        ),
        Kind("view", "glass", _FIT, ("view",), unlit=True),
        # floors, walls and ceilings
        Kind("planks", "wood", (*_WOOD, "beige", "grey"), ("planks", "wide planks", "parquet")),
        Kind(
            "floor tiles",
            "tile",
            ("white", "light grey", "grey", "dark grey", "beige"),
            ("tiles", "large tiles", "checker tiles"),
        ),
        Kind(
            "carpet",
            "carpet",
            ("beige", "grey", "light grey", "brown", "light blue", "dark green", "pink"),
            ("carpet",),
        ),
        Kind("concrete", "concrete", ("grey", "light grey"), ("concrete",)),
        Kind("paint", "plaster", ("white", "beige", "light grey", *_PALE), ("plaster",)),
        Kind(
            "accent paint", "plaster", ("teal", "green", "orange", "dark blue", "red", "yellow", "grey"), ("plaster",)
        ),
        Kind("wallpaper", "wallpaper", ("beige", "light grey", *_PALE), ("wall stripes", "wall dots", "wall diamonds")),
        Kind(
            "wall tiles",
            "tile",
            ("white", "beige", "light grey", "teal", *_PALE),
            ("subway tiles", "square tiles", "mosaic"),
        ),
        Kind("brick", "brick", ("red", "light brown"), ("brick",)),
        Kind("ceiling", "plaster", ("white",), ("plaster",)),
        Kind("trim", "wood", ("white", "light brown", "brown", "dark brown", "dark grey")),
    )
}


def finish(kind: str, draw: Draw, colours: Sequence[str] = (), patterns: Sequence[str] = ()) -> Finish:
    """A finish of this kind, from all or from some of its colours and patterns."""
    family = KINDS[kind]
    colour = draw.choice(colours or family.colours)
    pattern = draw.choice(patterns or family.patterns)
    variant = draw.pooled(range(VARIANTS)) if pattern else 0
    return Finish(kind, colour, shade(colour, draw), pattern, variant)


def neutral(kind: str, draw: Draw) -> Finish:
    return finish(kind, draw, [colour for colour in KINDS[kind].colours if colour in NEUTRAL])
