"""Domain randomisation: the same house on another day.

Level 1 varies the look of surfaces, level 2 also the light, level 3 also the camera. `scene_mode` says how
far into the scene the variation of surfaces reaches: 0 walls, floors and ceilings; 1 also large furniture;
2 everything; 3 also small things added where they are in nobody's way.

What never changes: the geometry that blocks, and with it every distance and every step of the expert; the look of the
goals, of everything that the words mention, and of everything that may be taken for it. A draw depends on the seed, the
episode and the level alone: every team gets the same one, in any order.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nav_eval.config.schema import DRConfig
from nav_eval.dataset.episode import Episode
from nav_eval.generators import LightTone, make_world_generator
from nav_eval.number_stream import draw_below, draw_units
from nav_eval.randomness import derive_seed
from nav_eval.scene.model import Light, Material, Scene, SceneObject, Semantics, Texture
from nav_eval.simulator.camera_rig import CameraJitter
from nav_eval.simulator.clutter import add_clutter

SHELL = frozenset({"wall", "floor", "ceiling"})
LARGE = 0.6  #: metres: larger things are furniture, smaller ones are things on it
DARKEST, BRIGHTEST = 0.88, 1.1  #: factors on the colours of varied materials
MOST_CLUTTER = 12
_SCENE_MODES = range(4)
CAMERA_HEIGHT, CAMERA_PITCH, CAMERA_HFOV = 0.05, 3.0, 5.0  #: metres and degrees either way


@dataclass(frozen=True, kw_only=True, slots=True)
class DomainDraw:
    """What was drawn for one episode; stored with its result."""

    seed: int
    scene_mode: int
    textures: bool  #: surfaces look different
    clutter: int  #: small things added
    brightness: float = 1.0  #: factor on all light
    warmth: float = 0.0  #: −1 blue, +1 yellow
    camera: CameraJitter = field(default_factory=CameraJitter)

    @property
    def varies_light(self) -> bool:
        return (self.brightness, self.warmth) != (1.0, 0.0)

    @property
    def changes_scene(self) -> bool:
        return self.textures or self.clutter > 0 or self.varies_light

    def record(self) -> dict[str, object]:
        return asdict(self)


class DomainRandomizationManager:
    """Draws for episodes, and applies what was drawn to scenes."""

    def __init__(self, config: DRConfig, *, run_seed: int) -> None:
        self._config = config
        self._seed = run_seed if config.seed is None else config.seed

    def draw(self, episode_id: str) -> DomainDraw | None:
        """What varies in this episode; None if nothing does."""
        config = self._config
        if not config.varies:
            return None
        seed = derive_seed(self._seed, "randomization", episode_id, config.level) % 2**63  # fits into JSON anywhere
        brightness, warmth = _draw_light(seed) if config.varies_lighting else (1.0, 0.0)
        has_clutter = config.clutter_scene or (config.varies_scene and config.scene_mode == 3)
        return DomainDraw(
            seed=seed,
            scene_mode=config.scene_mode,
            textures=config.varies_textures,
            clutter=3 + draw_below(MOST_CLUTTER - 2, seed, "clutter") if has_clutter else 0,
            brightness=brightness,
            warmth=warmth,
            camera=_draw_jitter(seed) if config.varies_camera else CameraJitter(),
        )


def randomize_scene(scene: Scene, draw: DomainDraw, episode: Episode) -> Scene:
    """The scene as this episode shows it; `repainter` does the same to a scene that is drawn already."""
    kept = find_kept_objects(scene.semantics, episode)
    if draw.textures:
        scene = _vary_surfaces(scene, draw, kept)
    if draw.varies_light:
        scene = _vary_light(scene, draw)
    if draw.clutter:  # last: it takes the light from where it stands
        scene = add_clutter(scene, seed=draw.seed, count=draw.clutter, kept=kept)
    return scene


def find_kept_objects(semantics: Semantics, episode: Episode) -> frozenset[int]:
    """Ids of the objects that must stay as the episode describes them: its goals, and whatever its words mention."""
    goals = [*episode.goals, *(goal for subtask in episode.subtasks for goal in subtask.goals)]
    named = frozenset(int(goal.object_id) for goal in goals if goal.object_id and goal.object_id.isdecimal())
    return named | make_world_generator().find_mentioned(semantics, episode)


def _vary_surfaces(scene: Scene, draw: DomainDraw, kept: frozenset[int]) -> Scene:
    affected = _find_affected_triangles(scene, draw.scene_mode, kept)
    materials, textures = list(scene.materials), list(scene.textures)
    triangle_material = scene.triangle_material.copy()
    shades = draw_shades(draw, len(scene.materials))
    for old in np.unique(scene.triangle_material[affected]).tolist():
        made = make_world_generator().vary_material(scene.materials[old], seed=draw.seed, number=old)
        varied, added = (
            _shift_texture(*made, by=len(textures)) if made else (_shade(scene.materials[old], shades[old]), ())
        )
        textures += added
        triangle_material[affected & (scene.triangle_material == old)] = len(materials)
        materials.append(varied)
    return replace(scene, materials=tuple(materials), textures=tuple(textures), triangle_material=triangle_material)


def _find_affected_triangles(scene: Scene, scene_mode: int, kept: frozenset[int]) -> NDArray[np.bool_]:
    return np.isin(scene.triangle_object, find_varied_objects(scene.semantics, scene_mode, kept))


def find_varied_objects(semantics: Semantics, scene_mode: int, kept: frozenset[int]) -> list[int]:
    """Ids of the objects whose surfaces vary; what no annotation names (0) is part of the shell."""
    things = (item for item in semantics.objects if item.object_id not in kept)
    return [0, *(item.object_id for item in things if _is_varied(item, scene_mode))]


def _is_varied(thing: SceneObject, scene_mode: int) -> bool:
    if thing.category in SHELL:
        return True
    return scene_mode >= 2 or (scene_mode == 1 and max(thing.size) > LARGE)


class VariedObjects:
    """The same for patches of one scene, many times: by patch, whether its object varies."""

    def __init__(self, semantics: Semantics, objects: NDArray[np.int64]) -> None:
        """`objects` is the object of each patch."""
        modes = [dict.fromkeys(find_varied_objects(semantics, mode, frozenset()), True) for mode in _SCENE_MODES]
        self._patches: dict[int, list[int]] = {}
        for patch, thing in enumerate(objects.tolist()):
            self._patches.setdefault(thing, []).append(patch)
        self._varied = [
            np.array([mode.get(thing, False) for thing in objects.tolist()], dtype=np.bool_) for mode in modes
        ]

    def find(self, scene_mode: int, kept: frozenset[int]) -> NDArray[np.bool_]:
        is_varied = self._varied[scene_mode].copy()
        is_varied[[patch for thing in kept if thing for patch in self._patches.get(thing, ())]] = False
        return is_varied


def draw_shades(draw: DomainDraw, count: int) -> NDArray[np.float64]:
    """Factors on the colours of so many materials."""
    return DARKEST + (BRIGHTEST - DARKEST) * draw_units(draw.seed, "shades", count=3 * count).reshape(count, 3)


def _shade(material: Material, shade: NDArray[np.float64]) -> Material:
    """Another shade for a surface; walls and floors of our houses get a new finish instead."""
    red, green, blue = (round(float(min(1.0, c * s)), 5) for c, s in zip(material.base_color, shade, strict=False))
    return replace(material, base_color=(red, green, blue, material.base_color[3]))


def _shift_texture(
    material: Material, textures: tuple[Texture, ...], *, by: int
) -> tuple[Material, tuple[Texture, ...]]:
    texture = None if material.texture is None else material.texture + by
    return replace(material, texture=texture), textures


def compute_light_tint(draw: DomainDraw) -> NDArray[np.float64]:
    """Factors on red, green and blue."""
    return draw.brightness * np.array([1.0 + 0.12 * draw.warmth, 1.0, 1.0 - 0.2 * draw.warmth])


def _vary_light(scene: Scene, draw: DomainDraw) -> Scene:
    """Our houses are lit anew, lamps of other files change; what has neither (a scan, a plain model) is tinted."""
    tint = compute_light_tint(draw)
    if scene.lights:
        scene = replace(scene, lights=tuple(tint_light(light, tint.tolist()) for light in scene.lights))
        baked = any(light.baked for light in scene.lights)
        return replace(scene, colors=make_world_generator().bake_lighting(scene)) if baked else scene
    colors = scene.colors.astype(np.float64)
    colors[:, :3] *= np.minimum(tint, 1.0)
    return replace(scene, colors=np.round(np.clip(colors, 0, 255)).astype(np.uint8))


def tint_light(light: Light, tint: Sequence[float]) -> Light:
    tone = tint_tone(LightTone(light.color, light.intensity), tint)
    return replace(light, color=tone.color, intensity=tone.intensity)


def tint_tone(tone: LightTone, tint: Sequence[float]) -> LightTone:
    (r, g, b), (more_red, more_green, more_blue) = tone.color, tint
    red, green, blue = (
        round(min(1.0, r * more_red), 5),
        round(min(1.0, g * more_green), 5),
        round(min(1.0, b * more_blue), 5),
    )
    return LightTone((red, green, blue), round(tone.intensity * more_green, 5))


def _draw_light(seed: int) -> tuple[float, float]:
    """Brightness and warmth."""
    brightness, warmth = draw_units(seed, "light", count=2).tolist()
    return _choose_value(0.6, 1.25, brightness), _choose_value(-1.0, 1.0, warmth)


def _draw_jitter(seed: int) -> CameraJitter:
    height, pitch, hfov = draw_units(seed, "camera", count=3).tolist()
    return CameraJitter(
        height=_choose_value(-CAMERA_HEIGHT, CAMERA_HEIGHT, height),
        pitch=_choose_value(-CAMERA_PITCH, CAMERA_PITCH, pitch),
        hfov=_choose_value(-CAMERA_HFOV, CAMERA_HFOV, hfov),
    )


def _choose_value(low: float, high: float, unit: float) -> float:
    """From a range; rounded."""
    return round(low + (high - low) * unit, 4)
