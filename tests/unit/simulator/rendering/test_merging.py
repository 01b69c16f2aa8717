"""Fewer triangles, the same surface: nothing moves, nothing tears, nothing changes colour."""

import math
from dataclasses import replace

import numpy as np
import pytest
from analytic_scenes import SceneBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.scene.model import AlphaMode, Scene, Texture
from nav_eval.simulator.rendering import ALL_CHANNELS, Camera, PreparedScene, Renderer, prepare_scene


def cut(scene: Scene, times: int = 1) -> Scene:
    """Every triangle into four; neighbours share the new corners of an edge that they share."""
    for _ in range(times):
        old = scene.triangles.astype(np.int64)
        edges = np.sort(old[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        unique, number = np.unique(edges, axis=0, return_inverse=True)
        a, b, c = old.T
        ab, bc, ca = (number.reshape(-1, 3) + len(scene.positions)).T
        corners = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        middles = {name: getattr(scene, name)[unique].mean(axis=1) for name in ("positions", "normals", "uvs")}
        scene = replace(
            scene,
            **{name: np.concatenate([getattr(scene, name), middle]) for name, middle in middles.items()},
            colors=np.concatenate([scene.colors, np.rint(scene.colors[unique].mean(axis=1)).astype(np.uint8)]),
            triangles=np.stack([np.stack(corner, 1) for corner in corners], 1).reshape(-1, 3).astype(np.uint32),
            triangle_material=np.repeat(scene.triangle_material, 4),
            triangle_object=np.repeat(scene.triangle_object, 4),
            triangle_category=np.repeat(scene.triangle_category, 4),
        )
    return scene


def turned(scene: Scene, yaw: float, tilt: float) -> Scene:
    """So that hardly a coordinate is a round number."""
    around = np.array([[math.cos(yaw), 0, math.sin(yaw)], [0, 1, 0], [-math.sin(yaw), 0, math.cos(yaw)]])
    over = np.array([[1, 0, 0], [0, math.cos(tilt), -math.sin(tilt)], [0, math.sin(tilt), math.cos(tilt)]])
    return replace(scene, positions=(scene.positions @ (around @ over).T).astype(np.float32))


def soup(scene: Scene) -> Scene:
    """Every triangle with corners of its own."""
    corner = scene.triangles.reshape(-1)
    arrays = {name: getattr(scene, name)[corner] for name in ("positions", "normals", "uvs", "colors")}
    return replace(scene, **arrays, triangles=np.arange(len(corner), dtype=np.uint32).reshape(-1, 3))


def drawn(scene: PreparedScene) -> np.ndarray:
    return scene.vertices[scene.chunks.triangles]


def areas(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]), axis=1) / 2


def open_length(points: np.ndarray) -> float:
    """Metres of edges without an opposite: cracks and corners in the middle of other edges add to it."""
    _, place = np.unique(points.reshape(-1, 3), axis=0, return_inverse=True)
    corners = place.reshape(-1, 3)
    ends = corners[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    lengths = np.linalg.norm(points - np.roll(points, -1, axis=1), axis=2).reshape(-1)
    sides: dict[tuple[int, int], int] = {}
    for a, b in ends.tolist():
        sides[min(a, b), max(a, b)] = sides.get((min(a, b), max(a, b)), 0) + (1 if a < b else -1)
    return float(
        sum(length for (a, b), length in zip(ends.tolist(), lengths, strict=True) if sides[min(a, b), max(a, b)])
    )


def noise(size: int = 64) -> Texture:
    pixels = np.random.default_rng(0).integers(0, 256, (size, size, 4), dtype=np.uint8)
    pixels[..., 3] = 255
    return Texture(pixels=pixels)


def furnished_room(seed: int) -> SceneBuilder:
    rng = np.random.default_rng(seed)
    build = SceneBuilder()
    looks = [build.material(noise()), build.material(noise(31)), build.material(base_color=(0.2, 0.5, 0.7, 1.0))]
    build.box((0, 0, 0), (4, 3, 4), looks[0], inside_out=True, object_id=1)
    for number in range(4):
        low = rng.random(3) * (3, 1.5, 3)
        build.box(low, low + rng.random(3) + 0.2, looks[number % 3], object_id=2 + number, category=number % 2)
    return build


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), times=st.integers(1, 3), yaw=st.floats(0, 6), tilt=st.floats(-1, 1))
def test_a_cut_room_is_drawn_with_about_as_few_triangles_as_the_room(seed, times, yaw, tilt):
    room = turned(furnished_room(seed).build(), yaw, tilt)
    plain, fine = drawn(prepare_scene(room)), drawn(prepare_scene(soup(cut(room, times))))
    coarse = drawn(prepare_scene(cut(room, 3)))  # metre by metre, as EDGE has it
    assert len(fine) <= max(1.3 * len(coarse), len(plain) * 4)
    assert areas(fine["position"]).sum() == pytest.approx(areas(plain["position"]).sum(), rel=1e-5)
    for surface in np.unique(plain["surface"]):
        here, there = (part["position"][part["surface"][:, 0] == surface] for part in (fine, plain))
        assert areas(here).sum() == pytest.approx(areas(there).sum(), rel=1e-5)
        assert np.array_equal(here.min(axis=(0, 1)), there.min(axis=(0, 1)))
        assert np.array_equal(here.max(axis=(0, 1)), there.max(axis=(0, 1)))


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), yaw=st.floats(0, 6), tilt=st.floats(-1, 1))
def test_nothing_tears(seed, yaw, tilt):
    """A sheet with holes, folded and with seams: what had an edge in common still has."""
    fine = _sheet(seed, yaw, tilt)
    before, after = fine.positions[fine.triangles], drawn(prepare_scene(fine))["position"]
    assert len(after) < 0.6 * len(before)
    assert open_length(after) == pytest.approx(open_length(before), rel=1e-5)
    assert areas(after).sum() == pytest.approx(areas(before).sum(), rel=1e-5)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), yaw=st.floats(0, 6), tilt=st.floats(-1, 1))
