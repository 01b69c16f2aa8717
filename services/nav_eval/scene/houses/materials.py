"""From finishes to the materials and textures of a scene.

A material is called `category/slot/kind`, e.g. `sofa/body/fabric`: enough to give it another look later
without knowing how the house was made. Light is in the vertex colours (see `light`), so materials are unlit.
"""

from dataclasses import dataclass, field

from nav_eval.scene.houses.colours import linear
from nav_eval.scene.houses.finishes import KINDS, Finish
from nav_eval.scene.houses.textures import ONCE, mean_light, texture
from nav_eval.scene.model import AlphaMode, Material, Texture


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
            self.materials.append(self._made(f"{category}/{slot}/{finish.kind}", finish))
        return self._materials[key]

    def _made(self, name: str, finish: Finish) -> Material:
        kind = KINDS[finish.kind]
        red, green, blue = _tint(finish)
        return Material(
            name=name,
            base_color=(red, green, blue, kind.alpha),
            texture=self._texture(finish),
            unlit=True,
            alpha_mode=AlphaMode.BLEND if kind.alpha < 1 else AlphaMode.OPAQUE,
        )

    def _texture(self, finish: Finish) -> int | None:
        if not finish.pattern:
            return None
        key = (finish.pattern, finish.variant)
        if key not in self._textures:
            self._textures[key] = len(self.textures)
            self.textures.append(texture(*key))
        return self._textures[key]


def kind_of(material: Material) -> str:
    """The kind of finish, from the material's name; empty for materials of other scenes."""
    parts = material.name.split("/")
    return parts[2] if len(parts) == 3 and parts[2] in KINDS else ""


def slot_of(material: Material) -> str:
    parts = material.name.split("/")
    return parts[1] if len(parts) == 3 else ""


def _tint(finish: Finish) -> tuple[float, float, float]:
    """The factor that makes the texture show the finish's shade on average; pictures keep their own colours."""
    if finish.pattern in ONCE and not finish.pattern.startswith("rug"):
        return 1.0, 1.0, 1.0
    shade = linear(finish.shade)
    if not finish.pattern:
        return shade
    mean = mean_light(finish.pattern, finish.variant)
    # one brightness for all channels, so that a grey texture keeps the hue
    brightness = sum(mean) / 3
    # never above one in any channel: darker rather than of another hue
    brightness = max(brightness, *shade)
    red, green, blue = (round(channel / brightness, 5) for channel in shade)
    return red, green, blue
