"""Domain randomisation without preparing a scene again: `randomize_scene` for a canvas, a few milliseconds per episode.

`domain_randomization.randomize_scene` says what a draw means; here the same is done to what the renderer holds. What
does not depend on the draw (what may stand where, which lamp reaches what) is found once per scene.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import Episode
from nav_eval.generators import Relight, make_world_generator
from nav_eval.scene.model import Material, Scene, Texture
from nav_eval.scene.objects import make_unit_mesh
from nav_eval.simulator.clutter import (
    BALL_SIZE,
    ClutterThing,
    is_on_lit_surface,
    plan_clutter,
)
from nav_eval.simulator.clutter_places import CATEGORY, SupportMap, find_supports
from nav_eval.simulator.domain_randomization import (
    MOST_CLUTTER,
    DomainDraw,
    VariedObjects,
    compute_light_tint,
    draw_shades,
    find_kept_objects,
    tint_light,
)
from nav_eval.simulator.rendering.canvas import (
    MOST_PATCHES,
    BlankScene,
    Look,
    PaintedCanvas,
    choose_slots,
    find_patches,
    prepare_blank,
)
from nav_eval.simulator.rendering.lighting import Lighting, choose_lighting
from nav_eval.simulator.rendering.moving_room import ON_BAKED, PlacedThings, ThingShapes, make_shapes
from nav_eval.simulator.rendering.prepared_scene import PreparedScene
from nav_eval.simulator.rendering.texel_files import store_textures

Prepare = Callable[[], BlankScene]


class _Finish(NamedTuple):
    """Another look for a material."""

    material: Material
    texture: Texture | None


class _Tones(NamedTuple):
    """Vertex colours, and which of them each vertex has."""

    colors: NDArray[np.uint8]  #: N × 4
    places: NDArray[np.int32]


class Repainter:
    """One scene, shown as each episode draws it."""

    def __init__(
        self,
        scene: Scene,
        *,
        keep: Callable[[Prepare], BlankScene] = lambda prepare: prepare(),
        textures: Path | None = None,
    ) -> None:
        """`keep` has the scene prepared, or knows what came of it before; `textures` is a folder to keep them in."""
        generator = make_world_generator()
        self._scene, self._generator = scene, generator
        self._patches = find_patches(scene)
        refinished = frozenset(
            number
            for number, material in enumerate(scene.materials)
            if generator.vary_material(material, seed=0, number=number) is not None
        )
        finishes = generator.prepare_finishes([scene.materials[number] for number in refinished])
        self._slots = choose_slots(self._patches, refinished)
        self._varied = VariedObjects(scene.semantics, self._patches.thing)
        blank = keep(lambda: prepare_blank(scene, self._patches, slots=self._slots, surfaces=_number_clutter(scene)))
        self._canvas = PaintedCanvas(
            scene,
            self._patches,
            blank,
            slots=self._slots,
            shapes=_make_clutter_shapes(),
            stored=store_textures(textures, finishes),
        )

    @staticmethod
    def can_paint(scene: Scene) -> bool:
        """Splats hold their colours themselves, and some files have more surfaces than we can tell apart."""
        return scene.splats is None and len(find_patches(scene).material) <= MOST_PATCHES

    def paint(self, draw: DomainDraw, episode: Episode) -> PreparedScene:
        """The scene as this episode shows it."""
        kept = find_kept_objects(self._scene.semantics, episode)
        base, textures = self._vary_surfaces(draw, kept)
        tones, lighting = self._vary_light(draw)
        things = plan_clutter(self._supports, seed=draw.seed, count=draw.clutter, kept=kept) if draw.clutter else []
        look = Look(
            base=base,
            colors=tones.colors,
            places=tones.places,
            textures=textures,
            lighting=lighting,
            things=self._place(things, tones),
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
        is_varied = self._varied.find(draw.scene_mode, kept)
        shades = draw_shades(draw, len(self._scene.materials))[self._patches.material]
        base = self._canvas.base.copy()
        base[is_varied, :3] = np.round(np.minimum(1.0, base[is_varied, :3] * shades[is_varied]), 5)
        slots = [slot for slot, varied in zip(self._slots, is_varied[self._slots].tolist(), strict=True) if varied]
        numbers = self._patches.material[slots].tolist()
        finishes = {number: self._refinish(number, draw) for number in dict.fromkeys(numbers)}
        if slots:
            base[slots] = [finishes[number].material.base_color for number in numbers]
        return base, {slot: finishes[number].texture for slot, number in zip(slots, numbers, strict=True)}

    def _refinish(self, number: int, draw: DomainDraw) -> _Finish:
        made = self._generator.vary_material(self._scene.materials[number], seed=draw.seed, number=number)
        if made is None:
            raise ValueError(f"{self._scene.materials[number].name} can no longer be varied.")
        material, textures = made
        return _Finish(material, None if material.texture is None else textures[material.texture])

    @cached_property
    def _own_tones(self) -> _Tones:
        """The scene's vertex colours as they are; most are alike."""
        words = np.ascontiguousarray(self._scene.colors).view(np.uint32).reshape(-1)
        distinct, places = np.unique(words, return_inverse=True)
        return _Tones(distinct.view(np.uint8).reshape(-1, 4), places.reshape(-1).astype(np.int32))

    def _vary_light(self, draw: DomainDraw) -> tuple[_Tones, Lighting]:
        """Vertex colours under this light, and the lamps."""
        scene, lighting = self._scene, self._canvas.lighting
        if not draw.varies_light:
            return self._own_tones, lighting
        tint = compute_light_tint(draw)
        if not scene.lights:
            colors = self._own_tones.colors.copy()
            colors[:, :3] = np.round(np.clip(colors[:, :3] * np.minimum(tint, 1.0), 0, 255))
            return self._own_tones._replace(colors=colors), lighting
        factors = tint.tolist()
        lights = tuple(tint_light(light, factors) for light in scene.lights)
        lighting = choose_lighting(replace(scene, lights=lights)) if self._has_lamps else lighting
        if not any(light.baked for light in lights):
            return self._own_tones, lighting
        return _Tones(self._relight(lights), self._relight.places), lighting

    @cached_property
    def _has_lamps(self) -> bool:
        return any(not light.baked for light in self._scene.lights)

    def _place(self, things: Sequence[ClutterThing], tones: _Tones) -> PlacedThings:
        placed = PlacedThings.make_room(len(things))
        if not things:
            return placed
        placed.shape[:], placed.size[:] = [thing.shape for thing in things], [thing.size for thing in things]
        placed.position[:], placed.color[:] = [thing.position for thing in things], [thing.color for thing in things]
        is_lit = [is_on_lit_surface(self._scene, thing) for thing in things]
        placed.lit_by[:] = np.where(is_lit, self._canvas.lights_things_by, ON_BAKED)
        corners = tones.places[self._scene.triangles[[thing.triangle for thing in things]]]
        placed.support[:] = tones.colors[corners, :3].mean(axis=1)
        return placed


def _number_clutter(scene: Scene) -> NDArray[np.int64]:
    """Category and object ids of the things that may come."""
    categories = scene.semantics.categories
    category = categories.index(CATEGORY) if CATEGORY in categories else len(categories)
    known = max((item.object_id for item in scene.semantics.objects), default=0)
    first = 1 + max(known, int(scene.triangle_object.max(initial=0)))
    return np.stack([np.full(MOST_CLUTTER, category), first + np.arange(MOST_CLUTTER)], axis=1).astype(np.int64)


@cache
def _make_clutter_shapes() -> ThingShapes:
    """Of a size of one metre, in the order of their numbers."""
    meshes = [
        (make_unit_mesh(name), scale) for name, scale in (("box", 1.0), ("ball", BALL_SIZE / 2), ("cylinder", 1.0))
    ]
    return make_shapes([(mesh.positions * scale, mesh.normals, mesh.triangles) for mesh, scale in meshes])
