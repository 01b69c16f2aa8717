"""Pictures that are fetched later have the bits of those that are waited for; software stands in for a card."""

import numpy as np
import pytest
from analytic_scenes import cluttered_rooms
from test_batches import assert_equal, furnish, wander

from nav_eval.simulator.rendering import ALL_CHANNELS, Camera, Channel, Device, Frame, Renderer


@pytest.fixture
def card(device: Device, monkeypatch: pytest.MonkeyPatch) -> Device:
    """A device that takes the way of graphics cards."""
    monkeypatch.setattr(Device, "is_software", property(lambda _: False))
    return device


def make_room(cameras: list[Camera], channels=ALL_CHANNELS) -> list[Frame]:
    return [Frame.empty(camera.width, camera.height, channels) for camera in cameras]


@pytest.mark.parametrize("channels", [ALL_CHANNELS, [Channel.RGB], [Channel.RGB, Channel.DEPTH], [Channel.INSTANCE]])
@pytest.mark.parametrize("count", [1, 4])
def test_what_is_drawn_meanwhile_changes_nothing(card: Device, channels, count: int) -> None:
    """Four submissions onto one canvas before the first is fetched, alone and in layers; fetched in another order."""
    cameras = wander(1, 4 * count, width=48, height=32)
    groups = [cameras[n : n + count] for n in range(0, len(cameras), count)]
    with Renderer(furnish(1), device=card) as renderer:
        expected = [renderer.render(camera, channels) for camera in cameras]
        submitted = [renderer.submit(group, channels, make_room(group, channels)) for group in groups]
        assert len(renderer._targets) == (1 if count == 1 else 2)
        collected = {number: submitted[number][0].collect() for number in (2, 0, 3, 1)}
        frames = [frame for number in range(4) for frame in collected[number]]
    for one, other in zip(frames, expected, strict=True):
        assert_equal(one, other, channels)


def test_frames_are_filled_when_they_are_collected_and_once(card: Device) -> None:
    [camera] = wander(2, 1, width=16, height=16)
    [frame] = make_room([camera])
    frame.depth[:] = -1
    with Renderer(cluttered_rooms(2), device=card) as renderer:
        [pending] = renderer.submit([camera], ALL_CHANNELS, [frame])
        assert (frame.depth == -1).all()
        assert pending.collect() == [frame]
        assert (frame.depth >= 0).all()
        frame.depth[:] = -1
        pending.collect()
        assert (frame.depth == -1).all()


def test_buffers_serve_again(card: Device) -> None:
    cameras = wander(3, 6, width=16, height=16)
    with Renderer(cluttered_rooms(3), device=card) as renderer:
        for camera in cameras:
            [pending] = renderer.submit([camera], [Channel.RGB], make_room([camera], [Channel.RGB]))
            pending.collect()
        [target] = renderer._targets.values()
        assert len(target._copies) == 1


def test_in_software_nothing_is_put_off(device: Device) -> None:
    cameras = wander(4, 3, width=16, height=16)
    with Renderer(cluttered_rooms(4), device=device) as renderer:
        room = make_room(cameras)
        renderer.submit(cameras, ALL_CHANNELS, room)
        for camera, frame in zip(cameras, room, strict=True):
            assert_equal(frame, renderer.render(camera, ALL_CHANNELS))
            assert np.any(frame.rgb)
