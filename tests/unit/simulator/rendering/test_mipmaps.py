import mmap

import numpy as np
import pytest

from nav_eval.cache import ArrayFile, drop_pages, write_arrays
from nav_eval.scene.model import Texture
from nav_eval.simulator.rendering.gpu_scene import _upload
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
        uploaded = _upload(context, Texture(pixels=red), [red, green], trilinear=True)
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


def test_pages_of_a_mapped_array_are_given_back_and_come_again(tmp_path):
    pixels = np.arange(3 * mmap.PAGESIZE, dtype=np.uint8)
    write_arrays(tmp_path / "file", {"pixels": pixels}, about={})
    mapped = ArrayFile(tmp_path / "file").array("pixels", np.uint8, 1)
    assert np.array_equal(mapped, pixels)
    drop_pages(mapped)
    assert np.array_equal(mapped, pixels)
    drop_pages(pixels)
    assert pixels[mmap.PAGESIZE + 1] == 1, "memory of our own is never given back"