def test_texture_coordinates_stay_where_they_were(seed, yaw, tilt):
    fine = _sheet(seed, yaw, tilt)
    shown = drawn(prepare_scene(fine))
    straight = turned(replace(fine, positions=shown["position"].reshape(-1, 3)), -yaw, 0)
    points = turned(straight, 0, -tilt).positions.reshape(-1, 3, 3)
    share = np.random.default_rng(seed).dirichlet((1, 1, 1), len(shown)).astype(np.float32)
    at, uv = (np.einsum("tc,tck->tk", share, part) for part in (points, shown["uv"]))
    assert np.allclose(uv, _uv(at, shown["surface"][:, 0]), atol=1e-5)


def _uv(at: np.ndarray, surface: np.ndarray) -> np.ndarray:
    """What `_sheet` shows: one linear picture per object, along the folded sheet."""
    flipped = np.where(surface == surface.min(), 1, -1)
    return np.stack([at[:, 0] * flipped, 0.5 * at[:, 2] + 0.25], axis=1)


def _sheet(seed: int, yaw: float, tilt: float) -> Scene:
    """8 × 8 cells of a sheet, folded along a line, some cells missing, its halves two objects; then cut finer."""
    rng = np.random.default_rng(seed)
    cells = [(i, j) for i in range(8) for j in range(8) if rng.random() < 0.85]
    build = SceneBuilder()
    look = build.material(noise())
    for i, j in cells:
        x = np.array([i, i + 1, i + 1, i]) / 4
        z = np.array([j, j, j + 1, j + 1]) / 4
        corners = np.stack([x, np.maximum(0, x - 1) * 0.5, -z], axis=1)
        object_id = 1 + (j >= 4)
        uvs = np.stack([x if object_id == 1 else -x, -0.5 * z + 0.25], axis=1)
        build.quad(corners, look, object_id=object_id, uvs=uvs)
    return turned(cut(build.build(), 2), yaw, tilt)


def test_the_order_of_work_is_fixed():
    scene = cut(furnished_room(3).build(), 2)
    one, other = drawn(prepare_scene(scene)), drawn(prepare_scene(scene))
    assert np.array_equal(one, other)


