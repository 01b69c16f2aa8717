"""Pictures of splats: against formulas, against pictures of the triangles they were made from, and with objects."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from analytic_scenes import SceneBuilder

from nav_eval.config.schema import PrimitiveCubeCfg
from nav_eval.scene.formats import read_scene, write_glb
from nav_eval.scene.model import Scene
from nav_eval.scene.objects import place_objects
from nav_eval.scene.splats import SplatCloud, make_covariances
from nav_eval.sensors import Channel
from nav_eval.simulator.rendering import Camera, Device, Renderer, load_or_prepare, splat_painter
from nav_eval.simulator.rendering.splat_painter import BLUR, paint_splats
from nav_eval.simulator.rendering.splat_quads import SplatsOnGpu
from nav_eval_worlds.houses import generate_house
from support.splat_scenes import make_splats, write_splat_ply

CAMERA = Camera(position=(0.0, 0.0, 0.0), width=64, height=48)


def make_cloud(*splats: tuple[tuple[float, float, float], float, tuple[float, float, float], float]) -> SplatCloud:
    """Round splats: centre, standard deviation, colour, opacity."""
    centers, sizes, colors, opacities = (np.array(column, np.float32) for column in zip(*splats, strict=True))
    covariances = np.outer(sizes**2, [1, 0, 0, 1, 0, 1]).astype(np.float32)
    return SplatCloud(centers=centers, covariances=covariances, colors=colors, opacities=opacities)


def paint(cloud: SplatCloud, *, background: int = 0) -> np.ndarray:
    picture = np.full((48, 64, 3), background, np.uint8)
    paint_splats(cloud, CAMERA, picture)
    return picture


def test_one_splat_is_a_gaussian_of_the_projected_size() -> None:
    picture = paint(make_cloud(((0, 0, -4), 0.5, (1, 1, 1), 0.9)))
    variance = (0.5 * CAMERA.focal_length / 4) ** 2 + BLUR
    row, column = np.mgrid[:48, :64] + 0.5
    power = ((column - 32) ** 2 + (row - 24) ** 2) / variance
    expected = np.where(power <= 9, 255 * 0.9 * np.exp(-power / 2), 0)
    assert np.abs(picture[..., 0] - expected).max() <= 1.01  # faint ones are left out


def test_right_is_right_and_up_is_up() -> None:
    picture = paint(make_cloud(((1, 0.5, -4), 0.05, (1, 0, 0), 0.9), ((-1, -0.5, -4), 0.05, (0, 1, 0), 0.9)))
    (red,), (green,) = (np.argwhere(picture[..., channel] == picture[..., channel].max())[:1] for channel in (0, 1))
    np.testing.assert_allclose(red + 0.5, (24 - 4, 32 + 8), atol=1)
    np.testing.assert_allclose(green + 0.5, (24 + 4, 32 - 8), atol=1)


def test_the_nearer_one_is_in_front_whatever_the_order_of_the_file() -> None:
    near, far = ((0.0, 0.0, -2.0), 0.3, (1.0, 0.0, 0.0), 0.99), ((0.0, 0.0, -4.0), 0.6, (0.0, 0.0, 1.0), 0.99)
    first, second = paint(make_cloud(near, far)), paint(make_cloud(far, near))
    assert (first == second).all()
    assert first[24, 32, 0] > 240
    assert first[24, 32, 2] < 20


def test_what_shines_through_is_the_background() -> None:
    picture = paint(make_cloud(((0, 0, -4), 4.0, (0, 0, 0), 0.5)), background=200)
    assert abs(int(picture[24, 32, 0]) - 100) <= 1


def test_nothing_behind_the_camera_is_seen() -> None:
    assert not paint(make_cloud(((0, 0, 2), 0.5, (1, 1, 1), 0.9))).any()


def make_crowd(count: int, *, seed: int = 5) -> SplatCloud:
    """Splats of all shapes all around, some behind the eye."""
    rng = np.random.default_rng(seed)
    scales = np.exp(rng.uniform(-4.0, -1.0, (count, 3)))
    return SplatCloud(
        centers=rng.uniform((-3, -2, -6), (3, 2, 1), (count, 3)).astype(np.float32),
        covariances=make_covariances(scales, rng.normal(size=(count, 4))),
        colors=rng.uniform(0, 1, (count, 3)).astype(np.float32),
        opacities=rng.uniform(0, 1, count).astype(np.float32),
    )


def test_parts_give_the_same_bits_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """And hardly any memory: every splat of the second cloud covers the whole picture."""
    crowd = make_crowd(3000)
    whole = paint(crowd)
    monkeypatch.setattr(splat_painter, "MOST_MEMBERS", 100)
    assert (paint(crowd) == whole).all()
    wide = make_cloud(*[((0.0, 0.0, -1.0 - 1e-3 * number), 9.0, (0.2, 0.4, 0.6), 0.9) for number in range(4000)])
    taken: list[int] = []
    fill = splat_painter._fill_tiles
    monkeypatch.setattr(splat_painter, "_fill_tiles", lambda *given: (taken.append(len(given[-1])), fill(*given)))
    assert (np.abs(paint(wide).astype(int) - [51, 102, 153]) <= 1).all()
    assert max(taken) <= 100
    assert sum(taken) <= 200  # a few hide all the others


def test_depths_are_sorted_as_numbers_are() -> None:
    depths = np.random.default_rng(1).choice(np.geomspace(1e-3, 1e4, 500), 5000).astype(np.float32)
    assert (splat_painter.sort_by_depth(depths) == np.argsort(depths, kind="stable")).all()


@pytest.mark.parametrize("limited", [False, True])
def test_a_gpu_draws_what_the_processor_draws(device: Device, limited: bool) -> None:
    """The path for hardware, run by the software driver."""
    crowd = make_crowd(2000)
    nearest = np.zeros((48, 64), np.float32)
    nearest[10:30, 20:50] = 2.5
    pictures = [np.full((48, 64, 3), 90, np.uint8) for _ in range(2)]
    paint_splats(crowd, CAMERA, pictures[0], nearest=nearest if limited else None)
    with device.context:
        quads = SplatsOnGpu(device.context, crowd)
        for _ in range(2):  # what a picture leaves behind does not show in the next
            pictures[1][:] = 90
            quads.paint(CAMERA, pictures[1], nearest=nearest if limited else None)
        quads.release()
    apart = np.abs(pictures[0].astype(int) - pictures[1])
    assert pictures[0].std() > 20
    assert apart.max() <= 3
    assert (apart <= 1).mean() > 0.99


def test_a_renderer_on_a_gpu_paints_quads(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Triangles before and after are drawn as ever."""
    build = SceneBuilder()
    build.wall((-9, -9), (9, 9), -3, build.color((200, 60, 0)))
    scene = replace(build.build(), splats=make_crowd(500))
    channels = [Channel.RGB, Channel.DEPTH]
    with Renderer(scene, device=device) as renderer:
        expected = renderer.render(CAMERA, channels)
    monkeypatch.setattr(Device, "is_software", False)
    with Renderer(scene, device=device) as renderer:
        for found in (renderer.render(CAMERA, channels) for _ in range(2)):
            assert (found.depth == expected.depth).all()
            assert np.abs(found.rgb.astype(int) - expected.rgb).max() <= 3


