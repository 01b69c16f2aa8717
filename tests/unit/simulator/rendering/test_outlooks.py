"""Outlooks make first pictures cheap; whatever is wrong with them, pictures stay the same."""

import math
from dataclasses import replace

import numpy as np
import pytest
from analytic_scenes import cluttered_rooms

from nav_eval.scene.navigation import build_navigation
from nav_eval.simulator.rendering import ALL_CHANNELS, Camera, Channel, Renderer, prepare_scene
from nav_eval.simulator.rendering.glance import find_outlooks, list_eyes, look_around
from nav_eval.simulator.rendering.outlooks import Outlooks, load_outlooks, save_outlooks

ROOMS = 4


@pytest.fixture(scope="module")
def scene():
    return prepare_scene(cluttered_rooms(7, boxes=600, rooms=ROOMS))


def make_eyes(rooms: int = ROOMS) -> np.ndarray:
    """One per square metre, 1.3 m high."""
    return np.array([(x + 0.5, 1.3, z + 0.5) for x in range(4 * rooms) for z in range(4)])


@pytest.fixture(scope="module")
def outlooks(scene):
    return find_outlooks(scene, make_eyes(), seconds=math.inf)


def make_cameras(count: int, **lens) -> list[Camera]:
    rng = np.random.default_rng(1)
    places = rng.random((count, 3)) * (4 * ROOMS, 1.0, 4) + (0, 0.7, 0)
    return [
        Camera.from_angles(tuple(place), yaw=rng.random() * 7, pitch=rng.choice([-1.2, -0.4, 0, 0, 0.4]), **lens)
        for place in places
    ]


def count_differences(one, other) -> int:
    return sum(int((getattr(one, channel) != getattr(other, channel)).sum()) for channel in ALL_CHANNELS)


def test_pictures_do_not_depend_on_outlooks(device, scene, outlooks):
    rng = np.random.default_rng(0)
    nonsense = Outlooks(
        outlooks.places, [(chunks, rng.integers(0, 2**63, len(chunks), np.uint64)) for chunks, _ in outlooks.sets]
    )
    with Renderer(scene, device=device, culling=False) as unculled:
        for guess in (outlooks, nonsense):
            with Renderer(replace(scene, outlooks=guess), device=device) as culled:
                for camera in make_cameras(60, width=160, height=120):
                    frames = culled.render(camera, ALL_CHANNELS), unculled.render(camera, ALL_CHANNELS)
                    assert count_differences(*frames) == 0


def test_a_first_picture_needs_little_more_than_its_repetition(device, scene, outlooks, monkeypatch):
    cameras = [Camera.from_angles((x, 1.3, 2.2), yaw=x, width=320, height=240) for x in np.arange(0.6, 15, 0.7)]
    sent = {}
    for name, prepared in (("blind", scene), ("prepared", replace(scene, outlooks=outlooks))):
        with Renderer(prepared, device=device) as renderer:
            counts = []
            write = renderer._gpu.write_triangles
            monkeypatch.setattr(
                renderer._gpu, "write_triangles", lambda rows, c=counts, w=write: (c.append(len(rows)), w(rows))
            )
            for visit in ("first", "second"):
                counts.clear()
                for camera in cameras:
                    renderer.render(camera, [Channel.RGB])
                sent[name, visit] = sum(counts)
    assert sent["prepared", "first"] <= 1.15 * sent["prepared", "second"]
    assert sent["prepared", "first"] < sent["blind", "first"]


def test_glances_see_what_opengl_sees(device, scene):
    """Everything that a picture shows from where a glance was taken is in the outlook, but for slivers."""
    eye = (6.5, 1.3, 1.5)
    ((chunks, words),) = find_outlooks(scene, np.array([eye]), seconds=math.inf).sets
    guess = np.zeros(len(scene.chunks.batch), dtype=np.uint64)
    guess[chunks] = words
    with Renderer(scene, device=device) as renderer:
        found = []
        painter = renderer._painter
        complete, sets = painter._complete, painter._sets
        painter._complete = lambda *shot: (found.append(painter._found.any()), complete(*shot))
        for quarter in range(4):
            (row,) = sets.enter([(13, 2, 3)])
            sets.words[row] = guess
            sets.remember((13, 2, 3), (3 * quarter, 0))
            camera = Camera.from_angles(eye, yaw=quarter * math.pi / 2, width=128, height=128)
            renderer.render(camera, [Channel.DEPTH])
    assert not any(found)
    assert np.bitwise_count(guess).sum() < scene.triangle_count / 2


def test_coarse_comes_before_fine_and_time_is_bounded(scene):
    places = find_outlooks(scene, make_eyes(), seconds=math.inf).places
    is_coarse = (places[:, [0, 2]] % 2 == 0).all(axis=1)
    assert is_coarse.sum() == len(places) / 4
    assert is_coarse[: is_coarse.sum()].all()
    assert len(find_outlooks(scene, make_eyes(), seconds=-1.0)) == 0


def test_every_cell_finds_what_is_around_it(outlooks):
    found = {cell: len(list(outlooks.find(cell))) for cell in [(1, 2, 1), (0, 2, 0), (7, 3, 4), (7, 9, 4), (200, 2, 2)]}
    assert found == {(1, 2, 1): 4, (0, 2, 0): 1, (7, 3, 4): 4, (7, 9, 4): 0, (200, 2, 2): 0}


def test_outlooks_are_found_once(tmp_path, monkeypatch):
    monkeypatch.setattr("nav_eval.simulator.rendering.glance.LOOK_SECONDS_PER_TRIANGLE", math.inf)
    monkeypatch.setattr("nav_eval.simulator.rendering.glance.LOOK_SECONDS", math.inf)
    source = cluttered_rooms(3)
    prepared, mesh = prepare_scene(source), build_navigation(source)
    first = look_around(prepared, mesh, tmp_path / "outlooks")
    assert len(first.outlooks) == len(list_eyes(mesh)) > 0
    monkeypatch.setattr("nav_eval.simulator.rendering.glance.find_outlooks", None)
    again = look_around(prepared, mesh, tmp_path / "outlooks").outlooks
    assert np.array_equal(again.places, first.outlooks.places)
    for one, other in zip(again.sets, first.outlooks.sets, strict=True):
        assert all(map(np.array_equal, one, other))
        assert not one[0].flags.owndata, "mapped, not read"


def _flip_a_bit(content: bytes) -> bytes:
    return content[:-100] + bytes([content[-100] ^ 1]) + content[-99:]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-100],
        _flip_a_bit,
        lambda content: content.replace(b'"version":', b'"version":9'),
        lambda content: content.replace(b'"words"', b'"swords"'),
        lambda _: b"",
    ],
)
def test_a_damaged_file_is_one_that_is_not_there(scene, outlooks, tmp_path, damage):
    file = tmp_path / "outlooks"
    save_outlooks(outlooks, file, scene=scene.digest)
    assert load_outlooks(file, scene=scene.digest) is not None
    assert load_outlooks(file, scene="another") is None
    file.write_bytes(damage(file.read_bytes()))
    assert load_outlooks(file, scene=scene.digest) is None
    assert load_outlooks(tmp_path / "none", scene=scene.digest) is None