def test_what_is_merged_is_merged_for_good():
    build = SceneBuilder()
    build.box((0, 0, 0), (2, 1, 1), build.material(noise()))
    once = prepare_scene(cut(build.build(), 3))
    corner = drawn(once).reshape(-1)
    again = replace(
        build.build(),
        positions=corner["position"],
        normals=np.zeros_like(corner["position"]),
        uvs=corner["uv"],
        colors=corner["tint"],
        triangles=np.arange(len(corner), dtype=np.uint32).reshape(-1, 3),
        **{
            name: np.zeros(len(corner) // 3, dtype)
            for name, dtype in (
                ("triangle_material", np.uint16),
                ("triangle_object", np.uint32),
                ("triangle_category", np.uint16),
            )
        },
    )
    assert len(drawn(prepare_scene(again))) == len(drawn(once))


def _bumpy(scene: Scene) -> Scene:
    bump = np.random.default_rng(1).normal(0, 1e-3, scene.positions.shape)
    return replace(scene, positions=(scene.positions + bump).astype(np.float32))


def _crumpled_picture(scene: Scene) -> Scene:
    return replace(scene, uvs=scene.uvs + np.random.default_rng(1).normal(0, 1e-2, scene.uvs.shape).astype(np.float32))


def _blotchy(scene: Scene) -> Scene:
    return replace(scene, colors=np.random.default_rng(1).integers(0, 255, scene.colors.shape).astype(np.uint8))


def _mosaic(scene: Scene) -> Scene:
    return replace(scene, triangle_object=np.arange(1, len(scene.triangles) + 1, dtype=np.uint32))


def _glass(scene: Scene) -> Scene:
    return replace(scene, materials=tuple(replace(m, alpha_mode=AlphaMode.BLEND) for m in scene.materials))


@pytest.mark.parametrize("spoil", [_bumpy, _crumpled_picture, _blotchy, _mosaic, _glass])
def test_what_a_picture_can_tell_is_kept(spoil):
    build = SceneBuilder()
    build.wall((0, 0), (0.8, 0.8), 0, build.material(noise()))
    fine = cut(build.build(), 3)
    assert len(drawn(prepare_scene(fine))) < 10
    assert len(drawn(prepare_scene(spoil(fine)))) > 0.95 * len(fine.triangles)


def test_a_gentle_curve_does_not_become_flat_step_by_step():
    """Every corner is nearly flat, all of them together are not."""
    build = SceneBuilder()
    build.wall((0, 0), (0.8, 0.8), 0, build.material(noise()))
    scene = cut(build.build(), 5)
    x = scene.positions[:, 0]
    curved = scene.positions.copy()
    curved[:, 2] = 1e-4 * x * x
    after = drawn(prepare_scene(replace(scene, positions=curved)))["position"].reshape(-1, 3, 3)
    middle = after.mean(axis=1)
    assert np.abs(middle[:, 2] - 1e-4 * middle[:, 0] ** 2).max() < 3 * 0.8 * 2.0**-20


@pytest.mark.parametrize("times", [1, 2, 3])
def test_pictures_of_a_cut_room(device, times):
    """Where a pixel's centre is near an edge, rounding may decide otherwise; nowhere else."""
    room = furnished_room(7).build()
    with Renderer(room, device=device) as plain, Renderer(cut(room, times), device=device) as fine:
        for turn in range(8):
            camera = Camera.from_angles((2.1, 1.4, 2.2), yaw=0.1 + turn * math.pi / 4, width=320, height=240)
            one, other = plain.render(camera, ALL_CHANNELS), fine.render(camera, ALL_CHANNELS)
            assert (other.depth > 0).all(), "no holes"
            assert (one.instance != other.instance).mean() < 1e-3
            assert (np.abs(one.depth - other.depth) > 1e-4 * one.depth).mean() < 1e-3
            assert (np.abs(one.rgb.astype(int) - other.rgb) > 2).any(axis=2).mean() < 1e-3


def test_meshes_that_nearly_touch_stay_closed(device):
    """Two halves of a floor, each with a matrix of its own: the same points but for rounding."""
    build = SceneBuilder()
    look = build.material(noise())
    build.quad([(-3, -1, 2), (0, -1, 2), (0, -1, -5), (-3, -1, -5)], look, object_id=1)
    build.quad([(0, -1, 2), (3, -1, 2), (3, -1, -5), (0, -1, -5)], look, object_id=2)
    floor = turned(cut(build.build(), 4), 0.3, 0.1)
    other_half = np.unique(floor.triangles[floor.triangle_object == 2])
    positions = floor.positions.copy()
    positions[other_half] = np.nextafter(positions[other_half], np.float32(9))
    prepared = prepare_scene(replace(floor, positions=positions))
    assert len(drawn(prepared)) < 0.3 * len(floor.triangles)
    with Renderer(prepared, device=device) as renderer:
        for turn in range(6):
            camera = Camera.from_angles((0.3 * turn, 0.5, 0.5), yaw=0.3 + turn * 0.02, pitch=-0.9)
            depth = renderer.render(camera, ALL_CHANNELS).depth
            inside = depth[60:-60, 160:-160]
            assert (inside > 0).all()
