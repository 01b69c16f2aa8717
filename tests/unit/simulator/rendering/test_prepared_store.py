import numpy as np
import pytest
from analytic_scenes import cluttered_rooms

from nav_eval.errors import SimulatorError
from nav_eval.simulator.rendering import (
    ALL_CHANNELS,
    Camera,
    Renderer,
    compute_render_digest,
    load_or_prepare,
    load_prepared,
    prepare_scene,
    save_prepared,
)


def test_a_scene_from_disk_gives_the_same_pictures(device, tmp_path):
    prepared = prepare_scene(cluttered_rooms(1))
    save_prepared(prepared, tmp_path / "scene")
    camera = Camera.from_angles((2, 1.2, 2), yaw=-1, width=160, height=120)
    with (
        Renderer(prepared, device=device) as fresh,
        Renderer(load_prepared(tmp_path / "scene"), device=device) as again,
    ):
        one, other = fresh.render(camera, ALL_CHANNELS), again.render(camera, ALL_CHANNELS)
    assert all(np.array_equal(getattr(one, channel), getattr(other, channel)) for channel in ALL_CHANNELS)


def test_the_cache_is_asked_first(tmp_path):
    reads = []

    def read():
        reads.append(1)
        return cluttered_rooms(2)

    first, second = (load_or_prepare(tmp_path, "ab" * 32, read) for _ in range(2))
    assert len(reads) == 1
    assert first.digest == second.digest
    assert not second.chunks.corners.flags.owndata  # mapped, not read


def test_saving_twice_leaves_nothing_behind(tmp_path):
    prepared = prepare_scene(cluttered_rooms(3))
    save_prepared(prepared, tmp_path / "scene")
    save_prepared(prepared, tmp_path / "scene")
    assert {path.name for path in tmp_path.iterdir()} == {"scene", "scene.texels"}, "no drafts are left behind"


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-100])


def _other_type(path):
    path.write_bytes(path.read_bytes().replace(b'"triangles":["<u4"', b'"triangles":["<i1"'))


def _other_version(path):
    path.write_bytes(path.read_bytes().replace(b'"version":', b'"version":9', 1))


def _missing(path):
    path.write_bytes(path.read_bytes().replace(b'"corners"', b'"corner2"'))


def _texture_missing(path):
    (path.with_name("scene.texels") / "0").unlink()


def _texture_cut_off(path):
    texels = path.with_name("scene.texels") / "0"
    texels.write_bytes(texels.read_bytes()[:-100])


@pytest.mark.parametrize(
    "damage", [_truncate, _other_type, _other_version, _missing, _texture_missing, _texture_cut_off]
)
def test_damaged_files_are_named(tmp_path, damage):
    save_prepared(prepare_scene(cluttered_rooms(4)), tmp_path / "scene")
    damage(tmp_path / "scene")
    with pytest.raises(SimulatorError, match=r"scene is not a whole prepared scene.*delete it"):
        load_prepared(tmp_path / "scene")


def test_the_digest_sees_what_pictures_show():
    one, same, other = cluttered_rooms(5), cluttered_rooms(5), cluttered_rooms(6)
    assert compute_render_digest(one) == compute_render_digest(same) != compute_render_digest(other)
    object.__setattr__(same, "uvs", same.uvs + np.float32(0.25))
    assert compute_render_digest(one) != compute_render_digest(same)
