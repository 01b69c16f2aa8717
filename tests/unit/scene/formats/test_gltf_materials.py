"""How glTF surfaces look once they are read."""

from pathlib import Path

import numpy as np
import pytest
from gltf_files import FOUR_COLORS, SQUARE, SQUARE_CORNERS, SQUARE_UVS, GltfFile, picture

from nav_eval.scene.formats import read_scene
from nav_eval.scene.model import AlphaMode, Material, Scene, Wrap


def with_material(tmp_path: Path, file: GltfFile, **material: object) -> Scene:
    file.node(mesh=file.square(material=file.material(**material)))
    return read_scene(file.save(tmp_path / "scene.glb"))


def only_material(tmp_path: Path, **material: object) -> Material:
    return with_material(tmp_path, GltfFile(), **material).materials[0]


def test_no_material_is_white_and_lit(tmp_path: Path) -> None:
    file = GltfFile()
    file.node(mesh=file.square())
    (material,) = read_scene(file.save(tmp_path / "scene.glb")).materials
    assert material.base_color == (1, 1, 1, 1)
    assert material.texture is None
    assert not material.unlit


def test_factors_and_flags(tmp_path: Path) -> None:
    material = only_material(
        tmp_path, name="wall", doubleSided=True, alphaMode="MASK", alphaCutoff=0.25, emissiveFactor=[0.5, 0, 1],
        pbrMetallicRoughness={"baseColorFactor": [0.1, 0.2, 0.3, 0.4]},
        extensions={"KHR_materials_emissive_strength": {"emissiveStrength": 4}},
    )  # fmt: skip
    assert material.name == "wall"
    assert material.base_color == (0.1, 0.2, 0.3, 0.4)
    assert material.double_sided
    assert (material.alpha_mode, material.alpha_cutoff) == (AlphaMode.MASK, 0.25)
    assert material.emissive == (2.0, 0.0, 4.0)


@pytest.mark.parametrize(
    ("material", "unlit"),
    [({}, False), ({"extensions": {"KHR_materials_unlit": {}}, "emissiveFactor": [1, 1, 1]}, True)],
)
def test_unlit(tmp_path: Path, material: dict, unlit: bool) -> None:
    read = only_material(tmp_path, **material)
    assert read.unlit is unlit
    assert read.emissive == (0, 0, 0)  # an unlit surface has no glow on top


def test_the_older_diffuse_model_is_read(tmp_path: Path) -> None:
    glossy = {"KHR_materials_pbrSpecularGlossiness": {"diffuseFactor": [0.5, 0.25, 0, 1]}}
    assert only_material(tmp_path, extensions=glossy).base_color == (0.5, 0.25, 0, 1)


def test_clear_glass_is_blended_and_stays_there(tmp_path: Path) -> None:
    glass = {"KHR_materials_transmission": {"transmissionFactor": 1.0}}
    scene = with_material(tmp_path, GltfFile(), extensions=glass)
    assert scene.materials[0].alpha_mode is AlphaMode.BLEND
    assert 0 < scene.materials[0].base_color[3] < 0.5
    assert len(scene.triangles) == 2


@pytest.mark.parametrize(
    ("kind", "options", "tolerance"),
    [("PNG", {}, 0), ("WEBP", {"lossless": True}, 0), ("AVIF", {"quality": 100}, 40), ("JPEG", {"quality": 100}, 140)],
)
def test_picture_formats(tmp_path: Path, kind: str, options: dict, tolerance: int) -> None:
    file = GltfFile()
    texture = file.texture(picture(FOUR_COLORS.repeat(8, 0).repeat(8, 1), kind, **options))
    scene = with_material(tmp_path, file, pbrMetallicRoughness={"baseColorTexture": {"index": texture}})
    pixels = scene.textures[scene.materials[0].texture].pixels
    assert pixels.shape == (16, 16, 4)
    assert pixels.dtype == np.uint8
    assert np.abs(pixels[[2, 2, 13, 13], [2, 13, 2, 13], :3].astype(int) - FOUR_COLORS.reshape(4, 3)).max() <= tolerance


@pytest.mark.parametrize("extension", ["EXT_texture_webp", "EXT_texture_avif", "KHR_texture_basisu"])
def test_the_image_that_an_extension_offers_is_shown(tmp_path: Path, extension: str) -> None:
    file = GltfFile()
    offered = file.add("images", {"bufferView": file.view(picture(FOUR_COLORS)), "mimeType": "image/png"})
    texture = file.texture(picture(np.zeros((2, 2, 3))), extensions={extension: {"source": offered}})
    scene = with_material(tmp_path, file, pbrMetallicRoughness={"baseColorTexture": {"index": texture}})
    assert scene.textures[0].pixels[..., :3].tolist() == FOUR_COLORS.tolist()


