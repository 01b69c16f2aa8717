"""A scene that is repainted shows what one prepared for the same draw shows."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from nav_eval.config.schema import DRConfig, PrimitiveCubeCfg
from nav_eval.dataset.episode import Episode, PrivateEpisode, PublicEpisode
from nav_eval.records.geometry import Pose, make_rotation
from nav_eval.scene.model import Light, Scene
from nav_eval.scene.objects import place_objects
from nav_eval.simulator.domain_randomization import DomainDraw, DomainRandomizationManager, randomize_scene
from nav_eval.simulator.rendering import ALL_CHANNELS, Camera, Frame, Renderer
from nav_eval.simulator.rendering.draw_list import DrawRun
from nav_eval.simulator.rendering.gpu_scene import _DrawState
from nav_eval.simulator.repainter import Repainter
from nav_eval_worlds.houses import generate_house
from nav_eval_worlds.houses.baked_light import bake_house_light
from nav_eval_worlds.houses.light_shares import HouseRelighting

EPISODE = Episode(
    public=PublicEpisode(episode_id="e"), private=PrivateEpisode(scene_id="s", start=Pose((0.0, 0.0, 0.0)))
)


@cache
def house(generator: int = 2) -> Scene:
    return generate_house(3, template="flat_1", generator=generator).scene  # type: ignore[arg-type]


def draw(level: int, *, scene_mode: int, name: str = "e") -> DomainDraw:
    drawn = DomainRandomizationManager(DRConfig(level=level, scene_mode=scene_mode, seed=5), run_seed=9).draw(name)
    assert drawn is not None
    return drawn


def list_cameras(scene: Scene) -> Iterator[Camera]:
    for number, room in enumerate(scene.semantics.regions[:4]):
        x, z = ((room.lower[axis] + room.upper[axis]) / 2 for axis in (0, 2))
        yield Camera(
            position=(x, room.lower[1] + 1.2, z),
            rotation=make_rotation(number * 1.1, 0.0, 0.0),
            width=160,
            height=120,
            hfov=90.0,
            near=0.05,
            far=50.0,
        )


def take_pictures(renderer: Renderer, scene: Scene) -> list[Frame]:
    return [renderer.render(camera, ALL_CHANNELS) for camera in list_cameras(scene)]


def compare(shown: list[Frame], expected: list[Frame], *, colours: int, ties: float = 0.0) -> None:
    """`ties` is the part of the pixels where two surfaces are equally near and either may show."""
    for own, other in zip(shown, expected, strict=True):
        assert own.rgb is not None
        assert other.rgb is not None
        assert (np.abs(own.rgb.astype(int) - other.rgb.astype(int)).max(axis=2) > colours).mean() <= ties
        assert (own.instance != other.instance).mean() <= ties
        assert (own.semantic != other.semantic).mean() <= ties
        assert np.allclose(own.depth, other.depth, atol=1e-4)


@cache
def repainter(generator: int = 2) -> Repainter:
    return Repainter(house(generator))


@pytest.mark.parametrize(("level", "scene_mode"), [(1, 0), (1, 2), (2, 1), (3, 3)])
def test_a_repainted_house_looks_like_a_prepared_one(level: int, scene_mode: int) -> None:
    drawn = draw(level, scene_mode=scene_mode)
    shown = take_pictures(Renderer(repainter().paint(drawn, EPISODE)), house())
    expected = take_pictures(Renderer(randomize_scene(house(), drawn, EPISODE)), house())
    plain = take_pictures(Renderer(house()), house())
    compare(shown, expected, colours=10, ties=0.001)
    assert any(not np.array_equal(own.rgb, other.rgb) for own, other in zip(shown, plain, strict=True))


def test_clutter_of_the_look_before_is_gone_and_learned_views_decide_nothing() -> None:
    first, second = (repainter().paint(draw(3, scene_mode=3, name=name), EPISODE) for name in "ab")
    assert first.digest == second.digest
    renderer = Renderer(second)
    fresh = take_pictures(renderer, house())
    renderer.repaint(repainter().paint(draw(3, scene_mode=3, name="a"), EPISODE))
    take_pictures(renderer, house())
    again = repainter().paint(draw(3, scene_mode=3, name="b"), EPISODE)
    renderer.repaint(again)
    compare(take_pictures(renderer, house()), fresh, colours=0)
    compare(take_pictures(Renderer(again, culling=False), house()), fresh, colours=0)


def test_another_scene_is_no_look_of_this_one() -> None:
    renderer = Renderer(repainter().paint(draw(1, scene_mode=0), EPISODE))
    assert not renderer.can_repaint(house())
    assert not renderer.can_repaint(Renderer(house()).prepared)


def make_lit_scene() -> Scene:
    """Boxes in a house without our names for surfaces."""
    things = [
        PrimitiveCubeCfg(name=f"box_{n}", category="table", position=(n - 1.0, 0.4, -2.0), size=(0.8, 0.8, 0.8))
        for n in range(3)
    ]
    base = house()
    empty = replace(
        base,
        triangles=base.triangles[:0],
        triangle_material=base.triangle_material[:0],
        triangle_object=base.triangle_object[:0],
        triangle_category=base.triangle_category[:0],
        semantics=replace(base.semantics, objects=()),
    )
    return place_objects(empty, things, root=Path()).scene


LAMP = Light(kind="point", position=(0.0, 3.0, 0.0), intensity=9.0)
SUN = Light(kind="sun", direction=(-0.3, -0.8, -0.5), intensity=2.0)


@pytest.mark.parametrize("light", [LAMP, SUN, None], ids=["a lamp of its own", "a sun of its own", "plain light"])
@pytest.mark.parametrize(("level", "scene_mode"), [(1, 2), (3, 3)])
def test_lit_surfaces_are_repainted_too(level: int, scene_mode: int, light: Light | None) -> None:
    scene = replace(make_lit_scene(), lights=() if light is None else (light,))
    drawn = draw(level, scene_mode=scene_mode)
    camera = Camera(
        position=(0.0, 1.6, 0.5),
        rotation=make_rotation(0.0, -0.4, 0.0),
        width=160,
        height=120,
        hfov=90.0,
        near=0.05,
        far=50.0,
    )
    repainter = Repainter(scene)
    repainter.paint(draw(level, scene_mode=scene_mode, name="the one before"), EPISODE)
    shown = Renderer(repainter.paint(drawn, EPISODE)).render(camera, ALL_CHANNELS)
    expected = Renderer(randomize_scene(scene, drawn, EPISODE)).render(camera, ALL_CHANNELS)
    assert len(np.unique(expected.instance)) > (5 if scene_mode == 3 else 3)
    compare([shown], [expected], colours=4)


@pytest.mark.parametrize("generator", [1, 2])
def test_light_adds_up_over_lights(generator: int) -> None:
    scene = house(generator)
    tinted = tuple(
        replace(light, intensity=round(0.8 * light.intensity, 5), color=(0.9, 0.8, 0.7)) for light in scene.lights
    )
    relight = HouseRelighting(scene)
    quick, slow = relight(tinted)[relight.places], bake_house_light(replace(scene, lights=tinted))
    assert np.abs(quick.astype(int) - slow.astype(int)).max() <= 1


def test_lights_that_change_one_by_one_are_baked_again() -> None:
    scene = house()
    lights = tuple(replace(light, intensity=light.intensity * (0.5 + n % 3)) for n, light in enumerate(scene.lights))
    relight = HouseRelighting(scene)
    assert np.array_equal(relight(lights)[relight.places], bake_house_light(replace(scene, lights=lights)))


def test_textures_of_looks_are_read_from_files_and_show_the_same(tmp_path: Path) -> None:
    drawn = draw(1, scene_mode=0)
    from_files = Repainter(house(), textures=tmp_path).paint(drawn, EPISODE)
    compare(
        take_pictures(Renderer(from_files), house()),
        take_pictures(Renderer(repainter().paint(drawn, EPISODE)), house()),
        colours=0,
    )
    assert {id(texture) for texture in from_files.textures} & from_files.stored.keys()
    assert {stored.path for stored in from_files.stored.values()} == set(tmp_path.iterdir())


def test_a_look_that_follows_another_shows_what_it_shows_alone() -> None:
    looks = [draw(2, scene_mode=2, name=name) for name in "ab"]
    alone = take_pictures(Renderer(repainter().paint(looks[1], EPISODE)), house())
    renderer = Renderer(repainter().paint(looks[0], EPISODE))
    take_pictures(renderer, house())
    renderer.repaint(repainter().paint(looks[1], EPISODE))
    compare(take_pictures(renderer, house()), alone, colours=0)


def test_neighbours_that_are_drawn_alike_are_drawn_by_one_call() -> None:
    gpu = Renderer(repainter().paint(draw(1, scene_mode=0), EPISODE))._gpu
    one, other = (_DrawState(*[None] * 3, cutoff=cutoff) for cutoff in (None, 0.5))  # type: ignore[arg-type]
    outputs = ("color",)
    gpu._brushes[outputs, False] = dict(enumerate((one, one, other)))
    runs = [DrawRun(0, 0, 5), DrawRun(1, 5, 2), DrawRun(2, 7, 1), DrawRun(1, 9, 1)]  # between the last two is a gap
    joined = list(gpu._join_runs(runs, outputs, layered=False))
    assert joined == [(one, 0, 7), (other, 7, 1), (one, 9, 1)]
