"""What a picture must show, computed by hand."""

import math

import numpy as np
import pytest
from analytic_scenes import BLUE, GREEN, RED, WHITE, SceneBuilder, solid_texture

from nav_eval.errors import SimulatorError
from nav_eval.scene.model import AlphaMode, Texture, Wrap
from nav_eval.simulator.rendering import ALL_CHANNELS, Camera, Channel, Frame, Renderer

RGB, DEPTH = Channel.RGB, Channel.DEPTH


def render(device, build: SceneBuilder, camera: Camera, channels=ALL_CHANNELS) -> Frame:
    with Renderer(build.build(), device=device) as renderer:
        return renderer.render(camera, channels)


def small(**pose) -> Camera:
    return Camera.from_angles(pose.pop("position", (0, 0, 0)), width=64, height=48, **pose)


def where(frame: Frame, color) -> tuple[int, int, int, int]:
    """First and last row and column of a colour."""
    rows, columns = np.nonzero((frame.rgb == color).all(axis=-1))
    return rows.min(), rows.max(), columns.min(), columns.max()


def test_a_box_lands_on_the_right_pixels_at_the_right_depth(device):
    build = SceneBuilder()
    build.box((0.5, 0.25, -3), (1.0, 0.75, -2), build.color(RED), object_id=7, category=2)
    frame = render(device, build, small())
    # Front face at z = −2, focal length 32: columns 32 + 32·(0.25 … 0.5), rows 24 − 32·(0.125 … 0.375).
    front = np.zeros((48, 64), dtype=bool)
    front[12:20, 40:48] = True
    assert np.array_equal(frame.depth == 2.0, front)
    assert (frame.rgb[front] == RED).all()
    assert (frame.instance[front] == 7).all()
    assert (frame.semantic[front] == 2).all()
    # Left of and below the front face its left and bottom sides show; everything else is nothing.
    assert where(frame, RED) == (12, 20, 37, 47)
    nothing = frame.depth == 0.0
    assert (frame.rgb[nothing] == 0).all()
    assert np.array_equal(frame.instance == 0, nothing)
    assert np.array_equal(frame.semantic == 0, nothing)


def test_depth_is_planar(device):
    build = SceneBuilder()
    build.wall((-10, -10), (10, 10), -2.5, build.color(RED))
    build_slanted = SceneBuilder()
    build_slanted.quad([(-9, -19, -1), (19, -19, -15), (19, 19, -15), (-9, 19, -1)], build_slanted.color(RED))
    assert (render(device, build, small(), [DEPTH]).depth == 2.5).all()
    # On the plane z = −1 − (x + 9)/2, along the ray (s, ·, −1): depth = 5.5 / (1 − s/2).
    slope = (np.arange(64) + 0.5 - 32) / 32
    depth = render(device, build_slanted, small(), [DEPTH]).depth
    assert np.allclose(depth, 5.5 / (1 - slope / 2), rtol=1e-5)


@pytest.mark.parametrize(
    ("pose", "expected"),
    [
        ({}, BLUE),
        ({"yaw": math.pi / 2}, RED),  # to the left
        ({"yaw": -math.pi / 2}, GREEN),
        ({"yaw": math.pi}, WHITE),
        ({"pitch": math.pi / 2}, (9, 9, 9)),  # up
        ({"pitch": -math.pi / 2}, (5, 5, 5)),
    ],
)
def test_left_is_left_and_up_is_up(device, pose, expected):
    build = SceneBuilder()
    build.box((-3, -0.1, -0.1), (-2, 0.1, 0.1), build.color(RED))
    build.box((2, -0.1, -0.1), (3, 0.1, 0.1), build.color(GREEN))
    build.box((-0.1, -0.1, -3), (0.1, 0.1, -2), build.color(BLUE))
    build.box((-0.1, -0.1, 2), (0.1, 0.1, 3), build.color(WHITE))
    build.box((-0.1, 2, -0.1), (0.1, 3, 0.1), build.color((9, 9, 9)))
    build.box((-0.1, -3, -0.1), (0.1, -2, 0.1), build.color((5, 5, 5)))
    frame = render(device, build, small(**pose), [RGB])
    assert tuple(frame.rgb[24, 32]) == expected


def test_looking_down_moves_things_up(device):
    build = SceneBuilder()
    build.wall((-0.2, -0.2), (0.2, 0.2), -2, build.color(RED))
    level = where(render(device, build, small(), [RGB]), RED)
    down = where(render(device, build, small(pitch=-0.2), [RGB]), RED)
    assert down[0] < level[0]
    assert down[1] < level[1]


