"""Leaving out what cannot be seen must not change one bit of a picture."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from analytic_scenes import SceneBuilder, cluttered_rooms

from nav_eval.scene.formats import read_scene
from nav_eval.scene.model import AlphaMode, Light, Shading, Texture
from nav_eval.simulator.rendering import ALL_CHANNELS, Camera, Channel, Frame, Renderer, prepare_scene
from support.paths import TESTS

SCENES = TESTS / "../../shared/data/scenes"


def differences(one: Frame, other: Frame) -> dict[str, int]:
    pairs = {channel: (getattr(one, channel), getattr(other, channel)) for channel in ALL_CHANNELS}
    return {channel: int((a != b).sum()) for channel, (a, b) in pairs.items() if not np.array_equal(a, b)}


def walk(seed: int, steps: int, *, rooms: int = 4, **lens) -> list[Camera]:
    """Small steps and turns, with looks up and down, through the rooms and through their walls."""
    rng = np.random.default_rng(seed)
    position, yaw = rng.random(3) * (4 * rooms, 1.0, 4) + (0, 0.7, 0), 0.0
    cameras = []
    for _ in range(steps):
        yaw += math.radians(rng.choice([-30, 0, 0, 0, 30]))
        position = position + 0.25 * np.array([-math.sin(yaw), 0, -math.cos(yaw)])
        if not 0 < position[0] < 4 * rooms or not 0 < position[2] < 4:
            position, yaw = rng.random(3) * (4 * rooms, 1.0, 4) + (0, 0.7, 0), rng.random() * 7
        cameras.append(Camera.from_angles(tuple(position), yaw=yaw, pitch=rng.choice([-0.5, 0, 0, 0.5]), **lens))
    return cameras


@pytest.mark.parametrize("seed", range(4))
def test_culled_equals_unculled_where_everything_touches(device, seed):
    scene = prepare_scene(cluttered_rooms(seed))
    with Renderer(scene, device=device) as culled, Renderer(scene, device=device, culling=False) as unculled:
        for camera in walk(seed, 40, width=160, height=120):
            expected = unculled.render(camera, ALL_CHANNELS)
            assert differences(culled.render(camera, ALL_CHANNELS), expected) == {}
            assert differences(culled.render(camera, ALL_CHANNELS), expected) == {}, (
                "the second time, with what it learned"
            )


@pytest.mark.parametrize("lamps", [0, 3])
def test_lit_surfaces_are_no_exception(device, lamps):
    """Dull, glossy and metal ones, glass among them, under the plain light and under lamps."""
    shades = (Shading(), Shading(roughness=0.3), Shading(metallic=1.0, roughness=0.5), Shading(transmission=0.8))
    scene = cluttered_rooms(7)
    materials = tuple(
        replace(
            material,
            unlit=False,
            shading=shades[number % 4],
            alpha_mode=AlphaMode.BLEND if number % 4 == 3 else material.alpha_mode,
        )
        for number, material in enumerate(scene.materials)
    )
    lights = tuple(
        Light(kind="point", intensity=3.0, position=(5.0 * n + 1, 2.5, 2.0), range=9.0) for n in range(lamps)
    )
    prepared = prepare_scene(replace(scene, materials=materials, lights=lights))
    with Renderer(prepared, device=device) as culled, Renderer(prepared, device=device, culling=False) as unculled:
        for camera in walk(7, 25, width=160, height=120):
            expected = unculled.render(camera, ALL_CHANNELS)
            assert differences(culled.render(camera, ALL_CHANNELS), expected) == {}
            assert differences(culled.render(camera, ALL_CHANNELS), expected) == {}


def test_what_was_seen_before_does_not_matter(device):
    scene = prepare_scene(cluttered_rooms(5))
    cameras = walk(5, 30, width=160, height=120)
    with Renderer(scene, device=device) as forward, Renderer(scene, device=device) as backward:
        pictures = [forward.render(camera, ALL_CHANNELS) for camera in cameras]
        again = [backward.render(camera, ALL_CHANNELS) for camera in reversed(cameras)]
    for one, other in zip(pictures, reversed(again), strict=True):
        assert differences(one, other) == {}


@pytest.mark.parametrize("shape", [(37, 23), (8, 8), (1, 1), (200, 9)])
def test_odd_picture_sizes(device, shape):
    scene = prepare_scene(cluttered_rooms(6))
    width, height = shape
    with Renderer(scene, device=device) as culled, Renderer(scene, device=device, culling=False) as unculled:
        for camera in walk(6, 12, width=width, height=height, hfov=110.0):
            assert differences(culled.render(camera, ALL_CHANNELS), unculled.render(camera, ALL_CHANNELS)) == {}


def test_a_scene_far_from_the_origin(device):
    """Single precision is coarse there; the margins must grow with it."""
    build = SceneBuilder()
    rng = np.random.default_rng(0)
    here = np.array([2000.0, 50.0, -3000.0])
    for number in range(200):
        low = here + rng.random(3) * (6, 3, 6)
        build.box(low, low + rng.random(3) * 0.5 + 0.05, build.color(tuple(rng.integers(0, 256, 3))), object_id=number)
    scene = prepare_scene(build.build())
    with Renderer(scene, device=device) as culled, Renderer(scene, device=device, culling=False) as unculled:
        for turn in range(24):
            camera = Camera.from_angles(tuple(here + rng.random(3) * (6, 3, 6)), yaw=turn, width=160, height=120)
            assert differences(culled.render(camera, ALL_CHANNELS), unculled.render(camera, ALL_CHANNELS)) == {}


def test_what_stands_behind_glass_is_not_forgotten(device):
    build = SceneBuilder()
    glass = build.material(base_color=(0.2, 0.4, 0.6, 0.3), alpha_mode=AlphaMode.BLEND, double_sided=True)
    rng = np.random.default_rng(3)
    for number in range(60):
        low = rng.random(3) * (6, 2, 6)
        material = glass if number % 3 else build.color(tuple(rng.integers(0, 256, 3)))
        build.box(low, low + 0.5, material, object_id=number)
    scene = prepare_scene(build.build())
    with Renderer(scene, device=device) as culled, Renderer(scene, device=device, culling=False) as unculled:
        for turn in range(20):
            camera = Camera.from_angles((3 + 2 * math.sin(turn), 1, 3), yaw=turn, width=160, height=120)
            for _ in range(2):
                assert differences(culled.render(camera, ALL_CHANNELS), unculled.render(camera, ALL_CHANNELS)) == {}


def test_late_triangles_behind_holes_tie_with_nothing_that_is_missed(device, monkeypatch):
    """Masks that coincide with walls, drawn late: whether they tie is asked without looking at their holes."""
    build = SceneBuilder()
    holes = np.full((2, 2, 4), 255, dtype=np.uint8)
    holes[0, 0, 3] = 0
    net = build.material(Texture(pixels=holes, nearest=True), alpha_mode=AlphaMode.MASK)
    wall = build.color((90, 20, 20))
    for z in range(6):
        build.wall((0, 0), (4, 3), -z, net if z % 2 else wall)
        build.wall((0.5, 0.5), (3, 2), -z, wall if z % 2 else net)
    scene = prepare_scene(build.build())
    with Renderer(scene, device=device) as culled, Renderer(scene, device=device, culling=False) as unculled:
        asked = []
        ask = culled._gpu.draw_depths
        monkeypatch.setattr(culled._gpu, "draw_depths", lambda *a, **k: (asked.append(a), ask(*a, **k)))
        for camera in walk(8, 40, rooms=1, width=160, height=120):
            assert differences(culled.render(camera, ALL_CHANNELS), unculled.render(camera, ALL_CHANNELS)) == {}
    assert asked, "nothing was late"


def test_little_is_drawn_of_a_scene_that_is_mostly_hidden(device, monkeypatch):
    scene = prepare_scene(cluttered_rooms(7, boxes=600, rooms=12))
    with Renderer(scene, device=device) as renderer:
        drawn = []
        write = renderer._gpu.write_triangles
        monkeypatch.setattr(renderer._gpu, "write_triangles", lambda rows: (drawn.append(len(rows)), write(rows)))
        camera = Camera.from_angles((2, 1.5, 2), yaw=-math.pi / 2, width=160, height=120)
        renderer.render(camera, [Channel.RGB])
        drawn.clear()
        renderer.render(camera, [Channel.RGB])
    assert len(drawn) == 1, "the learned set is complete"
    assert drawn[0] < scene.triangle_count / 8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small_house", "hospital_two_floors", "apartment"])
def test_five_hundred_steps_in_real_houses(device, name):
    path = SCENES / f"{name}.glb"
    if not path.exists():
        pytest.skip(f"{path} is not on this machine")
    from nav_eval.simulator.rendering.throughput import make_walk

    scene = read_scene(path)
    prepared = prepare_scene(scene)
    cameras = [Camera.from_angles((x, y, z), yaw=yaw) for x, y, z, yaw in make_walk(scene, steps=500, seed=1)]
    with Renderer(prepared, device=device) as culled, Renderer(prepared, device=device, culling=False) as unculled:
        wrong = {}
        for number, camera in enumerate(cameras):
            expected = unculled.render(camera, ALL_CHANNELS)
            for visit in range(2):  # the second time with what it learned
                found = differences(culled.render(camera, ALL_CHANNELS), expected)
                if found:
                    wrong[f"{number}/{visit}"] = found
    assert wrong == {}, json.dumps(wrong)
