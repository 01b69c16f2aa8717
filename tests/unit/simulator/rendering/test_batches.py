"""Pictures that are drawn together are the pictures that are drawn one by one, bit for bit."""

import math
from dataclasses import replace

import numpy as np
import pytest
from analytic_scenes import SceneBuilder, cluttered_rooms

from nav_eval.errors import BadCamera
from nav_eval.scene.model import AlphaMode, Light, Shading
from nav_eval.simulator.rendering import ALL_CHANNELS, Camera, Channel, Frame, Renderer, prepare_scene
from nav_eval.simulator.rendering.render_target import Atlas


def wander(seed: int, count: int, **lens: float) -> list[Camera]:
    """Places and directions all over the rooms, many of them in one cell."""
    rng = np.random.default_rng(seed)
    places = rng.random((count, 3)) * (4, 1.0, 4) + (0, 0.7, 0)
    return [
        Camera.from_angles(tuple(p), yaw=rng.choice(12) * math.pi / 6, pitch=rng.choice([0, 0.5]), **lens)
        for p in places
    ]


def furnish(seed: int, *, lamps: int = 0):
    """Rooms whose surfaces are plain, dull, glossy and see-through, so that every kind of program draws."""
    scene = cluttered_rooms(seed)
    shades = (Shading(), Shading(roughness=0.3), Shading(metallic=1.0), Shading(transmission=0.8))
    materials = tuple(
        replace(
            material,
            unlit=number % 5 == 4,
            shading=shades[number % 4],
            alpha_mode=AlphaMode.BLEND if number % 4 == 3 else material.alpha_mode,
        )
        for number, material in enumerate(scene.materials)
    )
    lights = tuple(Light(kind="point", intensity=3.0, position=(3.0 * n, 2.5, 2.0), range=9.0) for n in range(lamps))
    return prepare_scene(replace(scene, materials=materials, lights=lights))


def assert_equal(one: Frame, other: Frame, channels=ALL_CHANNELS) -> None:
    for channel in channels:
        np.testing.assert_array_equal(getattr(one, channel), getattr(other, channel), err_msg=channel)


@pytest.mark.parametrize(("seed", "lamps", "size"), [(0, 0, (64, 64)), (1, 0, (33, 21)), (2, 3, (128, 128))])
def test_a_batch_equals_single_pictures(device, seed, lamps, size):
    """Whatever either of the two learned before: a few at a time, which makes poor guesses, then all once more."""
    scene = furnish(seed, lamps=lamps) if lamps else prepare_scene(cluttered_rooms(seed))
    cameras = wander(seed, 32, width=size[0], height=size[1])
    with Renderer(scene, device=device) as together, Renderer(scene, device=device) as alone:
        expected = [alone.render(camera, ALL_CHANNELS) for camera in cameras]
        few = [frame for n in range(0, 32, 4) for frame in together.render_batch(cameras[n : n + 4], ALL_CHANNELS)]
        for frames in (few, together.render_batch(cameras, ALL_CHANNELS)):
            for one, other in zip(frames, expected, strict=True):
                assert_equal(one, other)


@pytest.mark.parametrize("channels", [[Channel.RGB], [Channel.DEPTH], [Channel.RGB, Channel.INSTANCE]])
def test_any_channels(device, channels):
    cameras = wander(4, 12, width=48, height=48)
    with Renderer(furnish(4), device=device) as renderer:
        expected = [renderer.render(camera, channels) for camera in cameras]
        for one, other in zip(renderer.render_batch(cameras, channels), expected, strict=True):
            assert_equal(one, other, channels)
            assert one.semantic is None


def test_cameras_of_several_sizes_come_back_in_order(device):
    cameras = [camera for size in (40, 64) for camera in wander(size, 5, width=size, height=40)]
    mixed = [cameras[number] for number in (0, 5, 1, 6, 7, 2, 8, 3, 9, 4)]
    with Renderer(cluttered_rooms(5), device=device) as renderer:
        for camera, frame in zip(mixed, renderer.render_batch(mixed, ALL_CHANNELS), strict=True):
            assert_equal(frame, renderer.render(camera, ALL_CHANNELS))


def test_frames_of_the_caller_are_filled(device):
    """Rows of one array, as a vector environment has them; what is not asked for is left alone."""
    cameras = wander(6, 7, width=32, height=24)
    rgb, depth = np.zeros((7, 24, 32, 3), np.uint8), np.full((7, 24, 32), -1, np.float32)
    places = [Frame(rgb=rgb[number], depth=depth[number]) for number in range(7)]
    with Renderer(cluttered_rooms(6), device=device) as renderer:
        renderer.render_batch(cameras, [Channel.RGB], out=places)
        for number, camera in enumerate(cameras):
            np.testing.assert_array_equal(rgb[number], renderer.render(camera, [Channel.RGB]).rgb)
        assert (depth == -1).all()
        with pytest.raises(BadCamera, match="one frame per camera"):
            renderer.render_batch(cameras, [Channel.RGB], out=places[:3])
        with pytest.raises(BadCamera, match="C-contiguous"):
            renderer.render_batch(cameras, [Channel.SEMANTIC], out=places)


def test_more_cameras_than_layers_and_none_at_all(device):
    cameras = wander(7, 70, width=16, height=16)
    with Renderer(cluttered_rooms(7), device=device) as renderer:
        assert renderer.render_batch([], [Channel.RGB]) == []
        frames = renderer.render_batch(cameras, [Channel.RGB])
        for number in (0, 63, 64, 69):
            np.testing.assert_array_equal(frames[number].rgb, renderer.render(cameras[number], [Channel.RGB]).rgb)


def test_the_background_is_everywhere_where_nothing_is(device):
    build = SceneBuilder()
    build.box(np.zeros(3), np.ones(3), build.color((10, 20, 30)), object_id=1)
    scene = replace(prepare_scene(build.build()), background=(200, 100, 50))
    cameras = [Camera.from_angles((0.5, 0.5, 3), yaw=yaw, width=8, height=8) for yaw in (math.pi, 0, math.pi)]
    with Renderer(scene, device=device) as renderer:
        away, towards, _ = renderer.render_batch(cameras, ALL_CHANNELS)
    assert (away.rgb == (200, 100, 50)).all()
    assert not away.depth.any()
    assert not away.instance.any()
    assert towards.instance.any()


def test_without_layers_pictures_are_drawn_one_by_one(device, monkeypatch):
    """Older drivers cannot choose a layer where vertices are placed."""
    cameras = wander(8, 6, width=32, height=32)
    with Renderer(cluttered_rooms(8), device=device) as renderer:
        expected = renderer.render_batch(cameras, [Channel.RGB])
        monkeypatch.setattr(Atlas, "__init__", None)
        monkeypatch.setattr(renderer, "_draws_layers", False)
        for one, other in zip(renderer.render_batch(cameras, [Channel.RGB]), expected, strict=True):
            np.testing.assert_array_equal(one.rgb, other.rgb)