def test_the_first_texture_row_is_on_top(device):
    build = SceneBuilder()
    picture = solid_texture((RED, GREEN), (BLUE, WHITE), nearest=True)
    build.wall((-1, -0.75), (1, 0.75), -1, build.material(picture))
    rgb = render(device, build, small(), [RGB]).rgb
    assert [tuple(rgb[row, column]) for row in (10, 40) for column in (15, 50)] == [RED, GREEN, BLUE, WHITE]


@pytest.mark.parametrize("shape", [(48, 64), (7, 5), (33, 1), (96, 128)])
def test_texture_bytes_are_picture_bytes(device, shape):
    """Seen head-on, one texel per pixel (or an odd number of pixels), unlit colours are not touched."""
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (*shape, 4), dtype=np.uint8)
    pixels[..., 3] = 255
    build = SceneBuilder()
    build.wall((-1, -0.75), (1, 0.75), -1, build.material(Texture(pixels=pixels)))
    camera = Camera.from_angles((0, 0, 0), width=shape[1] * 3, height=shape[0] * 3)
    half_height = shape[0] / shape[1]
    build.positions[0][:, 1] = [-half_height, -half_height, half_height, half_height]
    rgb = render(device, build, camera, [RGB]).rgb
    assert np.array_equal(rgb[1::3, 1::3], pixels[..., :3])  # the middle pixel of three is a texel's centre


@pytest.mark.parametrize(
    ("wrap", "expected"),
    [
        (Wrap.REPEAT, [RED, GREEN, RED, GREEN]),
        (Wrap.MIRROR, [RED, GREEN, GREEN, RED]),
        (Wrap.CLAMP, [RED, GREEN, GREEN, GREEN]),
    ],
)
def test_wrapping_on_odd_sizes(device, wrap, expected):
    build = SceneBuilder()
    row = (RED, RED, RED, GREEN, GREEN, GREEN, GREEN)
    picture = solid_texture(row, nearest=True, wrap_u=wrap, wrap_v=Wrap.CLAMP)
    build.wall((-1, -1), (1, 1), -1, build.material(picture), uvs=[(0, 1), (2, 1), (2, 0), (0, 0)])
    rgb = render(device, build, small(), [RGB]).rgb
    assert [tuple(rgb[24, column]) for column in (4, 28, 36, 60)] == expected


def test_two_textures_never_bleed_into_each_other(device):
    build = SceneBuilder()
    build.wall((-2, -2), (0, 2), -1, build.color(RED))
    build.wall((0, -2), (2, 2), -1, build.color(BLUE))
    rgb = render(device, build, small(), [RGB]).rgb
    assert (rgb[:, :32] == RED).all()
    assert (rgb[:, 32:] == BLUE).all()


def test_color_factors_are_linear(device):
    build = SceneBuilder()
    plain = build.material(base_color=(0.5, 0.25, 0.0, 1.0))
    build.wall((-2, -2), (0, 2), -1, plain)
    half_grey = np.full((4, 4), 128)
    build.wall((0, -2), (2, 2), -1, build.material(solid_texture(((200, 100, 50),))), colors=half_grey)
    rgb = render(device, build, small(), [RGB]).rgb
    assert tuple(rgb[24, 10]) == (188, 137, 0)  # sRGB of 0.5, 0.25, 0
    assert rgb[24, 50] == pytest.approx(np.array([200, 100, 50]) * 188 / 255, abs=1)


@pytest.mark.parametrize(("double_sided", "shown"), [(False, False), (True, True)])
def test_back_faces(device, double_sided, shown):
    build = SceneBuilder()
    build.wall((-1, -1), (1, 1), 2, build.color(RED, double_sided=double_sided))
    build.quad(build.positions[0][::-1] - (0, 0, 4), build.color(BLUE, double_sided=double_sided))
    front = render(device, build, small(position=(0, 0, 4)))
    behind = render(device, build, small(position=(0, 0, 0), yaw=math.pi))
    assert tuple(front.rgb[24, 32]) == RED
    assert (behind.depth[24, 32] == 2.0) == shown


def test_masked_texels_are_holes(device):
    build = SceneBuilder()
    pixels = np.full((2, 2, 4), 255, dtype=np.uint8)
    pixels[:, 0, 3] = 100
    mask = build.material(Texture(pixels=pixels, nearest=True), alpha_mode=AlphaMode.MASK, alpha_cutoff=0.5)
    build.wall((-2, -2), (2, 2), -1, mask, object_id=1)
    build.wall((-9, -9), (9, 9), -3, build.color(RED), object_id=2)
    frame = render(device, build, small())
    assert (frame.instance[:, :32] == 2).all()
    assert (frame.instance[:, 32:] == 1).all()
    assert (frame.depth[:, :32] == 3.0).all()
    assert (frame.depth[:, 32:] == 1.0).all()