def test_sixteen_bit_grey_is_scaled_not_clipped(tmp_path: Path) -> None:
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.array([[0, 32768, 65535]], np.uint16)).save(buffer, "PNG")
    file = GltfFile()
    texture = file.texture(buffer.getvalue())
    scene = with_material(tmp_path, file, pbrMetallicRoughness={"baseColorTexture": {"index": texture}})
    assert scene.textures[0].pixels[0, :, 0].tolist() == [0, 128, 255]


def test_samplers_and_shared_pictures(tmp_path: Path) -> None:
    file = GltfFile()
    clamped = file.add("samplers", {"wrapS": 33071, "wrapT": 33648, "magFilter": 9728})
    first = file.texture(picture(FOUR_COLORS))
    second = file.add("textures", {"source": 0, "sampler": clamped})
    third = file.add("textures", {"source": 0})
    for texture in (first, second, third):
        info = {"baseColorTexture": {"index": texture}}
        file.node(mesh=file.square(material=file.material(pbrMetallicRoughness=info)))
    scene = read_scene(file.save(tmp_path / "scene.glb"))
    assert [material.texture for material in scene.materials] == [0, 1, 0]
    assert (scene.textures[0].wrap_u, scene.textures[0].wrap_v) == (Wrap.REPEAT, Wrap.REPEAT)
    assert (scene.textures[1].wrap_u, scene.textures[1].wrap_v) == (Wrap.CLAMP, Wrap.MIRROR)
    assert scene.textures[1].nearest
    assert scene.textures[0].pixels is scene.textures[1].pixels


def test_texture_coordinates_of_the_uv_set_that_the_picture_names(tmp_path: Path) -> None:
    file = GltfFile()
    texture = file.texture(picture(FOUR_COLORS))
    material = file.material(pbrMetallicRoughness={"baseColorTexture": {"index": texture, "texCoord": 1}})
    attributes = {
        "POSITION": file.accessor(SQUARE), "TEXCOORD_0": file.accessor(SQUARE_UVS),
        "TEXCOORD_1": file.accessor(SQUARE_UVS + 7),
    }  # fmt: skip
    file.node(mesh=file.mesh(attributes, indices=file.accessor(SQUARE_CORNERS), material=material))
    scene = read_scene(file.save(tmp_path / "scene.glb"))
    assert scene.uvs.min() == 7


@pytest.mark.parametrize(
    ("transform", "corner"),  # where the point (u, v) = (1, 0) goes
    [
        ({"offset": [0.25, 0.5]}, [1.25, 0.5]),
        ({"scale": [2, 3]}, [2, 0]),
        ({"rotation": np.pi / 2}, [0, -1]),  # counter-clockwise on the picture, whose v runs down
        ({"rotation": np.pi / 2, "scale": [2, 1], "offset": [0.5, 0]}, [0.5, -2]),  # scale, then turn, then move
    ],
)
def test_texture_transform_is_baked_in(tmp_path: Path, transform: dict, corner: list[float]) -> None:
    file = GltfFile()
    texture = file.texture(picture(FOUR_COLORS))
    info = {"index": texture, "extensions": {"KHR_texture_transform": transform}}
    scene = with_material(tmp_path, file, pbrMetallicRoughness={"baseColorTexture": info})
    corner_of_the_square = np.flatnonzero((scene.positions == [1, 1, 0]).all(axis=1))[0]  # its uv is (1, 0)
    assert np.allclose(scene.uvs[corner_of_the_square], corner, atol=1e-6)


def test_the_transform_may_choose_another_uv_set(tmp_path: Path) -> None:
    file = GltfFile()
    texture = file.texture(picture(FOUR_COLORS))
    info = {"index": texture, "texCoord": 0, "extensions": {"KHR_texture_transform": {"texCoord": 1}}}
    attributes = {
        "POSITION": file.accessor(SQUARE), "TEXCOORD_0": file.accessor(SQUARE_UVS),
        "TEXCOORD_1": file.accessor(SQUARE_UVS + 3),
    }  # fmt: skip
    material = file.material(pbrMetallicRoughness={"baseColorTexture": info})
    file.node(mesh=file.mesh(attributes, indices=file.accessor(SQUARE_CORNERS), material=material))
    assert read_scene(file.save(tmp_path / "scene.glb")).uvs.min() == 3


