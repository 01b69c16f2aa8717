"""What surfaces are made of: finishes, and the materials and textures of a scene that show them.

A finish is a value: it names its texture, it does not hold it. A material is called `category/slot/kind`, e.g.
`sofa/body/fabric`: enough to give it another look later, also after a trip through a file, without knowing how the
house was made. Light is in the vertex colours (see `light`), so materials are unlit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import AlphaMode, Material, Texture
from nav_eval_worlds.colours import NEUTRAL, VIVID, choose_shade, to_linear
from nav_eval_worlds.palettes import weigh_colours
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.textures.outlooks import OUTLOOKS
from nav_eval_worlds.textures.texture import ONCE, compute_mean_light, make_texture
from nav_eval_worlds.textures.wear import CAN_WEAR, WORN

#: a kind of finish, several kinds to draw one of, or a kind with the colours that it may have
FinishChoice = str | tuple[str, ...] | Mapping[str, tuple[str, ...]]
FINISH_DRAWS = 4  #: numbers that drawing a finish takes
VARIANTS = 8  #: textures of each pattern; a split sees half of them


@dataclass(frozen=True, slots=True)
class FinishKind:
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
        return FINISH_KINDS[self.kind].material


@dataclass(frozen=True, slots=True)
class ModelFinish(Finish):
    """The surface of somebody's own model, with the look that its file gives it."""

    word: str = ""  #: for its material
    look: Material = field(default_factory=Material, compare=False)
    picture: Texture | None = field(default=None, compare=False)

    @property
    def material(self) -> str:
        return self.word


_FABRIC = (*VIVID, *NEUTRAL, "brown")
_WOOD = ("light brown", "brown", "dark brown")
_PALE = ("light blue", "light green", "light yellow", "light pink")
_FIT = ("white",)

