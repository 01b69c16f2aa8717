"""Pictures of wide lenses against a ray caster: colours, depths and ids of every pixel."""

import math

import numpy as np
import pytest
from analytic_scenes import BLUE, GREEN, RED, WHITE, SceneBuilder

from nav_eval.errors import BadCamera
from nav_eval.records.geometry import Pose, make_rotation, to_rotation_matrix
from nav_eval.sensors import DepthSensor, LensConfig, RgbSensor
from nav_eval.simulator.camera_rig import CameraRig
from nav_eval.simulator.rendering import ALL_CHANNELS, Camera, Channel, Frame, Renderer
from nav_eval.simulator.wide_lens import WideLens, draw_wide_picture

AROUND = LensConfig(model="equirectangular")
FISHEYE = LensConfig(model="fisheye", focal_length=(40.0, 40.0), alpha=0.59, xi=-0.18)
NARROW = LensConfig(model="fisheye", focal_length=(60.0, 55.0), principal_point=(60.0, 70.0), alpha=0.6, xi=0.1)

#: walls, floor and ceiling of a room of 8 × 3.5 × 8 m, and two things in it
BOXES = [
    ((-5.0, -2.5, -4.0), (5.0, 3.0, -3.0), RED),
    ((-5.0, -2.5, 5.0), (5.0, 3.0, 6.0), GREEN),
    ((-5.0, -2.5, -3.0), (-4.0, 3.0, 5.0), BLUE),
    ((4.0, -2.5, -3.0), (5.0, 3.0, 5.0), WHITE),
    ((-4.0, -2.5, -3.0), (4.0, -1.5, 5.0), GREEN),
    ((-4.0, 2.0, -3.0), (4.0, 3.0, 5.0), BLUE),
    ((1.0, -1.5, -1.0), (2.0, 0.5, 0.5), RED),
    ((-2.5, -0.5, 1.0), (-1.5, 0.7, 2.5), WHITE),
]
EYE = Camera(position=(0.3, 0.1, 0.7), rotation=make_rotation(0.4, 0.2, 0.1), width=128, height=120)


@pytest.fixture(scope="module")
def renderer(device):
    build = SceneBuilder()
    for number, (lower, upper, color) in enumerate(BOXES, start=1):
        build.box(lower, upper, build.color(color), object_id=number, category=number)
    with Renderer(build.build(), device=device) as made:
        yield made


def cast_rays(camera: Camera, lens: LensConfig) -> tuple[np.ndarray, np.ndarray]:
    """Metres along the ray and object of every pixel; 0 where nothing is hit."""
    rays = WideLens(settings=lens, width=camera.width, height=camera.height).compute_rays()
    rays = rays @ to_rotation_matrix(camera.rotation).T
    nearest, thing = np.full(rays.shape[:2], np.inf), np.zeros(rays.shape[:2], dtype=np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        for number, (lower, upper, _) in enumerate(BOXES, start=1):
            first, second = ((np.array(corner) - camera.position) / rays for corner in (lower, upper))
            enter, leave = np.minimum(first, second).max(axis=-1), np.maximum(first, second).min(axis=-1)
            hit = (enter <= leave) & (enter > 0) & (enter < nearest)
            nearest[hit], thing[hit] = enter[hit], number
    return np.where(thing > 0, nearest, 0.0), thing


@pytest.mark.parametrize("lens", [AROUND, FISHEYE, NARROW])
def test_every_pixel_shows_what_its_ray_meets(renderer, lens):
    frame = draw_wide_picture(renderer, EYE, lens, ALL_CHANNELS)
    metres, thing = cast_rays(EYE, lens)
    seen = (WideLens(settings=lens, width=EYE.width, height=EYE.height).compute_rays() != 0).any(axis=-1)
    same = frame.instance == thing
    assert same[seen].mean() > 0.98  # the rest is on edges, where half a pixel decides
    assert np.array_equal(frame.instance, frame.semantic.astype(np.uint32))
    inner = seen & same & ~_find_edges(thing)
    assert inner.mean() > 0.5 * seen.mean()
    off = np.abs(frame.depth[inner] / metres[inner] - 1.0)
    assert np.percentile(off, 98) < 1e-4  # exact on planes
    assert off.max() < 0.05  # where two sides of one thing meet
    assert (frame.rgb[inner] == np.array([(0, 0, 0), *(color for *_, color in BOXES)])[thing[inner]]).all()
    for channel in ALL_CHANNELS:
        assert not getattr(frame, channel)[~seen].any()


def _find_edges(thing: np.ndarray) -> np.ndarray:
    """Pixels within two of another object."""
    edges = np.zeros(thing.shape, dtype=bool)
    for down in range(-2, 3):
        for across in range(-2, 3):
            edges |= np.roll(thing, (down, across), axis=(0, 1)) != thing
    return edges


def test_the_middle_is_ahead_and_the_edges_are_behind():
    rays = WideLens(settings=AROUND, width=8, height=4).compute_rays()
    assert (rays[1:3, 3:5, 2] < 0).all()
    assert (rays[1:3, [0, 7], 2] > 0).all()
    assert (rays[0, :, 1] > 0.9).all()
    assert (rays[1:3, 5, 0] > 0).all()


def test_a_fisheye_without_distortion_is_a_pinhole(renderer):
    lens = LensConfig(model="fisheye", focal_length=(64.0, 64.0), alpha=0.0, xi=0.0)
    rays = WideLens(settings=lens, width=EYE.width, height=EYE.height).compute_rays()
    plain = renderer.render(Camera(position=EYE.position, rotation=EYE.rotation, width=128, height=120), ALL_CHANNELS)
    wide = draw_wide_picture(renderer, EYE, lens, ALL_CHANNELS)
    assert math.degrees(2 * math.atan(64 / 64.0)) == pytest.approx(EYE.hfov)
    same = plain.instance == wide.instance
    assert same.mean() > 0.98
    inner = same & ~_find_edges(plain.instance)
    assert np.allclose(wide.depth[inner], (plain.depth / -rays[..., 2])[inner], rtol=1e-3)


def test_a_rig_draws_wide_sensors_and_others_apart(renderer):
    lens = {"model": "equirectangular"}
    rig = CameraRig(
        {
            "rgb": RgbSensor(width=64, height=32, position=(0.0, 0.5, 0.0), lens=lens),
            "depth": DepthSensor(width=64, height=32, position=(0.0, 0.5, 0.0), lens=lens),
            "ahead": RgbSensor(width=64, height=32, position=(0.0, 0.5, 0.0)),
        }
    )
    place = np.empty((32, 64), np.float32)
    pictures = rig.face(renderer, Pose((0.3, -0.4, 0.7)), out={"depth": place})
    views = {
        name: pictures.draw_camera(name, sensor) for mount in rig.passes.values() for name, sensor in mount.items()
    }
    assert views["depth"] is place
    assert place.min() > 0.3
    assert not np.array_equal(views["rgb"], views["ahead"])
    assert RgbSensor(lens=lens).spec.camera is None  # no pinhole to tell of
    assert RgbSensor().spec.camera is not None


def test_arrays_that_do_not_fit_are_refused(renderer):
    with pytest.raises(BadCamera):
        draw_wide_picture(renderer, EYE, AROUND, [Channel.RGB], Frame.empty(8, 8, [Channel.RGB]))