@pytest.fixture(scope="module")
def house() -> Scene:
    return generate_house(7, template="flat_1").scene


@pytest.fixture(scope="module")
def splat_file(house: Scene, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The house as splats, with its own triangles beside it."""
    path = tmp_path_factory.mktemp("splats") / "house.ply"
    write_splat_ply(make_splats(house, spacing=0.025), path)
    write_glb(house, path.with_name("house.mesh.glb"))
    return path


def look_into_rooms(house: Scene) -> list[Camera]:
    middles = [(np.array(room.lower) + np.array(room.upper)) / 2 for room in house.semantics.regions[:4]]
    return [
        Camera.from_angles((float(x), 1.3, float(z)), yaw=0.7 + number, width=320, height=240)
        for number, (x, _, z) in enumerate(middles)
    ]


@pytest.mark.slow
def test_a_house_of_splats_looks_like_the_house(house: Scene, splat_file: Path) -> None:
    shown = read_scene(splat_file, up="y")
    errors = []
    with Renderer(house) as triangles, Renderer(shown) as splats:
        for camera in look_into_rooms(house):
            expected = triangles.render(camera, [Channel.RGB, Channel.DEPTH])
            found = splats.render(camera, [Channel.RGB, Channel.DEPTH])
            assert expected.rgb is not None
            assert found.rgb is not None
            assert found.depth is not None
            assert expected.depth is not None
            assert (np.abs(found.depth - expected.depth) < 1e-3).mean() > 0.999  # of the triangles: no splat is in it
            errors.append(((found.rgb.astype(float) - expected.rgb) ** 2).mean())
            again = splats.render(camera, [Channel.RGB])
            assert (again.rgb == found.rgb).all()
    assert 10 * np.log10(255**2 / np.mean(errors)) >= 25


@pytest.mark.slow
def test_a_prepared_scene_keeps_its_splats(splat_file: Path, tmp_path: Path) -> None:
    scene = read_scene(splat_file, up="y")
    first = load_or_prepare(tmp_path, "0" * 64, lambda: scene)
    camera = look_into_rooms(scene if scene.semantics.regions else generate_house(7, template="flat_1").scene)[0]
    pictures = []
    for prepared in (first, load_or_prepare(tmp_path, "0" * 64, lambda: pytest.fail("it is in the cache"))):
        with Renderer(prepared) as renderer:
            pictures.append(renderer.render(camera, [Channel.RGB]).rgb)
    assert (pictures[0] == pictures[1]).all()


@pytest.mark.slow
def test_things_put_into_the_scene_stand_among_the_splats(house: Scene, splat_file: Path) -> None:
    camera = look_into_rooms(house)[1]
    ahead = camera.find_point(160, 120, depth=0.8)
    assert ahead is not None
    cube = PrimitiveCubeCfg(name="cube", position=ahead, size=(0.2, 0.2, 0.2), color=(1.0, 0.0, 1.0))
    hidden = PrimitiveCubeCfg(name="far", position=camera.find_point(160, 120, depth=60.0), size=(1, 1, 1))
    shown = place_objects(read_scene(splat_file, up="y"), [cube, hidden], root=splat_file.parent).scene
    with Renderer(shown) as renderer:
        frame = renderer.render(camera, [Channel.RGB])
        plain = renderer.render(camera, [Channel.DEPTH])
    assert frame.rgb is not None
    assert plain.depth is not None
    red, green, blue = frame.rgb[120, 160].tolist()
    assert red > 100 > green
    assert blue > 100
    assert plain.depth[120, 160] < 0.8
    assert frame.rgb[10, 10].any()  # splats all around
