"""Real files: the scenes and sample models under ../shared/data, where they are present."""

from functools import cache

import numpy as np
import pytest
from PIL import Image

from nav_eval.errors import SceneError
from nav_eval.scene.formats import inspect_scene, read_scene
from nav_eval.scene.model import AlphaMode, Scene, Wrap
from support.paths import ROOT

DATA = ROOT.parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared sample scenes are not on this machine")

FILES = sorted(path.relative_to(DATA).as_posix() for path in DATA.rglob("*.gl*") if path.suffix in (".glb", ".gltf"))
LARGE = ("small_house", "hospital", "DragonAttenuation")


@cache
def load(name: str) -> Scene:
    return read_scene(DATA / name)


def sample(name: str, form: str = "glTF-Binary") -> Scene:
    suffix = "glb" if form == "glTF-Binary" else "gltf"
    return load(f"gltf/{name}/{form}/{name}.{suffix}")


def size(scene: Scene) -> np.ndarray:
    return scene.bounds[1] - scene.bounds[0]


@pytest.mark.parametrize("name", [name for name in FILES if not any(large in name for large in LARGE)])
def test_every_file_loads_soundly_or_is_refused_by_name(name: str) -> None:
    if "batch-four-squares" in name:
        with pytest.raises(SceneError, match=r"whole-file\.gltf: requires KHR_texture_ktx"):
            load(name)
        return
    scene = load(name)
    assert np.isfinite(scene.positions).all()
    assert np.allclose(np.linalg.norm(scene.normals, axis=1), 1, atol=1e-3)
    assert scene.triangles.max() < len(scene.positions)
    assert len(scene.triangles) == len(scene.triangle_material) == len(scene.triangle_object)
    assert not any("image" in warning for warning in scene.report.warnings), scene.report.warnings


def colors_near_corners(scene: Scene) -> set[tuple[int, int, int]]:
    """The pictures' colours just inside the corners of all triangles."""
    seen = set()
    for triangle, material in zip(scene.triangles, scene.triangle_material, strict=True):
        texture = scene.materials[material].texture
        if texture is None:
            continue
        pixels = scene.textures[texture].pixels
        for corner in range(3):
            weights = np.roll([0.9, 0.05, 0.05], corner)
            u, v = (weights @ scene.uvs[triangle]) % 1
            seen.add(tuple(pixels[int(v * len(pixels)), int(u * pixels.shape[1]), :3].tolist()))
    return seen


def test_instances_of_simple_instancing() -> None:
    scene = sample("SimpleInstancing")
    assert len(scene.triangles) == 125 * 12
    assert scene.report.meshes == 125


def test_mirrored_nodes_of_negative_scale_test_look_outwards() -> None:
    scene = sample("NegativeScaleTest")
    corners = scene.positions[scene.triangles].astype(float)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    agree = np.einsum("ti,ti->t", normals, scene.normals[scene.triangles].astype(float).mean(axis=1))
    assert (agree > 0).mean() > 0.999  # winding and normals agree on every mirrored copy


def test_texture_transform_test_shows_its_ticks() -> None:
    """Offset quads show green, blue and turquoise; without the transform they would be red."""
    scene = sample("TextureTransformTest", "glTF")
    assert {(0, 192, 0), (0, 0, 192), (0, 192, 192)} <= colors_near_corners(scene)


def test_simple_morph_and_skin_stand_in_their_default_pose() -> None:
    assert np.allclose(sample("SimpleMorph", "glTF").bounds[1], [1, 1.5, 0])  # 0.5 + weight 0.5 × target
    assert np.allclose(sample("SimpleSkin", "glTF").bounds, [[-0.5, 0, 0], [0.5, 2, 0]])
    assert np.allclose(size(sample("RiggedSimple", "glTF-Draco"))[1], 9.16, atol=0.05)
    man = sample("CesiumMan")
    assert size(man)[1] == pytest.approx(1.5, abs=0.02)  # he stands upright on the ground
    assert man.bounds[0][1] == pytest.approx(0, abs=0.01)