FINISH_KINDS = {
    kind.name: kind
    for kind in (
        FinishKind("fabric", "fabric", _FABRIC, ("weave", "tweed", "knit")),
        FinishKind("leather", "leather", ("brown", "dark brown", "black", "white", "red", "beige"), ("leather",)),
        FinishKind("cloth", "fabric", _FABRIC, ("weave", "plain cloth")),
        FinishKind("linen", "fabric", ("white", "beige", "light grey", "light blue", "pink"), ("plain cloth",)),
        FinishKind("striped", "fabric", (*VIVID, "grey", "beige"), ("cloth stripes", "cloth checks")),
        FinishKind("wood", "wood", _WOOD, ("grain",)),
        FinishKind(
            "lacquer", "wood", ("white", "light grey", "dark grey", "black", "light blue", "dark green", "dark blue")
        ),
        FinishKind("bright lacquer", "wood", ("red", "yellow", "green", "blue", "orange", "teal", "white")),
        FinishKind("metal", "metal", ("light grey", "grey", "black"), ("brushed",)),
        FinishKind("chrome", "metal", ("light grey",)),
        FinishKind("brass", "metal", ("gold",)),
        FinishKind("plastic", "plastic", (*VIVID, "white", "grey", "black")),
        FinishKind("enamel", "metal", ("white", "light grey", "dark grey", "black")),
        FinishKind("ceramic", "ceramic", ("white",)),
        FinishKind("pottery", "ceramic", (*VIVID, "white", "beige", "brown", "black"), ("glaze",)),
        FinishKind("glassware", "glass", ("green", "dark green", "brown", "blue", "light blue", "orange")),
        FinishKind("glass", "glass", ("light blue",), alpha=0.18),
        FinishKind("pane", "glass", ("white",), ("pane",), alpha=0.4),  # later generators
        FinishKind("smudge", "dirt", ("brown",), ("smudge",), alpha=0.45),  # later generators
        FinishKind("stone", "stone", ("white", "grey", "dark grey", "black", "beige"), ("marble", "granite")),
        FinishKind("wicker", "wicker", ("light brown", "brown", "beige"), ("wicker",)),
        FinishKind("cardboard", "cardboard", ("light brown",), ("cardboard",)),
        FinishKind("paper", "paper", ("white",)),
        FinishKind("cover", "paper", (*VIVID, "black", "brown", "white")),
        FinishKind("fruit", "fruit", ("red", "green", "yellow")),  # later generators
        FinishKind("wax", "wax", ("white", "red", "beige", "green")),
        FinishKind("leaf", "plant", ("green", "dark green"), ("leaves",)),
        FinishKind("soil", "soil", ("dark brown",)),
        FinishKind("rubber", "rubber", ("black", "dark grey")),
        FinishKind(
            "car paint", "metal", ("red", "blue", "dark blue", "white", "grey", "black", "dark green", "yellow")
        ),
        FinishKind(
            "shade", "fabric", ("white", "beige", "yellow", "light grey", "orange"), ("plain cloth",), glow=0.55
        ),
        FinishKind("bulb", "glass", ("white",), glow=1.0),
        FinishKind("mirror", "glass", ("light blue",), ("mirror",)),
        FinishKind("painting", "canvas", _FIT, ("landscape", "abstract", "flowers", "shapes")),
        FinishKind("photo", "paper", _FIT, ("portrait", "seascape", "stripes art", "animal")),
        FinishKind("screen", "glass", ("black",), ("programme", "desktop"), unlit=True),
        FinishKind("dial", "paper", _FIT, ("dial",)),
        FinishKind(
            "rug",
            "fabric",
            (*VIVID, "beige", "grey", "dark grey", "brown"),
            ("rug border", "rug stripes", "rug diamonds"),
        ),
        FinishKind("view", "glass", _FIT, ("view",), unlit=True),
        FinishKind("outlook", "glass", _FIT, tuple(OUTLOOKS), unlit=True),
        # floors, walls and ceilings
        FinishKind("planks", "wood", (*_WOOD, "beige", "grey"), ("planks", "wide planks", "parquet")),
        FinishKind("floor tiles", "tile", NEUTRAL, ("tiles", "large tiles", "checker tiles")),
        FinishKind(
            "carpet",
            "carpet",
            ("beige", "grey", "light grey", "brown", "light blue", "dark green", "pink"),
            ("carpet",),
        ),
        FinishKind("concrete", "concrete", ("grey", "light grey"), ("concrete",)),
        FinishKind("paint", "plaster", ("white", "beige", "light grey", *_PALE), ("plaster",)),
        FinishKind(
            "accent paint", "plaster", ("teal", "green", "orange", "dark blue", "red", "yellow", "grey"), ("plaster",)
        ),
        FinishKind(
            "wallpaper", "wallpaper", ("beige", "light grey", *_PALE), ("wall stripes", "wall dots", "wall diamonds")
        ),
        FinishKind(
            "wall tiles",
            "tile",
            ("white", "beige", "light grey", "teal", *_PALE),
            ("subway tiles", "square tiles", "mosaic"),
        ),
        FinishKind("brick", "brick", ("red", "light brown"), ("brick",)),
        FinishKind("ceiling", "plaster", ("white",), ("plaster",)),
        FinishKind("trim", "wood", ("white", "light brown", "brown", "dark brown", "dark grey")),
    )
}


def make_finish(kind: str, draw: RandomStream, colours: Sequence[str] = (), patterns: Sequence[str] = ()) -> Finish:
    """A finish of this kind, from all or from some of its colours and patterns."""
    kind = _LATER_KINDS.get(kind, kind) if draw.generator != FIRST_GENERATOR else kind
    family = FINISH_KINDS[kind]
    colour = _choose_colour(kind, tuple(colours or family.colours), draw)
    pattern = draw.choice(patterns or family.patterns)
    variant = draw.choose_pooled(range(VARIANTS)) if pattern else 0
    if draw.generator != FIRST_GENERATOR and pattern in CAN_WEAR and draw.chance(draw.style.wear):
        pattern += WORN
    return Finish(kind, colour, choose_shade(colour, draw), pattern, variant)


_LATER_KINDS = {"glass": "pane"}  #: what later generators use instead


