"""The same house with other surfaces and other light.

Nothing that blocks, counts or is looked for moves: only materials, textures, lights and vertex colours change,
and the words that describe them. Works on any scene whose materials carry our names, also after it was written
to a file and read again.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from nav_eval.scene.houses.assembly import SUBJECTS
from nav_eval.scene.houses.finishes import Finish, finish
from nav_eval.scene.houses.furniture.piece import BODY
from nav_eval.scene.houses.light import drawn_lights, lit_colors
from nav_eval.scene.houses.materials import Palette, kind_of, slot_of
from nav_eval.scene.houses.randomness import Draw, checked_split
from nav_eval.scene.model import Material, Scene, SceneObject


def restyle(
    scene: Scene,
    seed: int,
    *,
    keep: Iterable[int] = (),
    surfaces: bool = True,
    lights: bool = True,
    split: str = "seen",
) -> Scene:
    """Another look for everything but the objects to `keep`; the same arguments give the same scene."""
    draw = Draw(seed, "restyle", split=checked_split(split))
    if surfaces:
        scene = _with_surfaces(scene, draw.fork("surfaces"), sorted(set(keep)))
    if lights:
        lamps = [light.position for light in scene.lights if light.kind == "point"]
        scene = replace(scene, lights=drawn_lights(lamps, draw.fork("lights")))
        scene = replace(scene, colors=lit_colors(scene))
    return scene


def _with_surfaces(scene: Scene, draw: Draw, keep: list[int]) -> Scene:
    finishes = [_new_finish(material, draw) for material in scene.materials]
    palette = Palette(materials=list(scene.materials), textures=list(scene.textures))
    renewed = np.arange(len(scene.materials))
    for number, (material, look) in enumerate(zip(scene.materials, finishes, strict=True)):
        if look is not None:
            category, slot, _ = material.name.split("/")
            renewed[number] = palette.material(category, slot, look)
    changed = ~np.isin(scene.triangle_object, keep)
    triangle_material = np.where(changed, renewed[scene.triangle_material], scene.triangle_material)
    objects = _described(scene, finishes, keep)
    return replace(
        scene,
        materials=tuple(palette.materials),
        textures=tuple(palette.textures),
        triangle_material=triangle_material.astype(np.uint16),
        semantics=replace(scene.semantics, objects=objects),
    )


def _new_finish(material: Material, draw: Draw) -> Finish | None:
    """Surfaces that looked the same still do; None for what is not ours."""
    kind = kind_of(material)
    if not kind:
        return None
    return finish(kind, draw.fork(kind, repr(material.base_color), str(material.texture)))


def _described(scene: Scene, finishes: list[Finish | None], keep: list[int]) -> tuple[SceneObject, ...]:
    """Objects with the words for their new look."""
    looks: dict[int, dict[str, str]] = {}
    pairs = np.unique(np.stack([scene.triangle_object, scene.triangle_material], axis=1), axis=0)
    for object_id, number in pairs.tolist():
        look, slot = finishes[number], slot_of(scene.materials[number])
        if look is None or object_id in keep:
            continue
        if slot == BODY:
            looks.setdefault(object_id, {}).update(colour=look.colour, material=look.material)
        if slot == "art":
            looks.setdefault(object_id, {})["shows"] = SUBJECTS[look.pattern]
    return tuple(
        replace(item, attributes={**item.attributes, **looks.get(item.object_id, {})})
        for item in scene.semantics.objects
    )