def test_glass_is_blended_and_an_obstacle(device):
    build = SceneBuilder()
    build.wall((-9, -9), (9, 9), -4, build.color((200, 0, 0)), object_id=1)
    near = build.material(base_color=(0, 1, 0, 0.5), alpha_mode=AlphaMode.BLEND)
    far = build.material(base_color=(0, 0, 1, 0.5), alpha_mode=AlphaMode.BLEND)
    build.wall((-9, -9), (9, 9), -2, near, object_id=2, category=1)
    build.wall((-9, -9), (9, 9), -3, far, object_id=3, category=1)
    frame = render(device, build, small())
    assert frame.rgb[24, 32] == pytest.approx((50, 128, 64), abs=2)  # far over wall, then near over both
    assert (frame.depth == 2.0).all()
    assert (frame.instance == 2).all()
    assert (frame.semantic == 1).all()


def test_only_what_is_asked_for_is_delivered(device):
    build = SceneBuilder()
    build.wall((-1, -1), (1, 1), -1, build.color(RED))
    frame = render(device, build, small(), [DEPTH])
    assert frame.rgb is None
    assert frame.semantic is None
    assert frame.instance is None
    assert frame.depth is not None


def test_pictures_go_into_given_arrays(device):
    build = SceneBuilder()
    build.wall((-9, -9), (9, 9), -1, build.color(RED))
    block = np.zeros(48 * 64 * 3 + 48 * 64 * 4, dtype=np.uint8)
    slot = Frame(
        rgb=block[: 48 * 64 * 3].reshape(48, 64, 3), depth=block[48 * 64 * 3 :].view(np.float32).reshape(48, 64)
    )
    with Renderer(build.build(), device=device) as renderer:
        assert renderer.render(small(), [RGB, DEPTH], out=slot) is slot
        assert (slot.rgb == RED).all()
        assert (slot.depth == 1.0).all()
        with pytest.raises(SimulatorError, match="48, 64"):
            renderer.render(small(), [RGB], out=Frame(rgb=np.zeros((48, 64, 4), np.uint8)))
        with pytest.raises(SimulatorError, match="semantic"):
            renderer.render(small(), [Channel.SEMANTIC], out=slot)


def test_views_of_a_rig_equal_single_pictures(device):
    build = SceneBuilder()
    build.box((-2, -1, -4), (2, 1, -3), build.color(RED), object_id=4)
    rig = [small(yaw=math.radians(angle)) for angle in (60, 0, -60)]
    with Renderer(build.build(), device=device) as renderer:
        views = renderer.render_views(rig, [RGB, DEPTH])
        for camera, view in zip(rig, views, strict=True):
            again = renderer.render(camera, [RGB, DEPTH])
            assert np.array_equal(view.rgb, again.rgb)
            assert np.array_equal(view.depth, again.depth)


def test_channels_do_not_change_each_other(device):
    build = SceneBuilder()
    build.box((-1, -1, -3), (1, 0.5, -2), build.material(base_color=(0.3, 0.6, 0.9, 1)), object_id=3, category=1)
    everything = render(device, build, small(yaw=0.1))
    for channel in ALL_CHANNELS:
        alone = render(device, build, small(yaw=0.1), [channel])
        assert np.array_equal(getattr(alone, channel), getattr(everything, channel))


def test_an_empty_scene_shows_nothing(device):
    build = SceneBuilder()
    build.wall((0, 0), (1, 1), 0, build.color(RED))
    build.triangles = [(0, 0, 0), (1, 1, 1)]  # no area
    frame = render(device, build, small(position=(0.5, 0.5, 2)))
    assert not frame.rgb.any()
    assert not frame.depth.any()
    assert not frame.instance.any()


@pytest.mark.parametrize("channels", [[RGB], [DEPTH], ALL_CHANNELS])
@pytest.mark.parametrize(("alpha", "shows"), [(255, True), (100, False)])
def test_a_texture_of_one_colour_is_not_uploaded_and_looks_the_same(device, channels, alpha, shows):
    """Whether it is masked away is a question of its alpha, also where only depth is drawn."""
    build = SceneBuilder()
    plain = Texture(pixels=np.full((64, 32, 4), (200, 100, 50, alpha), np.uint8))
    look = build.material(plain, alpha_mode=AlphaMode.MASK, alpha_cutoff=0.5)
    build.wall((-3, -3), (3, 3), -2, look, object_id=1)
    with Renderer(build.build(), device=device) as renderer:
        for frame in (renderer.render(small(), channels), *renderer.render_batch([small()] * 2, channels)):
            assert frame.rgb is None or (frame.rgb[20:28, 28:36] == ((200, 100, 50) if shows else 0)).all()
            assert frame.depth is None or (frame.depth[24, 32] == 2.0) == shows
        assert not renderer._gpu._textures
