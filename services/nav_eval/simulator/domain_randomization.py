"""Domain randomisation: the same house on another day.

Level 1 varies the look of surfaces, level 2 also the light, level 3 also the camera. `scene_mode` says how
far into the scene the variation of surfaces reaches: 0 walls, floors and ceilings; 1 also large furniture;
2 everything; 3 also small things added where they are in nobody's way.

What never changes: the geometry that blocks, the goals and their look, and with them every distance and
every step of the expert. Colours of furniture stay recognisable, because instructions speak of them. A draw
depends on the seed, the episode and the level alone: every team gets the same one, in any order.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nav_eval.config.schema import DRConfig, PrimitiveCubeCfg, PrimitiveCylinderCfg, PrimitiveSphereCfg
from nav_eval.config.schema.scenario import ObjectConfig
from nav_eval.dataset.episode import Episode
from nav_eval.generators import make_world_generator
from nav_eval.randomness import derive_seed, make_generator
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Light, Material, Scene, SceneObject, Texture
from nav_eval.scene.objects import place_objects
from nav_eval.simulator.camera_rig import CameraJitter

SHELL = frozenset({"wall", "floor", "ceiling"})
LARGE = 0.6  #: metres: larger things are furniture, smaller ones are things on it
MOST_CLUTTER = 12
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
    def changes_scene(self) -> bool:
        return self.textures or self.clutter > 0 or (self.brightness, self.warmth) != (1.0, 0.0)

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
        light, camera = make_generator(seed, "light"), make_generator(seed, "camera")
        has_clutter = config.clutter_scene or (config.varies_scene and config.scene_mode == 3)
        return DomainDraw(
            seed=seed,
            scene_mode=config.scene_mode,
            textures=config.varies_textures,
            clutter=int(make_generator(seed, "clutter").integers(3, MOST_CLUTTER + 1)) if has_clutter else 0,
            brightness=_round_value(light.uniform(0.6, 1.25)) if config.varies_lighting else 1.0,
            warmth=_round_value(light.uniform(-1.0, 1.0)) if config.varies_lighting else 0.0,
            camera=_draw_jitter(camera) if config.varies_camera else CameraJitter(),
        )


def randomize_scene(scene: Scene, draw: DomainDraw, episode: Episode) -> Scene:
    """The scene as this episode shows it."""
    kept = find_goal_objects(episode)
    if draw.textures:
        scene = _vary_surfaces(scene, draw, kept)
    if draw.clutter:
        scene = place_objects(scene, list(_make_clutter(scene, draw)), root=Path()).scene
    if (draw.brightness, draw.warmth) != (1.0, 0.0):
        scene = _vary_light(scene, draw)
    return scene


def find_goal_objects(episode: Episode) -> frozenset[int]:
    """Ids of the objects that must stay as the instruction describes them."""
    goals = [*episode.goals, *(goal for subtask in episode.subtasks for goal in subtask.goals)]
    return frozenset(int(goal.object_id) for goal in goals if goal.object_id and goal.object_id.isdecimal())


def _vary_surfaces(scene: Scene, draw: DomainDraw, kept: frozenset[int]) -> Scene:
    affected = _find_affected_triangles(scene, draw.scene_mode, kept)
    materials, textures = list(scene.materials), list(scene.textures)
    triangle_material = scene.triangle_material.copy()
    for old in np.unique(scene.triangle_material[affected]).tolist():
        varied, added = _make_variant(scene.materials[old], draw, number=old, textures=len(textures))
        textures += added
        triangle_material[affected & (scene.triangle_material == old)] = len(materials)
        materials.append(varied)
    return replace(scene, materials=tuple(materials), textures=tuple(textures), triangle_material=triangle_material)


def _find_affected_triangles(scene: Scene, scene_mode: int, kept: frozenset[int]) -> NDArray[np.bool_]:
    ids = [
        thing.object_id
        for thing in scene.semantics.objects
        if _is_varied(thing, scene_mode) and thing.object_id not in kept
    ]
    return np.isin(scene.triangle_object, [0, *ids])  # what no annotation names is part of the shell


def _is_varied(thing: SceneObject, scene_mode: int) -> bool:
    if thing.category in SHELL:
        return True
    return scene_mode >= 2 or (scene_mode == 1 and max(thing.size) > LARGE)


def _make_variant(
    material: Material, draw: DomainDraw, *, number: int, textures: int
) -> tuple[Material, tuple[Texture, ...]]:
    """Another look for a surface: a new finish for walls and floors of our houses, another shade for the rest."""
    made = make_world_generator().vary_material(material, seed=draw.seed, number=number)
    if made is not None:
        varied, added = made
        texture = None if varied.texture is None else varied.texture + textures
        return replace(varied, texture=texture), added
    shade = make_generator(draw.seed, "shade", number).uniform(0.8, 1.0, size=3) * 1.1
    red, green, blue = (round(float(min(1.0, c * s)), 5) for c, s in zip(material.base_color, shade, strict=False))
    return replace(material, base_color=(red, green, blue, material.base_color[3])), ()


def _vary_light(scene: Scene, draw: DomainDraw) -> Scene:
    """Our houses are lit anew; the light of a scan is in its pictures, which are tinted."""
    tint = draw.brightness * np.array([1.0 + 0.12 * draw.warmth, 1.0, 1.0 - 0.2 * draw.warmth])
    if scene.lights:
        scene = replace(scene, lights=tuple(_tint_light(light, tint) for light in scene.lights))
        return replace(scene, colors=make_world_generator().bake_lighting(scene))
    colors = scene.colors.astype(np.float64)
    colors[:, :3] *= np.minimum(tint, 1.0)
    return replace(scene, colors=np.round(np.clip(colors, 0, 255)).astype(np.uint8))


def _tint_light(light: Light, tint: NDArray[np.float64]) -> Light:
    red, green, blue = (round(float(min(1.0, c * t)), 5) for c, t in zip(light.color, tint, strict=True))
    brightness = round(light.intensity * float(tint[1]), 5)
    return replace(light, color=(red, green, blue), intensity=brightness)


def _make_clutter(scene: Scene, draw: DomainDraw) -> Iterable[ObjectConfig]:
    """Small things on top of furniture: seen, but in nobody's way."""
    supports = [thing for thing in scene.semantics.objects if _is_support(thing)]
    for number in range(draw.clutter if supports else 0):
        rng = make_generator(draw.seed, "clutter", number)
        support = supports[int(rng.integers(len(supports)))]
        size = float(rng.uniform(0.06, 0.16))
        (x, y, z), (width, height, depth) = support.center, support.size
        spread = rng.uniform(-0.3, 0.3, size=2)
        position = (x + spread[0] * width, y + height / 2 + size / 2, z + spread[1] * depth)
        yield _make_thing(number, position, size, rng)


