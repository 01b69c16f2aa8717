"""One seed, one house: plan, furniture, shell and openings, drawn until the house is sound."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import ConfigError
from nav_eval.generator_version import FIRST_GENERATOR, GeneratorVersion
from nav_eval.scene.model import Scene
from nav_eval_worlds.assets import read_assets
from nav_eval_worlds.houses.baked_light import bake_house_light, draw_time_of_day
from nav_eval_worlds.houses.doors_and_windows import make_openings
from nav_eval_worlds.houses.house import GeneratedHouse, assemble_scene
from nav_eval_worlds.houses.placement import furnish_house
from nav_eval_worlds.houses.plan.floor_plan import draw_plan
from nav_eval_worlds.houses.plan.model import HouseTemplate, choose_template
from nav_eval_worlds.houses.shell import (
    COARSE_CELLS,
    FINE_CELLS,
    draw_room_styles,
    make_room_shell,
    make_staircase,
)
from nav_eval_worlds.houses.validation import find_faults
from nav_eval_worlds.palettes import draw_house_style
from nav_eval_worlds.randomness import RandomStream, check_split
from nav_eval_worlds.style import HouseStyle
from nav_eval_worlds.textures.outlooks import PLACES


def subdivide_scene(scene: Scene, times: int) -> Scene:
    """Every triangle cut into four at the middles of its sides, `times` times over."""
    for _ in range(times):
        scene = _subdivide_once(scene)
    return scene


def _subdivide_once(scene: Scene) -> Scene:
    triangles = scene.triangles.astype(np.int64)
    sides = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    pairs, number = np.unique(sides, axis=0, return_inverse=True)
    ab, bc, ca = number.reshape(3, -1) + len(scene.positions)
    a, b, c = triangles.T
    finer = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1).reshape(-1, 3)
    return replace(
        scene,
        positions=_append_middles(scene.positions, pairs),
        normals=_normalize_vectors(_append_middles(scene.normals, pairs)),
        uvs=_append_middles(scene.uvs, pairs),
        colors=_append_middles(scene.colors.astype(np.float32), pairs).round().astype(np.uint8),
        triangles=finer.astype(np.uint32),
        triangle_material=np.repeat(scene.triangle_material, 4),
        triangle_object=np.repeat(scene.triangle_object, 4),
        triangle_category=np.repeat(scene.triangle_category, 4),
    )


def _append_middles(values: NDArray[np.float32], pairs: NDArray[np.int64]) -> NDArray[np.float32]:
    middles = (values[pairs[:, 0]] + values[pairs[:, 1]]) * np.float32(0.5)
    return np.concatenate([values, middles])


def _normalize_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    unit: NDArray[np.float32] = (vectors / np.maximum(length, 1e-12)).astype(np.float32)
    return unit


ATTEMPTS = 8  #: houses of one template to try; the first nearly always is sound


def generate_house(
    seed: int,
    *,
    template: str | None = None,
    split: str = "seen",
    detail: int = 0,
    generator: GeneratorVersion = FIRST_GENERATOR,
    assets: Path | None = None,
) -> GeneratedHouse:
    """A furnished house; the same arguments give the same bytes everywhere.

    `split` chooses disjoint floor plans, measures, shades and textures; each step of `detail` cuts
    every triangle into four. `assets` is a folder of models to furnish the house with, see `nav_eval_worlds.assets`.
    """
    draw = RandomStream(seed, "house", split=check_split(split), generator=generator)
    if generator != FIRST_GENERATOR:
        draw = draw.dress(_draw_style(draw.fork("style"), assets))
    elif assets is not None:
        raise ConfigError("Houses of generator 1 take no assets. Choose generator 2.")
    chosen = choose_template(template, draw.fork("template"))
    house = _generate_sound_house(seed, chosen, draw)
    return replace(house, scene=subdivide_scene(house.scene, detail))


def _draw_style(draw: RandomStream, assets: Path | None) -> HouseStyle:
    """Colours, time of day, surroundings and models of the whole house."""
    style = replace(draw_house_style(draw.fork("colours")), models={} if assets is None else read_assets(assets))
    return replace(style, time=draw_time_of_day(draw.fork("time")).name, place=draw.fork("place").choice(PLACES))


def _generate_sound_house(seed: int, template: HouseTemplate, draw: RandomStream) -> GeneratedHouse:
    """The first attempt without faults. The template stays, so that difficult rooms do not become rare."""
    for attempt in range(ATTEMPTS):
        house = _generate_once(seed, template, draw.fork("attempt", attempt))
        if not find_faults(house):
            break
    return replace(house, scene=replace(house.scene, colors=bake_house_light(house.scene)))


def _generate_once(seed: int, template: HouseTemplate, draw: RandomStream) -> GeneratedHouse:
    plan = draw_plan(draw.fork("plan"), template)
    furniture = furnish_house(plan, draw.fork("furniture"))
    styles = draw_room_styles(plan, draw.fork("styles"))
    cells = COARSE_CELLS if draw.generator == FIRST_GENERATOR else FINE_CELLS
    fixtures = [part for room in plan.rooms for part in make_room_shell(plan, room, styles[room.room_id], cells)]
    fixtures += make_openings(plan, styles, draw.fork("openings")) + make_staircase(plan, draw.fork("stairs"))
    scene = assemble_scene(plan, fixtures, furniture, draw.fork("scene"))
    return GeneratedHouse(seed=seed, split=draw.split, plan=plan, furniture=tuple(furniture), scene=scene)
