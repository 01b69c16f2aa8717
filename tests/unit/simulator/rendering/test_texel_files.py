"""Textures that the driver reads from their files: the same pictures, and what does not fit is not used."""

from pathlib import Path

import numpy as np
import pytest
from analytic_scenes import cluttered_rooms

from nav_eval.scene.model import Texture
from nav_eval.simulator.rendering import (
    Camera,
    Channel,
    Renderer,
    load_prepared,
    prepare_scene,
    save_prepared,
    texel_files,
)
from nav_eval.simulator.rendering.mipmaps import make_mipmaps, split_mipmaps
from nav_eval.simulator.rendering.texel_files import TexelFiles, drop_levels, map_texels, write_texels

CAMERA = Camera.from_angles((2, 1.2, 2), yaw=-1, width=160, height=120)


def make_levels(height, width):
    pixels = np.random.default_rng(height).integers(0, 256, (height, width, 4), dtype=np.uint8)
    return split_mipmaps(pixels, make_mipmaps(pixels))


@pytest.mark.parametrize("shape", [(64, 64), (21, 37), (1, 5), (300, 100)])
def test_levels_come_back_as_they_were_written(tmp_path, shape):
    levels = make_levels(*shape)
    write_texels(tmp_path / "texels", [levels])
    mapped = map_texels(tmp_path / "texels", 0, shape)
    assert all(np.array_equal(one, other) for one, other in zip(levels, mapped, strict=True))


def test_mapped_levels_are_given_back_and_come_again(tmp_path):
    levels = make_levels(64, 64)
    write_texels(tmp_path / "texels", [levels])
    mapped = map_texels(tmp_path / "texels", 0, (64, 64))
    drop_levels(mapped)
    assert np.array_equal(mapped[0], levels[0])
    drop_levels(levels)
    assert np.array_equal(mapped[0], levels[0]), "memory of our own is never given back"


def test_textures_keep_no_files_open(tmp_path):
    write_texels(tmp_path / "texels", [make_levels(4, 4)] * 3)
    before = len(list(Path("/proc/self/fd").iterdir()))
    mapped = [map_texels(tmp_path / "texels", number, (4, 4)) for number in range(3)]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert len(mapped) == 3


@pytest.fixture
def stored(tmp_path):
    save_prepared(prepare_scene(cluttered_rooms(1)), tmp_path / "scene")
    return tmp_path / "scene"


def draw(device, path):
    with Renderer(load_prepared(path), device=device) as renderer:
        return renderer.render(CAMERA, [Channel.RGB]).rgb


def test_the_driver_reads_files_in_place(device, stored):
    if not device.is_software:
        pytest.skip("a GPU copies textures into memory of its own")
    with device.context as context:
        assert texel_files._can_show_files(context)


def test_pictures_do_not_depend_on_where_textures_lie(device, stored, monkeypatch):
    shown = draw(device, stored)
    monkeypatch.setattr(texel_files, "_can_show_files", lambda context: False)
    assert np.array_equal(shown, draw(device, stored))


def test_a_driver_that_wants_another_layout_is_given_copies(device, stored, monkeypatch):
    expected = draw(device, stored)
    monkeypatch.setattr(texel_files, "_OWNER", bytes(16))  # as if Mesa knew its memory by another name
    with device.context as context:
        assert not TexelFiles(context)._usable
    assert np.array_equal(expected, draw(device, stored))


@pytest.mark.parametrize(
    ("renderer", "version", "known"),
    [
        ("llvmpipe (LLVM 15.0.6, 256 bits)", "4.5 (Core Profile) Mesa 22.3.6", True),
        ("llvmpipe (LLVM 19.1.7, 256 bits)", "4.5 (Core Profile) Mesa 25.0.7-2", False),  # its header may be another
        ("Mesa Intel(R) UHD Graphics", "4.6 (Core Profile) Mesa 22.3.6", False),
    ],
)
def test_only_drivers_that_were_tried_are_shown_files(renderer: str, version: str, known: bool) -> None:
    assert texel_files._is_known_driver({"GL_RENDERER": renderer, "GL_VERSION": version}) is known


def test_textures_that_the_driver_reads_are_not_held_by_us_as_well(stored, device):
    """Whether they have a single colour is found by looking at small copies."""
    scene = load_prepared(stored)
    with Renderer(scene, device=device) as renderer:
        renderer.render(CAMERA, [Channel.RGB])
        held = sum(size for sharing, size in measure_maps(f"{stored.name}.texels") if sharing == "r--s")
    assert held == 0


def measure_maps(name):
    """How files below a folder are mapped, and how many kilobytes of each are in this process's memory."""
    sharing = None
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            sharing = words[1] if name in line else None
        elif words[0] == "Rss:" and sharing is not None:
            yield sharing, int(words[1])


@pytest.mark.parametrize("in_files", [True, False])
def test_whether_a_texture_has_one_colour_is_found_when_it_is_stored(tmp_path: Path, in_files: bool) -> None:
    """Looks come and go with every reset: nobody should read their textures again for it."""
    plain = Texture(pixels=np.full((64, 64, 4), 51, dtype=np.uint8))
    mixed = Texture(pixels=make_levels(64, 64)[0])
    stored = texel_files.store_textures(tmp_path if in_files else None, [plain, mixed])
    color = stored[id(plain)].plain
    assert color is not None
    assert color.tolist() == pytest.approx([0.2] * 4)
    assert stored[id(mixed)].plain is None