def _is_support(thing: SceneObject) -> bool:
    width, height, depth = thing.size
    top = thing.center[1] + height / 2
    return thing.category not in SHELL and 0.3 < height < 1.4 and min(width, depth) > 0.3 and top < 3


def _make_thing(number: int, position: Vec3, size: float, rng: np.random.Generator) -> ObjectConfig:
    x, y, z = (_round_value(value) for value in position)
    red, green, blue = (_round_value(value) for value in rng.uniform(0.1, 0.9, size=3))
    common = {
        "name": f"clutter_{number}",
        "category": "clutter",
        "position": (x, y, z),
        "color": (red, green, blue),
        "collision_enabled": False,
    }
    shape = int(rng.integers(3))
    if shape == 0:
        return PrimitiveCubeCfg(size=(size, size, size), **common)
    if shape == 1:
        return PrimitiveSphereCfg(radius=size / 2, **common)
    return PrimitiveCylinderCfg(radius=size / 3, height=size, **common)


def _draw_jitter(rng: np.random.Generator) -> CameraJitter:
    return CameraJitter(
        height=_round_value(rng.uniform(-CAMERA_HEIGHT, CAMERA_HEIGHT)),
        pitch=_round_value(rng.uniform(-CAMERA_PITCH, CAMERA_PITCH)),
        hfov=_round_value(rng.uniform(-CAMERA_HFOV, CAMERA_HFOV)),
    )


def _round_value(value: float) -> float:
    return round(float(value), 4)