def test_sparse_accessor_moves_three_vertices() -> None:
    for form in ("glTF", "glTF-Embedded"):
        scene = sample("SimpleSparseAccessor", form)
        assert scene.bounds[1].tolist() == [6, 4, 0]


def test_colours_of_vertices() -> None:
    scene = sample("BoxVertexColors")
    assert len(np.unique(scene.colors, axis=0)) == 8
    assert {tuple(row) for row in (scene.colors[:, :3] // 255).tolist()} == {
        (r, g, b) for r in (0, 1) for g in (0, 1) for b in (0, 1)
    }
    tested = sample("VertexColorTest")
    assert (tested.colors != 255).any()
    assert any(material.texture is not None for material in tested.materials)


def test_spaces_in_names_and_embedded_data() -> None:
    spaced = load("gltf/Box With Spaces/glTF/Box With Spaces.gltf")
    assert len(spaced.textures) == 3  # colour, metal and roughness, normals
    plain, embedded = sample("Box", "glTF"), sample("Box", "glTF-Embedded")
    draco, interleaved = sample("Box", "glTF-Draco"), sample("BoxInterleaved", "glTF")
    for other in (embedded, draco, interleaved, sample("Box")):
        assert np.allclose(other.bounds, plain.bounds)
        assert len(other.triangles) == 12


def test_materials_of_the_samples() -> None:
    modes = {material.alpha_mode for material in sample("AlphaBlendModeTest").materials}
    assert modes == {AlphaMode.OPAQUE, AlphaMode.MASK, AlphaMode.BLEND}
    assert all(material.unlit for material in sample("UnlitTest").materials)
    assert max(max(material.emissive) for material in sample("EmissiveStrengthTest").materials) == pytest.approx(14.4)
    wraps = {texture.wrap_u for texture in sample("TextureSettingsTest").textures}
    assert wraps == {Wrap.REPEAT, Wrap.CLAMP, Wrap.MIRROR}
    assert sample("TwoSidedPlane", "glTF").materials[0].double_sided
    glass = {material.alpha_mode for material in sample("GlassBrokenWindow").materials}
    assert AlphaMode.BLEND in glass


def test_primitive_modes() -> None:
    scene = sample("MeshPrimitiveModes", "glTF")
    assert len(scene.triangles) > 0
    assert sum("left out" in warning for warning in scene.report.warnings) == 4  # points and three kinds of lines


def test_hidden_cubes_and_lights() -> None:
    assert len(sample("CubeVisibility").triangles) == 24
    assert len(sample("LightVisibility").lights) == 2
    assert [light.kind for light in sample("DirectionalLight").lights] == ["sun"]


def test_habitat_assets() -> None:
    room = load("scenes/habitat-test-assets/simple_room.glb")
    assert "+Z" in room.report.up
    assert size(room)[1] < 3  # 2.2 m high, 10 × 11 m wide
    assert load("scenes/habitat-test-assets/plane.glb").bounds[1].tolist() == [100, 0, 100]


def test_apartment_and_its_uastc_twin() -> None:
    plain, packed = load("scenes/apartment.glb"), load("scenes/variants/apartment.ktx2-uastc.glb")
    assert plain.report.file_triangles == packed.report.file_triangles == 1463
    assert np.allclose(plain.bounds, packed.bounds)
    assert np.allclose(plain.uvs, packed.uvs)
    original = Image.fromarray(plain.textures[0].pixels).resize((1024, 1024), Image.Resampling.LANCZOS)
    assert np.abs(np.asarray(original).astype(int) - packed.textures[0].pixels).mean() < 1
    assert any(material.alpha_mode is AlphaMode.BLEND for material in plain.materials)


VARIANTS = ["draco", "meshopt", "quantized", "webp", "ktx2-etc1s"]


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_five_encodings_of_one_house(variant: str) -> None:
    plain, packed = load("scenes/small_house.glb"), load(f"scenes/variants/small_house.{variant}.glb")
    assert plain.report.file_triangles == 145_844
    assert packed.report.file_triangles == 145_844 - (2 if variant == "draco" else 0)
    assert packed.report.meshes == plain.report.meshes == 108
    assert np.allclose(packed.bounds, plain.bounds, atol=2e-3)
    assert packed.report.warnings == ()
    exact = variant in ("webp", "ktx2-etc1s")
    assert surface_distance(plain, packed) <= (1e-5 if exact else 3e-3)


def surface_distance(plain: Scene, packed: Scene) -> float:
    """How far the corners of a sample of triangles are from the nearest corner of the other scene."""
    from scipy.spatial import cKDTree

    tree = cKDTree(packed.positions[np.unique(packed.triangles)])
    distance, _ = tree.query(plain.positions[plain.triangles[::37]].reshape(-1, 3))
    return float(distance.max())


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_five_encodings_show_the_same_pictures(variant: str) -> None:
    """The colour in the middle of every large triangle, whatever size the picture has now."""
    plain, packed = load("scenes/small_house.glb"), load(f"scenes/variants/small_house.{variant}.glb")
    original, shown = smoothed_colors(plain), smoothed_colors(packed)
    from scipy.spatial import cKDTree

    where = [scene.positions[scene.triangles].mean(axis=1) for scene in (plain, packed)]
    distance, match = cKDTree(where[1]).query(where[0][::11])
    near = distance < 2e-3
    assert near.mean() > 0.98
    difference = np.abs(original[::11][near].astype(int) - shown[match[near]]).mean(axis=1)
    assert np.median(difference) <= 3
    assert (difference < 40).mean() > 0.97


def smoothed_colors(scene: Scene) -> np.ndarray:
    """T × 3: the picture's colour at each triangle's middle, after shrinking it to 64 × 64."""
    colors = np.full((len(scene.triangles), 3), 255, np.uint8)
    uvs = scene.uvs[scene.triangles].mean(axis=1)
    for index, material in enumerate(scene.materials):
        members = np.flatnonzero(scene.triangle_material == index)
        if material.texture is None or not len(members):
            continue
        picture = Image.fromarray(scene.textures[material.texture].pixels).convert("RGB")
        small = np.asarray(picture.resize((64, 64), Image.Resampling.BOX))
        u, v = (uvs[members] % 1).T
        colors[members] = small[(v * 63.999).astype(int), (u * 63.999).astype(int)]
    return colors


@pytest.mark.slow
def test_hospital_has_two_floors() -> None:
    scene = load("scenes/hospital_two_floors.glb")
    assert len(scene.triangles) == 293_758
    inspection = inspect_scene(scene)
    assert inspection.meshes == 254
    assert [round(height) for height in inspection.floors] == [0, 3]
    assert inspection.storey_height == pytest.approx(3, abs=0.2)


@pytest.mark.slow
def test_the_dragon_of_khr_meshopt() -> None:
    scene = sample("DragonAttenuation", "glTF-Meshopt")
    assert len(scene.triangles) == 134_993
    assert size(scene).max() == pytest.approx(6.6, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small_house", "hospital_two_floors", "apartment", "collision-world"])
@pytest.mark.parametrize("axes", [[0, 2, 1], [2, 0, 1]])
def test_real_buildings_are_noticed_lying_on_their_side(name: str, axes: list[int]) -> None:
    from dataclasses import replace

    from nav_eval.scene.formats.inspection import Shape
    from nav_eval.scene.formats.orientation import choose_axis

    scene = load(f"scenes/{name}.glb")
    lying = replace(scene, positions=np.ascontiguousarray(scene.positions[:, axes]))
    assert choose_axis(Shape(scene), expected="y", decisive=1.4) == "y"
    assert choose_axis(Shape(lying), expected="y", decisive=1.4) == "z"
