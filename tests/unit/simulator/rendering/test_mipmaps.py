import numpy as np
import pytest
from analytic_scenes import SceneBuilder

from nav_eval.scene.model import Texture
from nav_eval.simulator.rendering import Camera, Channel, Renderer, prepare_scene
from nav_eval.simulator.rendering.device import upload_levels
from nav_eval.simulator.rendering.gpu_scene import _create_texture
from nav_eval.simulator.rendering.mipmaps import make_mipmaps, split_mipmaps


def make_pixels(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 4), dtype=np.uint8)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((4, 8), [(4, 8), (2, 4), (1, 2), (1, 1)]), ((1, 1), [(1, 1)]), ((5, 3), [(5, 3), (2, 1), (1, 1)])],
)
def test_levels_halve_down_to_one_texel(shape, expected):
    pixels = make_pixels(*shape)
    levels = split_mipmaps(pixels, make_mipmaps(pixels))
    assert [level.shape[:2] for level in levels] == expected


def test_a_texel_is_the_mean_of_the_four_below():
    pixels = make_pixels(64, 32)
    half = split_mipmaps(pixels, make_mipmaps(pixels))[1]
    mean = pixels.reshape(32, 2, 16, 2, 4).mean(axis=(1, 3))
    assert np.abs(half - mean).max() <= 0.5


@pytest.mark.parametrize("shape", [(64, 64), (37, 21)])
def test_levels_are_those_that_the_driver_would_make(device, shape):
    """But for the rounding of sizes that are not even."""
    pixels = make_pixels(*shape)
    levels = split_mipmaps(pixels, make_mipmaps(pixels))
    with device.context:
        made = device.context.texture((shape[1], shape[0]), 4, pixels)
        made.build_mipmaps()
        for number, level in enumerate(levels[:4]):
            theirs = np.frombuffer(made.read(level=number), np.uint8).reshape(level.shape)
            assert np.abs(theirs.astype(int) - level).max() <= 2 * number
        made.release()


def test_uploaded_levels_are_drawn(device):
    """A texture whose levels are red, then green, is green where it is small."""
    red, green = (
        np.full((n, n, 4), color, dtype=np.uint8) for n, color in ((2, (255, 0, 0, 255)), (1, (0, 255, 0, 255)))
    )
    with device.context as context:
        uploaded = _create_texture(context, Texture(pixels=red), trilinear=True)
        upload_levels(uploaded.glo, [red, green])
        program = context.program(
            vertex_shader="#version 330\nin vec2 at; void main() { gl_Position = vec4(at, 0.0, 1.0); }",
            fragment_shader="#version 330\nuniform sampler2D picture; uniform float level; out vec4 color;"
            "void main() { color = textureLod(picture, vec2(0.5), level); }",
        )
        corners = context.buffer(np.array([-1, -1, 3, -1, -1, 3], dtype="f4"))
        target = context.simple_framebuffer((1, 1))
        target.use()
        uploaded.use(0)
        for level, expected in ((0.0, (255, 0, 0)), (1.0, (0, 255, 0))):
            program["level"] = level
            context.enable_only(0)
            context.vertex_array(program, [(corners, "2f", "at")]).render()
            assert tuple(target.read()) == expected


def test_software_takes_the_nearest_mipmap_unless_told_otherwise(device):
    """A floor that reaches far away is minified by every factor; blending shows between two mipmaps only."""
    build = SceneBuilder()
    floor = build.material(Texture(pixels=make_pixels(64, 64)))
    corners, uvs = [(-20, 0, 0), (20, 0, 0), (20, 0, -40), (-20, 0, -40)], [(0, 0), (40, 0), (40, 40), (0, 40)]
    build.quad(corners, floor, uvs=uvs)
    scene, camera = prepare_scene(build.build()), Camera.from_angles((0.0, 1.0, 0.0), width=160, height=120)
    taken = {}
    for trilinear in (None, False, True):
        with Renderer(scene, device=device, trilinear=trilinear) as renderer:
            taken[trilinear] = renderer.render(camera, [Channel.RGB]).rgb.astype(int)
    assert device.is_software
    np.testing.assert_array_equal(taken[None], taken[False])
    assert np.abs(taken[True] - taken[False]).max() > 8
