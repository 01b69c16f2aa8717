"""Scenes written as GLB and read back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gltf_files import GltfFile

from nav_eval.scene.formats import compute_scene_digest, encode_glb, read_scene, write_glb
from nav_eval.scene.model import AlphaMode, Light, Material, Scene, Shading, Texture, Wrap


def scene_of_parts(*, seed: int = 1) -> Scene:
    """Three objects, four materials, vertices shared between them."""
    rng = np.random.default_rng(seed)
    positions = rng.uniform(0, 5, (40, 3)).astype(np.float32)
    normals = rng.normal(size=(40, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    triangles = np.array([rng.choice(40, 3, replace=False) for _ in range(60)], np.uint32)
    pictures = [rng.integers(0, 256, (4, 6, 4), dtype=np.uint8), np.full((2, 2, 4), 255, np.uint8)]
    return Scene(
        positions=positions,
        normals=normals.astype(np.float32),
        uvs=rng.uniform(-1, 2, (40, 2)).astype(np.float32),
        colors=rng.integers(0, 256, (40, 4), dtype=np.uint8),
        triangles=triangles,
        triangle_material=rng.integers(0, 4, 60).astype(np.uint16),
        triangle_object=rng.choice([0, 3, 70_000], 60).astype(np.uint32),
        triangle_category=np.zeros(60, np.uint16),
        materials=(
            Material(
                name="wall",
                base_color=(0.1, 0.2, 0.3, 1.0),
                unlit=False,
                double_sided=True,
                shading=Shading(coat=0.5, coat_roughness=0.25, sheen=(0.5, 0.25, 1.0), sheen_roughness=0.125),
            ),
            Material(name="leaf", texture=0, alpha_mode=AlphaMode.MASK, alpha_cutoff=0.3),
            Material(name="pane", texture=1, unlit=False, alpha_mode=AlphaMode.BLEND, base_color=(1, 1, 1, 0.25)),
            Material(name="lamp", texture=2, unlit=False, emissive=(6.0, 3.0, 0.0)),
        ),
        textures=(
            Texture(pixels=pictures[0], wrap_u=Wrap.CLAMP, wrap_v=Wrap.MIRROR, nearest=True),
            Texture(pixels=pictures[1]),
            Texture(pixels=pictures[0]),
        ),
        lights=(
            Light(kind="point", color=(1, 0.9, 0.8), intensity=7.0, position=(1.0, 2.0, 3.0), range=9.0),
            Light(kind="sun", direction=(0.6, -0.8, 0.0), intensity=2.0),
            Light(kind="sun", direction=(0.0, 0.0, 1.0)),
        ),
    )


def surfaces(scene: Scene) -> set[tuple]:
    """Every triangle with everything that belongs to it, in no particular order."""
    rows = set()
    for triangle, material, thing in zip(scene.triangles, scene.triangle_material, scene.triangle_object, strict=True):
        textured = scene.materials[material].texture is not None
        corners = tuple(
            (
                tuple(scene.positions[vertex].tolist()),
                tuple(np.round(scene.normals[vertex], 5).tolist()),
                tuple(scene.uvs[vertex].tolist()) if textured else (),
                tuple(scene.colors[vertex].tolist()),
            )
            for vertex in triangle
        )
        rows.add((corners, scene.materials[material].name, int(thing)))
    return rows


def test_everything_comes_back(tmp_path: Path) -> None:
    scene = scene_of_parts()
    write_glb(scene, tmp_path / "scene.glb")
    again = read_scene(tmp_path / "scene.glb", up="y")
    assert surfaces(again) == surfaces(scene)
    by_name = {material.name: material for material in again.materials}
    for material in scene.materials:
        read = by_name[material.name]
        assert replace(read, texture=None, emissive=material.emissive) == replace(material, texture=None)
        assert np.allclose(read.emissive, material.emissive)
        if material.texture is not None:
            expected, shown = scene.textures[material.texture], again.textures[read.texture]
            assert np.array_equal(shown.pixels, expected.pixels)
            assert (shown.wrap_u, shown.wrap_v, shown.nearest) == (expected.wrap_u, expected.wrap_v, expected.nearest)
    for read, light in zip(again.lights, scene.lights, strict=True):
        assert (read.kind, read.color, read.intensity, read.range) == (
            light.kind, light.color, light.intensity, light.range,
        )  # fmt: skip
        assert np.allclose(read.position, light.position)
        if light.kind == "sun":
            assert np.allclose(read.direction, light.direction, atol=1e-6)
    assert again.report.warnings == ()


def test_reflectance_comes_back(tmp_path: Path) -> None:
    scene = scene_of_parts()
    varnished = replace(scene.materials[0], shading=Shading(reflectance=(0.2, 0.1, 0.05)))
    write_glb(replace(scene, materials=(varnished, *scene.materials[1:])), tmp_path / "scene.glb")
    again = {material.name: material for material in read_scene(tmp_path / "scene.glb", up="y").materials}
    assert again["wall"].shading.reflectance == pytest.approx((0.2, 0.1, 0.05))


def test_equal_scenes_give_equal_bytes(tmp_path: Path) -> None:
    assert encode_glb(scene_of_parts()) == encode_glb(scene_of_parts())
    assert encode_glb(scene_of_parts()) != encode_glb(scene_of_parts(seed=2))
    write_glb(scene_of_parts(), tmp_path / "a.glb")
    write_glb(scene_of_parts(), tmp_path / "b.glb")
    assert compute_scene_digest(tmp_path / "a.glb") == compute_scene_digest(tmp_path / "b.glb")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.glb", "b.glb"]  # nothing half-written stays


def test_writing_what_was_read_changes_nothing_more(tmp_path: Path) -> None:
    write_glb(scene_of_parts(), tmp_path / "first.glb")
    write_glb(read_scene(tmp_path / "first.glb", up="y"), tmp_path / "second.glb")
    write_glb(read_scene(tmp_path / "second.glb", up="y"), tmp_path / "third.glb")
    assert (tmp_path / "second.glb").read_bytes() == (tmp_path / "third.glb").read_bytes()


def test_more_than_65_536_vertices_of_one_object(tmp_path: Path) -> None:
    side = 300
    grid = np.stack(np.meshgrid(np.arange(side), [0], np.arange(side), indexing="ij"), axis=-1).reshape(-1, 3)
    corner = np.arange(side * (side - 1)).reshape(-1, 1)
    corner = corner[(corner % side != side - 1).ravel()]
    base = scene_of_parts()
    count = side * side
    scene = replace(
        base,
        positions=(grid / 20).astype(np.float32),
        normals=np.tile(np.array([0, 1, 0], np.float32), (count, 1)),
        uvs=np.zeros((count, 2), np.float32),
        colors=np.full((count, 4), 255, np.uint8),
        triangles=np.hstack([corner, corner + 1, corner + side]).astype(np.uint32),
        triangle_material=np.zeros(len(corner), np.uint16),
        triangle_object=np.ones(len(corner), np.uint32),
        triangle_category=np.zeros(len(corner), np.uint16),
    )
    write_glb(scene, tmp_path / "grid.glb")
    again = read_scene(tmp_path / "grid.glb")
    assert np.array_equal(again.positions[again.triangles], scene.positions[scene.triangles])


def digest_files(folder: Path) -> Path:
    (folder / "paint.mtl").write_text("newmtl a\nmap_Kd wood.png\n")
    (folder / "wood.png").write_bytes(b"any bytes")
    (folder / "scene.obj").write_text("mtllib paint.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl a\nf 1 2 3\n")
    return folder / "scene.obj"


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("scene.obj", True), ("paint.mtl", True), ("wood.png", True), ("scene.stage_config.json", True),
        ("scene.semantics.json", True), ("unrelated.txt", False),
    ],
)  # fmt: skip
def test_the_digest_covers_every_file_of_the_scene(tmp_path: Path, name: str, counts: bool) -> None:
    path = digest_files(tmp_path)
    before = compute_scene_digest(path)
    content = (tmp_path / name).read_bytes() if (tmp_path / name).exists() else b"{}"
    (tmp_path / name).write_bytes(content + b"\n")
    assert (compute_scene_digest(path) != before) is counts


def test_the_digest_does_not_depend_on_the_place(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    assert compute_scene_digest(digest_files(tmp_path / "here")) == compute_scene_digest(
        digest_files(tmp_path / "there")
    )


def test_the_digest_covers_external_buffers(tmp_path: Path) -> None:
    file = GltfFile()
    file.node(mesh=file.square())
    path = file.save_text(tmp_path / "scene.gltf", uri="data.bin")
    before = compute_scene_digest(path)
    (tmp_path / "data.bin").write_bytes(bytes(len(file.binary)))
    assert compute_scene_digest(path) != before
    (tmp_path / "data.bin").unlink()
    assert compute_scene_digest(path) != before  # missing is a state, too
