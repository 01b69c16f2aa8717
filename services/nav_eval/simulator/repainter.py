"""Domain randomisation without preparing a scene again: `randomize_scene` for a canvas, a few milliseconds per episode.

`domain_randomization.randomize_scene` says what a draw means; here the same is done to what the renderer holds. What
does not depend on the draw (what may stand where, which lamp reaches what) is found once per scene.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_uncounted_kernel
from nav_eval.dataset.episode import Episode
from nav_eval.generators import LightTone, Relight, make_world_generator
from nav_eval.scene.model import Scene, Texture
from nav_eval.scene.objects import make_unit_mesh
from nav_eval.simulator.clutter import BALL, BALL_SIZE, plan_clutter
from nav_eval.simulator.clutter_places import CATEGORY, ClutterPlan, SupportMap, find_supports, round_length
from nav_eval.simulator.domain_randomization import (
    MOST_CLUTTER,
    DomainDraw,
    VariedObjects,
    compute_light_tint,
    draw_shades,
    find_kept_objects,
    tint_light,
    tint_tone,
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
        refinished = {
            number: material
            for number, material in enumerate(scene.materials)
            if generator.vary_material(material, seed=0, number=number) is not None
        }
        self._finishes = generator.prepare_finishes(refinished)
        self._slots = choose_slots(self._patches, refinished)
        rows = {number: row for row, number in enumerate(refinished)}
        self._slot_numbers = np.array(self._slots, dtype=np.int64)
        self._finish_of = np.array(
            [rows[n] for n in self._patches.material[self._slot_numbers].tolist()], dtype=np.int64
        )
        self._is_lit = np.array([not material.unlit for material in scene.materials], dtype=np.bool_)
        self._varied = VariedObjects(scene.semantics, self._patches.thing)
        blank = keep(lambda: prepare_blank(scene, self._patches, slots=self._slots, surfaces=_number_clutter(scene)))
        self._canvas = PaintedCanvas(
            scene,
            self._patches,
            blank,
            slots=self._slots,
            shapes=_make_clutter_shapes(),
            stored=store_textures(textures, self._finishes.textures),
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
        things = self._place_clutter(draw, kept, tones) if draw.clutter else _NO_THINGS
        look = Look(
            base=base,
            colors=tones.colors,
            places=tones.places,
            textures=textures,
            lighting=lighting,
            things=things,
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
        shades, (colors, textures) = draw_shades(draw, len(self._scene.materials)), self._finishes(draw.seed)
        base = np.empty_like(self._canvas.base)
        finishes = self._slot_numbers, self._finish_of, colors
        _choose_bases(is_varied, self._patches.material, shades, finishes, self._canvas.base, base)
        chosen = zip(self._slots, self._finish_of.tolist(), is_varied[self._slot_numbers].tolist(), strict=True)
        return base, {slot: textures[finish] for slot, finish, varied in chosen if varied}

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
        if self._has_lamps:
            lights = tuple(tint_light(light, factors) for light in scene.lights)
            lighting = choose_lighting(replace(scene, lights=lights))
        if not self._is_baked:
            return self._own_tones, lighting
        tinted = {tone: tint_tone(tone, factors) for tone in set(self._light_tones)}
        return _Tones(self._relight([tinted[tone] for tone in self._light_tones]), self._relight.places), lighting

    @cached_property
    def _has_lamps(self) -> bool:
        return any(not light.baked for light in self._scene.lights)

    @cached_property
    def _is_baked(self) -> bool:
        return any(light.baked for light in self._scene.lights)

    @cached_property
    def _light_tones(self) -> list[LightTone]:
        """Those that the scene came with; few differ."""
        return [LightTone(light.color, light.intensity) for light in self._scene.lights]

    def _place_clutter(self, draw: DomainDraw, kept: frozenset[int], tones: _Tones) -> PlacedThings:
        plan = plan_clutter(self._supports, seed=draw.seed, count=draw.clutter, kept=kept)
        room, scene = PlacedThings.make_room(draw.clutter), self._scene
        surfaces = _Surfaces(scene.triangles, scene.triangle_material, self._is_lit)
        placed = _put_down(plan, surfaces, tones, self._canvas.lights_things_by, room)
        return PlacedThings._make(column[:placed] for column in room)


@compile_uncounted_kernel
def _choose_bases(
    is_varied: NDArray[np.bool_],
    material: NDArray[np.int64],
    shades: NDArray[np.float64],
    finishes: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    own: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """The base colour of each patch: its own, a shade of it or, of some patches, that of a finish."""
    for patch in range(len(out)):
        for k in range(4):
            out[patch, k] = own[patch, k]
        if is_varied[patch]:
            for k in range(3):
                shaded = min(1.0, own[patch, k] * shades[material[patch], k])
                out[patch, k] = np.rint(shaded * 1e5) / 1e5
    patches, rows, colors = finishes
    for i in range(len(patches)):
        if is_varied[patches[i]]:
            for k in range(4):
                out[patches[i], k] = colors[rows[i], k]


class _Surfaces(NamedTuple):
    """What things stand on; kernels take it whole."""

    triangles: NDArray[np.uint32]  #: T × 3
    material: NDArray[np.uint16]  #: T
    is_lit: NDArray[np.bool_]  #: by material


_NO_THINGS = PlacedThings.make_room(0)


@compile_uncounted_kernel
def _put_down(plan: ClutterPlan, surfaces: _Surfaces, tones: _Tones, lit_by: int, out: PlacedThings) -> int:
    """The things that found a place, in the light of what carries them; returns how many."""
    placed = 0
    for thing in range(len(plan.triangle)):
        triangle = plan.triangle[thing]
        if triangle < 0:
            continue
        height = plan.size[thing] * (BALL_SIZE if plan.shape[thing] == BALL else 1.0)
        out.shape[placed], out.size[placed] = plan.shape[thing], plan.size[thing]
        out.lit_by[placed] = lit_by if surfaces.is_lit[surfaces.material[triangle]] else ON_BAKED
        for k in range(3):
            out.position[placed, k], out.color[placed, k] = plan.bottom[thing, k], plan.color[thing, k]
            light = 0.0
            for corner in range(3):
                light += tones.colors[tones.places[surfaces.triangles[triangle, corner]], k]
            out.support[placed, k] = light / 3.0
        out.position[placed, 1] = round_length(plan.bottom[thing, 1] + height / 2)
        placed += 1
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
