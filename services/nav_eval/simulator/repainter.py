"""Domain randomisation without preparing a scene again: `randomize_scene` for a canvas, a few milliseconds per episode.

`domain_randomization.randomize_scene` says what a draw means; here the same is done to what the renderer holds. What
does not depend on the draw (what may stand where, which lamp reaches what) is found once per scene.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import Episode
from nav_eval.generators import Relight, make_world_generator
from nav_eval.scene.model import Material, Scene, Texture
from nav_eval.scene.objects import make_unit_mesh
from nav_eval.simulator.clutter import (
    BALL,
    BALL_SIZE,
    ClutterThing,
    is_on_lit_surface,
    light_clutter,
    plan_clutter,
)
from nav_eval.simulator.clutter_places import CATEGORY, SupportMap, find_supports
from nav_eval.simulator.domain_randomization import (
    MOST_CLUTTER,
    DomainDraw,
    compute_light_tint,
    draw_shades,
    find_kept_objects,
    find_varied_objects,
    tint_light,
)
from nav_eval.simulator.rendering.canvas import (
    MOST_PATCHES,
    NO_CURVE,
    BlankScene,
    Look,
    PaintedCanvas,
    choose_slots,
    find_patches,
    prepare_blank,
)
from nav_eval.simulator.rendering.lighting import Lighting, choose_lighting
from nav_eval.simulator.rendering.moving_room import PlacedThing, ThingShape, make_shape
from nav_eval.simulator.rendering.prepared_scene import PreparedScene

Prepare = Callable[[], BlankScene]


class _Finish(NamedTuple):
    """Another look for a material."""

    material: Material
    texture: Texture | None


class Repainter:
    """One scene, shown as each episode draws it."""

    def __init__(self, scene: Scene, *, keep: Callable[[Prepare], BlankScene] = lambda prepare: prepare()) -> None:
        """`keep` has the scene prepared, or knows what came of it before."""
        generator = make_world_generator()
        self._scene, self._generator = scene, generator
        self._patches = find_patches(scene)
        refinished = frozenset(
            number
            for number, material in enumerate(scene.materials)
            if generator.vary_material(material, seed=0, number=number) is not None
        )
        generator.prepare_finishes([scene.materials[number] for number in refinished])
        self._slots = choose_slots(self._patches, refinished)
        blank = keep(lambda: prepare_blank(scene, self._patches, slots=self._slots, surfaces=_number_clutter(scene)))
        self._canvas = PaintedCanvas(scene, self._patches, blank, slots=self._slots)

    @staticmethod
    def can_paint(scene: Scene) -> bool:
        """Splats hold their colours themselves, and some files have more surfaces than we can tell apart."""
        return scene.splats is None and len(find_patches(scene).material) <= MOST_PATCHES

    def paint(self, draw: DomainDraw, episode: Episode) -> PreparedScene:
        """The scene as this episode shows it."""
        kept = find_kept_objects(self._scene.semantics, episode)
        base, textures = self._vary_surfaces(draw, kept)
        lit, curve, lighting = self._vary_light(draw)
        things = plan_clutter(self._supports, seed=draw.seed, count=draw.clutter, kept=kept) if draw.clutter else []
        look = Look(
            base=base,
            colors=lit.colors,
            curve=curve,
            textures=textures,
            lighting=lighting,
            things=[self._place(thing, lit, curve) for thing in things],
        )
        return self._canvas.paint(look)

    @cached_property
    def _supports(self) -> SupportMap:
        return find_supports(self._scene)

    @cached_property
    def _relight(self) -> Relight:
        return self._generator.prepare_lighting(self._scene)

    def _vary_surfaces(
        self, draw: DomainDraw, kept: frozenset[int]
    ) -> tuple[NDArray[np.float64], dict[int, Texture | None]]:
        """Colours of all patches, and textures of those that have another one."""
        if not draw.textures:
            return self._canvas.base, {}
        varied = find_varied_objects(self._scene.semantics, draw.scene_mode, kept)
        is_varied = np.isin(self._patches.thing, varied)
        shades = draw_shades(draw, len(self._scene.materials))[self._patches.material]
        base = self._canvas.base.copy()
        base[is_varied, :3] = np.round(np.minimum(1.0, base[is_varied, :3] * shades[is_varied]), 5)
        finishes = {
            number: self._refinish(number, draw)
            for number in sorted({int(self._patches.material[slot]) for slot in self._slots if is_varied[slot]})
        }
        textures = {}
        for slot in self._slots:
            if is_varied[slot]:
                finish = finishes[int(self._patches.material[slot])]
                base[slot], textures[slot] = finish.material.base_color, finish.texture
        return base, textures

    def _refinish(self, number: int, draw: DomainDraw) -> _Finish:
        made = self._generator.vary_material(self._scene.materials[number], seed=draw.seed, number=number)
        if made is None:
            raise ValueError(f"{self._scene.materials[number].name} can no longer be varied.")
        material, textures = made
        return _Finish(material, None if material.texture is None else textures[material.texture])

    def _vary_light(self, draw: DomainDraw) -> tuple[Scene, NDArray[np.uint8], Lighting]:
        """The scene with its vertex colours under this light, what becomes of their bytes, and the lamps."""
        scene, lighting = self._scene, self._canvas.lighting
        if not draw.varies_light:
            return scene, NO_CURVE, lighting
        tint = compute_light_tint(draw)
        if not scene.lights:
            levels = np.arange(256) * np.minimum(tint, 1.0)[:, None]
            return scene, np.round(np.clip(levels, 0, 255)).astype(np.uint8), lighting
        lights = tuple(tint_light(light, tint) for light in scene.lights)
        if any(light.baked for light in lights):
            scene = replace(scene, colors=self._relight(lights))
        return scene, NO_CURVE, choose_lighting(replace(scene, lights=lights))

    def _place(self, thing: ClutterThing, lit: Scene, curve: NDArray[np.uint8]) -> PlacedThing:
        shape = _make_clutter_shape(thing.shape)
        colors = None
        if not is_on_lit_surface(lit, thing):
            colors = light_clutter(lit, thing, shape.normals)
            colors[:, :3] = curve[np.arange(3), colors[:, :3]]
        tints = self._canvas.tint_thing(np.array(thing.color), colors, shape.normals)
        return PlacedThing(shape, thing.size, thing.position, tints)


def _number_clutter(scene: Scene) -> NDArray[np.int64]:
    """Category and object ids of the things that may come."""
    categories = scene.semantics.categories
    category = categories.index(CATEGORY) if CATEGORY in categories else len(categories)
    known = max((item.object_id for item in scene.semantics.objects), default=0)
    first = 1 + max(known, int(scene.triangle_object.max(initial=0)))
    return np.stack([np.full(MOST_CLUTTER, category), first + np.arange(MOST_CLUTTER)], axis=1).astype(np.int64)


@cache
def _make_clutter_shape(shape: int) -> ThingShape:
    """Of a size of one metre."""
    mesh = make_unit_mesh(("box", "ball", "cylinder")[shape])
    scale = {BALL: BALL_SIZE / 2}.get(shape, 1.0)
    return make_shape(mesh.positions * scale, mesh.normals, mesh.triangles)