@pytest.mark.parametrize(
    ("colors", "expected"),
    [
        (np.tile(np.array([1, 0.5, 0], np.float32), (4, 1)), [255, 128, 0, 255]),
        (np.tile(np.array([1, 0.5, 0, 0.25], np.float32), (4, 1)), [255, 128, 0, 64]),
        (np.tile(np.array([255, 128, 0, 64], np.uint8), (4, 1)), [255, 128, 0, 64]),
        (np.tile(np.array([65535, 32896, 0, 16448], np.uint16), (4, 1)), [255, 128, 0, 64]),
    ],
)
def test_vertex_colours_together_with_a_picture(tmp_path: Path, colors: np.ndarray, expected: list[int]) -> None:
    file = GltfFile()
    texture = file.texture(picture(FOUR_COLORS))
    material = file.material(pbrMetallicRoughness={"baseColorTexture": {"index": texture}})
    attributes = {
        "POSITION": file.accessor(SQUARE), "TEXCOORD_0": file.accessor(SQUARE_UVS),
        "COLOR_0": file.accessor(colors, normalized=colors.dtype != np.float32),
    }  # fmt: skip
    file.node(mesh=file.mesh(attributes, indices=file.accessor(SQUARE_CORNERS), material=material))
    scene = read_scene(file.save(tmp_path / "scene.glb"))
    assert scene.colors[0].tolist() == expected
    assert scene.materials[0].texture == 0


def test_light_baked_into_the_emissive_picture_of_a_black_material(tmp_path: Path) -> None:
    file = GltfFile()
    texture = file.texture(picture(FOUR_COLORS))
    scene = with_material(
        tmp_path, file, pbrMetallicRoughness={"baseColorFactor": [0, 0, 0, 1]},
        emissiveFactor=[1, 1, 1], emissiveTexture={"index": texture},
    )  # fmt: skip
    assert scene.materials[0].texture == 0
    assert scene.materials[0].unlit
    assert scene.materials[0].base_color == (1, 1, 1, 1)


@pytest.mark.parametrize("content", [b"", b"not a picture", picture(FOUR_COLORS)[:40]])
def test_a_broken_picture_is_a_warning_and_the_plain_colour(tmp_path: Path, content: bytes) -> None:
    file = GltfFile()
    texture = file.texture(content)
    info = {"baseColorTexture": {"index": texture}, "baseColorFactor": [0.5, 0.5, 0.5, 1]}
    scene = with_material(tmp_path, file, pbrMetallicRoughness=info)
    assert scene.materials[0].texture is None
    assert scene.materials[0].base_color == (0.5, 0.5, 0.5, 1)
    assert any("image 0" in warning and "plain colour" in warning for warning in scene.report.warnings)


def test_a_missing_picture_is_a_warning_that_names_it(tmp_path: Path) -> None:
    file = GltfFile()
    file.add("images", {"uri": "wood.png"})
    file.add("textures", {"source": 0})
    scene = with_material(tmp_path, file, pbrMetallicRoughness={"baseColorTexture": {"index": 0}})
    assert any("wood.png" in warning for warning in scene.report.warnings)


def test_pictures_that_nothing_shows_are_not_decoded(tmp_path: Path) -> None:
    file = GltfFile()
    normal_map = file.texture(b"broken, but only a normal map")
    scene = with_material(tmp_path, file, normalTexture={"index": normal_map})
    assert scene.textures == ()
    assert scene.report.warnings == ("The scene is 1.00 × 1.00 × 0.00 m large, too small to stand in. "
                                     "If it is a miniature, pass a scale.",)  # fmt: skip


def test_an_unknown_extension_is_refused_if_required_and_mentioned_if_used(tmp_path: Path) -> None:
    file = GltfFile()
    file.json["extensionsUsed"] = ["EXT_unheard_of", "KHR_materials_sheen"]
    scene = with_material(tmp_path, file)
    assert any("EXT_unheard_of" in warning for warning in scene.report.warnings)
    assert any("KHR_materials_sheen" in warning for warning in scene.report.warnings)
    file.json["extensionsRequired"] = ["EXT_unheard_of"]
    with pytest.raises(Exception, match=r"scene\.glb: requires EXT_unheard_of"):
        read_scene(file.save(tmp_path / "scene.glb"))


def test_lights_stand_where_their_nodes_are(tmp_path: Path) -> None:
    file = GltfFile()
    file.json["extensions"] = {"KHR_lights_punctual": {"lights": [
        {"type": "point", "color": [1, 0.5, 0], "intensity": 20, "range": 6}, {"type": "directional"},
    ]}}  # fmt: skip
    down = [-np.sqrt(0.5), 0, 0, np.sqrt(0.5)]  # a quarter turn about X: −Z becomes −Y
    file.node(extensions={"KHR_lights_punctual": {"light": 0}}, translation=[1, 2, 3])
    file.node(extensions={"KHR_lights_punctual": {"light": 1}}, rotation=down)
    lamp, sun = with_material(tmp_path, file).lights
    assert (lamp.kind, lamp.position, lamp.color, lamp.intensity, lamp.range) == (
        "point",
        (1, 2, 3),
        (1, 0.5, 0),
        20,
        6,
    )
    assert sun.kind == "sun"
    assert np.allclose(sun.direction, [0, -1, 0])
