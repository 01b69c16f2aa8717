"""Splats from `.ply` and `.splat` files: what they say, the triangles that stand for them, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from nav_eval.errors import SceneError
from nav_eval.scene.formats import compute_scene_digest, read_scene, write_glb
from nav_eval.scene.formats.splat_files import encode_splat
from nav_eval.scene.model import Material, Scene
from nav_eval.scene.splats import SplatCloud, expand_covariances, make_covariances
from support.splat_scenes import write_splat_ply


def make_floor(*, opacity: float = 0.95, size: float = 2.0) -> dict[str, np.ndarray]:
    """A level sheet of discs 5 cm apart, in a file whose z is up."""
    ticks = np.arange(-size, size, 0.05)
    x, y = (grid.ravel() for grid in np.meshgrid(ticks, ticks))
    count = len(x)
    return {
        "centers": np.stack([x, y, np.zeros(count)], axis=1),
        "scales": np.tile([0.04, 0.04, 0.005], (count, 1)),
        "rotations": np.tile([1.0, 0, 0, 0], (count, 1)),
        "colors": np.tile([0.8, 0.4, 0.2], (count, 1)),
        "opacities": np.full(count, opacity),
    }


def save_floor(folder: Path, **options: float) -> Path:
    path = folder / "room.ply"
    write_splat_ply(make_floor(**options), path)
    return path


def make_square(half: float) -> Scene:
    """A floor mesh in the axes of the splat file."""
    corners = np.array([(-half, -half, 0), (half, -half, 0), (half, half, 0), (-half, half, 0)], np.float32)
    return Scene(
        positions=corners,
        normals=np.tile(np.float32([0, 0, 1]), (4, 1)),
        uvs=np.zeros((4, 2), np.float32),
        colors=np.full((4, 4), 255, np.uint8),
        triangles=np.array([[0, 1, 2], [0, 2, 3]], np.uint32),
        triangle_material=np.zeros(2, np.uint16),
        triangle_object=np.zeros(2, np.uint32),
        triangle_category=np.zeros(2, np.uint16),
        materials=(Material(),),
    )


def test_a_ply_file_of_splats_is_a_scene_with_triangles_where_they_are_opaque(tmp_path: Path) -> None:
    scene = read_scene(save_floor(tmp_path), up="z")
    assert scene.splats is not None
    np.testing.assert_allclose(scene.splats.colors[0], (0.8, 0.4, 0.2), atol=1e-5)
    np.testing.assert_allclose(scene.splats.opacities, 0.95, atol=1e-5)
    lower, upper = scene.bounds
    assert -0.1 <= lower[1] < 0 < upper[1] <= 0.1  # two cubes thick at most
    np.testing.assert_allclose([lower[0], upper[0]], [-2, 2], atol=0.15)
    assert np.abs(scene.splats.centers[:, 1]).max() < 1e-6  # turned with the triangles: y is up now
    full = expand_covariances(scene.splats.covariances.astype(float))
    np.testing.assert_allclose(np.sqrt(full[0].diagonal()), (0.04, 0.005, 0.04), atol=1e-6)


def test_a_mesh_beside_the_file_stands_for_the_splats(tmp_path: Path) -> None:
    path = save_floor(tmp_path)
    before = compute_scene_digest(path)
    write_glb(make_square(1.5), tmp_path / "room.mesh.glb")
    scene = read_scene(path, up="z")
    assert len(scene.triangles) == 2
    assert scene.bounds[1].tolist() == [1.5, 0.0, 1.5]
    assert compute_scene_digest(path) != before


def test_a_splat_file_says_the_same_in_32_bytes_each(tmp_path: Path) -> None:
    floor = make_floor()
    cloud = SplatCloud(
        centers=floor["centers"].astype(np.float32),
        covariances=make_covariances(floor["scales"], floor["rotations"]),
        colors=floor["colors"].astype(np.float32),
        opacities=floor["opacities"].astype(np.float32),
    )
    path = tmp_path / "room.splat"
    path.write_bytes(encode_splat(cloud, floor["scales"], floor["rotations"]))
    scene, other = read_scene(path, up="z").splats, read_scene(save_floor(tmp_path), up="z").splats
    assert scene is not None
    assert other is not None
    assert path.stat().st_size == 32 * len(cloud)
    np.testing.assert_allclose(scene.centers, other.centers, atol=1e-6)
    np.testing.assert_allclose(scene.covariances, other.covariances, atol=1e-4)
    np.testing.assert_allclose(scene.colors, other.colors, atol=0.5 / 255)


def test_covariances_follow_a_turn() -> None:
    quarter = np.array([[np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]])  # about z: x becomes y
    full = expand_covariances(make_covariances(np.array([[3.0, 2.0, 1.0]]), quarter).astype(float))[0]
    np.testing.assert_allclose(full, np.diag([4.0, 9.0, 1.0]), atol=1e-5)


def test_haze_without_a_mesh_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"room\.mesh\.glb"):
        read_scene(save_floor(tmp_path, opacity=0.05), up="z")


def test_broken_splats_are_left_out_and_said(tmp_path: Path) -> None:
    floor = make_floor()
    floor["centers"][:7] = np.nan
    write_splat_ply(floor, tmp_path / "room.ply")
    scene = read_scene(tmp_path / "room.ply", up="z")
    assert "7 splats without a place or size are left out." in scene.report.warnings


@pytest.mark.parametrize(("content", "words"), [(b"x" * 33, "32 per splat"), (b"", "is empty"), (bytes(64), "none")])
def test_a_broken_splat_file_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "room.splat"
    path.write_bytes(content)
    with pytest.raises(SceneError, match=words):
        read_scene(path)


BOUNDS = [f"{end}_{name}" for end in ("min", "max") for name in ("x", "y", "z", "scale_x", "scale_y", "scale_z")]
WORDS = ["packed_position", "packed_rotation", "packed_scale", "packed_color"]


def pack(shares: np.ndarray, bits: tuple[int, ...]) -> np.ndarray:
    """Fractions into words, the first into the highest bits."""
    words = np.zeros(len(shares), np.uint64)
    for column, width in enumerate(bits):
        words = (words << np.uint64(width)) | np.rint(shares[:, column] * ((1 << width) - 1)).astype(np.uint64)
    return words


def write_packed(path: Path, floor: dict[str, np.ndarray]) -> None:
    """As SuperSplat writes it, all chunks within the same bounds."""
    count = len(floor["centers"])
    logarithms = np.log(floor["scales"])
    lower, upper = ([*f(floor["centers"], axis=0), *f(logarithms, axis=0)] for f in (np.min, np.max))
    lower[2], upper[2] = -1.0, 1.0
    width = np.maximum(np.array(upper) - lower, 1e-9)
    place = (np.concatenate([floor["centers"], logarithms], axis=1) - lower) / width
    turns = floor["rotations"] * np.sign(
        np.take_along_axis(floor["rotations"], np.abs(floor["rotations"]).argmax(1)[:, None], 1)
    )
    largest = np.abs(turns).argmax(axis=1)
    others = np.array([np.delete(turn, index) for turn, index in zip(turns, largest, strict=True)]) / np.sqrt(2) + 0.5
    looks = np.concatenate([floor["colors"], floor["opacities"][:, None]], axis=1)
    rows = np.stack([
        pack(place[:, :3], (11, 10, 11)), (largest.astype(np.uint64) << np.uint64(30)) | pack(others, (10, 10, 10)),
        pack(place[:, 3:], (11, 10, 11)), pack(looks, (8, 8, 8, 8)),
    ], axis=1)  # fmt: skip
    chunks = -(-count // 256)
    header = [
        "ply",
        "format binary_little_endian 1.0",
        f"element chunk {chunks}",
        *(f"property float {n}" for n in BOUNDS),
    ]
    header += [f"element vertex {count}", *(f"property uint {name}" for name in WORDS), "end_header", ""]
    bounds = np.tile(np.array([*lower, *upper], "<f4"), (chunks, 1))
    path.write_bytes("\n".join(header).encode() + bounds.tobytes() + rows.astype("<u4").tobytes())


def test_packed_splats_are_those_that_were_packed(tmp_path: Path) -> None:
    floor = make_floor(size=1.0)
    rng = np.random.default_rng(4)
    turns = rng.normal(size=(len(floor["centers"]), 4))
    floor["rotations"] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    floor["scales"] = np.exp(rng.uniform(-4, -3, floor["scales"].shape))
    write_packed(tmp_path / "room.compressed.ply", floor)
    write_splat_ply(floor, tmp_path / "room.ply")
    packed, plain = (read_scene(tmp_path / name, up="z").splats for name in ("room.compressed.ply", "room.ply"))
    np.testing.assert_allclose(packed.centers, plain.centers, atol=2e-3)
    np.testing.assert_allclose(packed.covariances, plain.covariances, atol=2e-5)
    np.testing.assert_allclose(packed.colors, plain.colors, atol=3e-3)
    np.testing.assert_allclose(packed.opacities, plain.opacities, atol=3e-3)


def test_packed_splats_without_their_bounds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "room.ply"
    write_packed(path, make_floor(size=0.5))
    path.write_bytes(path.read_bytes().replace(b"min_scale_x", b"min_scale_q"))
    with pytest.raises(SceneError, match="lack min_scale_x"):
        read_scene(path)


def test_splats_that_lack_a_column_are_refused(tmp_path: Path) -> None:
    path = save_floor(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"property float rot_3", b"property float odd_3"))
    with pytest.raises(SceneError, match="lack rot_3"):
        read_scene(path)