def _choose_colour(kind: str, colours: tuple[str, ...], draw: RandomStream) -> str:
    """Any colour as often as the others, or in later generators as often as the house's style has it."""
    if draw.generator == FIRST_GENERATOR:
        return draw.choice(colours)
    return draw.choose_weighted(weigh_colours(kind, colours, draw.style))


def make_finishes(draw: RandomStream, **slots: FinishChoice) -> dict[str, Finish]:
    """A finish for each slot, drawn in this order."""
    finishes = {}
    for slot, choice in slots.items():
        if isinstance(choice, Mapping):
            ((kind, colours),) = choice.items()
        else:
            kind, colours = choice if isinstance(choice, str) else draw.choice(choice), ()
        finishes[slot] = make_finish(kind, draw, colours)
    return finishes


def make_neutral_finish(kind: str, draw: RandomStream) -> Finish:
    return make_finish(kind, draw, [colour for colour in FINISH_KINDS[kind].colours if colour in NEUTRAL])


@dataclass
class Palette:
    """The materials and textures collected so far, each only once."""

    materials: list[Material] = field(default_factory=list)
    textures: list[Texture] = field(default_factory=list)
    _materials: dict[tuple[str, str, Finish], int] = field(default_factory=dict)
    _textures: dict[tuple[str, int], int] = field(default_factory=dict)

    def material(self, category: str, slot: str, finish: Finish) -> int:
        """The index of the material for this slot."""
        key = (category, slot, finish)
        if key not in self._materials:
            self._materials[key] = len(self.materials)
            self.materials.append(self._make_material(f"{category}/{slot}/{finish.kind}", finish))
        return self._materials[key]

    def _make_material(self, name: str, finish: Finish) -> Material:
        if isinstance(finish, ModelFinish):
            return replace(finish.look, name=name, texture=self._add_picture(finish.picture), unlit=True)
        return _make_look(name, finish, self._texture(finish))

    def _add_picture(self, picture: Texture | None) -> int | None:
        if picture is None:
            return None
        self.textures.append(picture)
        return len(self.textures) - 1

    def _texture(self, finish: Finish) -> int | None:
        if not finish.pattern:
            return None
        key = (finish.pattern, finish.variant)
        if key not in self._textures:
            self._textures[key] = len(self.textures)
            self.textures.append(make_texture(*key))
        return self._textures[key]


def get_finish_kind(material: Material) -> str:
    """The kind of finish, from the material's name; empty for materials of other scenes."""
    parts = material.name.split("/")
    return parts[2] if len(parts) == 3 and parts[2] in FINISH_KINDS else ""


def get_slot(material: Material) -> str:
    parts = material.name.split("/")
    return parts[1] if len(parts) == 3 else ""


@lru_cache(maxsize=4096)
def dress_material(name: str, finish: Finish) -> tuple[Material, tuple[Texture, ...]]:
    """A material of this name alone, and its texture, which is number 0, if it has one."""
    look = _make_look(name, finish, 0 if finish.pattern else None)
    return look, (make_texture(finish.pattern, finish.variant),) if finish.pattern else ()


def _make_look(name: str, finish: Finish, texture: int | None) -> Material:
    kind = FINISH_KINDS[finish.kind]
    red, green, blue = _compute_tint(finish)
    return Material(
        name=name,
        base_color=(red, green, blue, kind.alpha),
        texture=texture,
        unlit=True,
        alpha_mode=AlphaMode.BLEND if kind.alpha < 1 else AlphaMode.OPAQUE,
    )


@lru_cache(maxsize=4096)
def _compute_tint(finish: Finish) -> Vec3:
    """The factor that makes the texture show the finish's shade on average; pictures keep their own colours."""
    if finish.pattern in ONCE and not finish.pattern.startswith("rug"):
        return 1.0, 1.0, 1.0
    shade = to_linear(finish.shade)
    if not finish.pattern:
        return shade
    mean = compute_mean_light(finish.pattern, finish.variant)
    # one brightness for all channels, so that a grey texture keeps the hue
    brightness = sum(mean) / 3
    # never above one in any channel: darker rather than of another hue
    brightness = max(brightness, *shade)
    red, green, blue = (round(channel / brightness, 5) for channel in shade)
    return red, green, blue
