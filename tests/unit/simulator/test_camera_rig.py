"""From sensor configurations to cameras, and from renderer output to sensor readings."""

import math

import numpy as np
import pytest

from nav_eval.dataset.episode import Episode, PrivateEpisode, PublicEpisode
from nav_eval.records.geometry import Pose, get_yaw, make_yaw_rotation, rotate_vector
from nav_eval.sensors import DepthSensor, NoiseConfig, RgbSensor, SensorContext
from nav_eval.simulator.camera_rig import CameraJitter, CameraRig, Mount
from nav_eval.simulator.rendering import Camera, Channel, Frame

FACING_LEFT = Pose((1.0, 0.0, 2.0), make_yaw_rotation(math.pi / 2))


def make_mount(**settings: object) -> Mount:
    return Mount.from_settings(RgbSensor.model_validate({"position": (0.0, 1.2, 0.0)} | settings))


def test_a_camera_rides_on_the_robot() -> None:
    ahead = make_mount(position=(0.0, 1.2, -0.5)).make_camera(FACING_LEFT, tilt=0.0)
    assert ahead.position == pytest.approx((0.5, 1.2, 2.0))
    assert get_yaw(ahead.rotation) == pytest.approx(math.pi / 2)


@pytest.mark.parametrize("yaw", [60.0, -60.0])
def test_yaw_turns_left(yaw: float) -> None:
    camera = make_mount(yaw=yaw).make_camera(Pose((0.0, 0.0, 0.0)), tilt=0.0)
    assert get_yaw(camera.rotation) == pytest.approx(math.radians(yaw))


def test_tilt_adds_to_pitch_for_every_camera() -> None:
    camera = make_mount(pitch=-10.0, yaw=60.0).make_camera(Pose((0.0, 0.0, 0.0)), tilt=-20.0)
    _, up, _ = rotate_vector(camera.rotation, (0.0, 0.0, -1.0))
    assert up == pytest.approx(math.sin(math.radians(-30)))


def test_jitter_is_nothing_unless_drawn() -> None:
    plain = make_mount()
    assert plain.apply_jitter(CameraJitter()) == plain
    moved = plain.apply_jitter(CameraJitter(height=0.05, pitch=2.0, hfov=-3.0))
    assert moved.position == pytest.approx((0.0, 1.25, 0.0))
    assert (moved.pitch, moved.hfov) == (2.0, 87.0)


class RecordingRenderer:
    """Delivers a ramp of depths, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Camera, frozenset[Channel]]] = []

    def render(self, camera: Camera, channels: set[Channel]) -> Frame:
        self.asked.append((camera, frozenset(channels)))
        frame = Frame.empty(camera.width, camera.height, channels)
        if frame.depth is not None:
            frame.depth[:] = np.linspace(0, 12, camera.width, dtype=np.float32)
        if frame.rgb is not None:
            frame.rgb[:] = 128
        return frame


def take(sensors: dict, wanted: list[str], *, step: int = 0) -> tuple[dict, RecordingRenderer]:
    renderer = RecordingRenderer()
    chosen = {name: sensors[name] for name in wanted}
    episode = Episode(public=PublicEpisode(episode_id="e"), private=PrivateEpisode(scene_id="s", start=FACING_LEFT))
    pictures = CameraRig(chosen).face(renderer, FACING_LEFT)  # type: ignore[arg-type]
    context = SensorContext(episode=episode, start=FACING_LEFT, now=FACING_LEFT, step=step, seed=7, pictures=pictures)
    return {name: sensor.read(name, context) for name, sensor in chosen.items()}, renderer


def test_sensors_that_share_a_lens_share_a_pass() -> None:
    sensors = {"rgb": RgbSensor(), "depth": DepthSensor(), "rgb_left": RgbSensor(yaw=60.0)}
    shots, renderer = take(sensors, ["rgb", "depth", "rgb_left"])
    assert set(shots) == {"rgb", "depth", "rgb_left"}
    assert [channels for _, channels in renderer.asked] == [{Channel.RGB, Channel.DEPTH}, {Channel.RGB}]


def test_only_what_is_asked_for_is_drawn() -> None:
    shots, renderer = take({"rgb": RgbSensor(), "depth": DepthSensor()}, ["depth"])
    assert set(shots) == {"depth"}
    assert renderer.asked[0][1] == {Channel.DEPTH}


def test_depth_keeps_to_its_range() -> None:
    shots, _ = take({"depth": DepthSensor(min_depth=0.5, max_depth=5.0)}, ["depth"])
    assert (shots["depth"].min(), shots["depth"].max()) == (0.5, 5.0)


def test_depth_can_be_normalised() -> None:
    shots, _ = take({"depth": DepthSensor(min_depth=2.0, max_depth=6.0, normalize=True)}, ["depth"])
    assert (shots["depth"].min(), shots["depth"].max()) == (0.0, 1.0)


@pytest.mark.parametrize("model", ["gaussian", "redwood"])
def test_noise_depends_on_the_moment_and_on_nothing_else(model: str) -> None:
    sensors = {"depth": DepthSensor(noise=NoiseConfig(model=model, intensity=1.0))}
    first, again = take(sensors, ["depth"])[0]["depth"], take(sensors, ["depth"])[0]["depth"]
    later = take(sensors, ["depth"], step=1)[0]["depth"]
    assert np.array_equal(first, again)
    assert not np.array_equal(first, later)


def test_noise_never_touches_ids() -> None:
    ids = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert NoiseConfig(model="gaussian", intensity=1.0).apply(ids, np.random.default_rng(1)) is ids


def test_gaussian_noise_on_colour_stays_colour() -> None:
    grey = np.full((64, 64, 3), 128, dtype=np.uint8)
    noisy = NoiseConfig(model="gaussian", intensity=0.1).apply(grey, np.random.default_rng(1))
    assert noisy.dtype == np.uint8
    assert noisy.std() == pytest.approx(25.5, rel=0.1)
