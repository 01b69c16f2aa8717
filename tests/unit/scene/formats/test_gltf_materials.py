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


@pytest.mark.parametrize(
    ("roughness", "extensions"),
    [(0.0, {}), (1.0, {"KHR_materials_emissive_strength": {"emissiveStrength": 3.0}})],
)
def test_what_is_polished_or_a_lamp_is_no_baked_light(
    tmp_path: Path, roughness: float, extensions: dict[str, object]
) -> None:
    file = GltfFile()
    texture = file.texture(picture(FOUR_COLORS))
    scene = with_material(
        tmp_path, file, pbrMetallicRoughness={"baseColorFactor": [0, 0, 0, 1], "roughnessFactor": roughness},
        emissiveFactor=[1, 1, 1], emissiveTexture={"index": texture}, extensions=extensions,
    )  # fmt: skip
    assert not scene.materials[0].unlit
    assert scene.materials[0].base_color == (0, 0, 0, 1)
    assert scene.materials[0].emissive[0] == (3.0 if extensions else 1.0)


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
    unlit = {"KHR_materials_unlit": {}}
    scene = with_material(tmp_path, file, normalTexture={"index": normal_map}, extensions=unlit)
    assert scene.textures == ()
    assert scene.report.warnings == ("The scene is 1.00 × 1.00 × 0.00 m large, too small to stand in. "
                                     "If it is a miniature, pass a scale.",)  # fmt: skip


def test_an_unknown_extension_is_refused_if_required_and_mentioned_if_used(tmp_path: Path) -> None:
    file = GltfFile()
    file.json["extensionsUsed"] = ["EXT_unheard_of", "KHR_materials_dispersion"]
    scene = with_material(tmp_path, file)
    assert any("EXT_unheard_of" in warning for warning in scene.report.warnings)
    assert any("KHR_materials_dispersion" in warning for warning in scene.report.warnings)
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


def test_metal_roughness_and_maps_are_read(tmp_path: Path) -> None:
    file = GltfFile()
    picture_of = [file.texture(picture(np.full((2, 2, 3), level))) for level in (10, 20, 30, 40)]
    material = with_material(
        tmp_path, file, emissiveFactor=[0, 1, 0], emissiveTexture={"index": picture_of[3]},
        pbrMetallicRoughness={
            "metallicFactor": 0.25, "roughnessFactor": 0.5, "metallicRoughnessTexture": {"index": picture_of[0]},
        },
        normalTexture={"index": picture_of[1], "scale": 0.5},
        occlusionTexture={"index": picture_of[2], "strength": 0.75},
    ).materials[0]  # fmt: skip
    shading = material.shading
    assert (shading.metallic, shading.roughness) == (0.25, 0.5)
    assert (shading.normal_scale, shading.occlusion_strength) == (0.5, 0.75)
    assert len({shading.roughness_map, shading.normal_map, shading.occlusion_map, shading.emission_map}) == 4
    assert material.emissive == (0, 1, 0)
    assert material.texture is None


def test_a_map_with_coordinates_of_its_own_is_named_and_left_out(tmp_path: Path) -> None:
    file = GltfFile()
    texture = file.texture(picture(FOUR_COLORS))
    scene = with_material(
        tmp_path, file, pbrMetallicRoughness={"baseColorTexture": {"index": texture}},
        emissiveFactor=[1, 1, 1], emissiveTexture={"index": texture, "texCoord": 1},
    )  # fmt: skip
    assert scene.materials[0].emissive == (0, 0, 0)
    assert any("emission picture" in warning for warning in scene.report.warnings)


def test_what_reflects_like_a_metal_is_one(tmp_path: Path) -> None:
    gold = {"diffuseFactor": [0, 0, 0, 1], "specularFactor": [1.0, 0.77, 0.34], "glossinessFactor": 0.7}
    material = only_material(tmp_path, extensions={"KHR_materials_pbrSpecularGlossiness": gold})
    assert material.shading.metallic == pytest.approx(1.0, abs=0.01)
    assert material.shading.roughness == pytest.approx(0.3)
    assert material.base_color == pytest.approx((1.0, 0.77, 0.34, 1.0), abs=0.01)
    plastic = {"diffuseFactor": [0.5, 0.1, 0.1, 1], "specularFactor": [0.04, 0.04, 0.04], "glossinessFactor": 0.2}
    material = only_material(tmp_path, extensions={"KHR_materials_pbrSpecularGlossiness": plastic})
    assert material.shading.metallic == pytest.approx(0.0, abs=0.01)
    assert material.base_color == pytest.approx((0.5, 0.1, 0.1, 1.0), abs=0.01)


def test_metal_is_told_texel_by_texel_where_there_is_a_specular_picture(tmp_path: Path) -> None:
    """Left gold that shines, right red paint that does not."""
    file = GltfFile()
    diffuse = file.texture(picture(np.array([[[0, 0, 0], [200, 30, 30]]])))
    specular = file.texture(picture(np.array([[[255, 225, 158, 204], [56, 56, 56, 51]]])))
    glossy = {"diffuseTexture": {"index": diffuse}, "specularGlossinessTexture": {"index": specular}}
    scene = with_material(tmp_path, file, extensions={"KHR_materials_pbrSpecularGlossiness": glossy})
    material = scene.materials[0]
    color, rough = scene.textures[material.texture].pixels, scene.textures[material.shading.roughness_map].pixels
    assert color[0, 0, :3] == pytest.approx((255, 225, 158), abs=3)
    assert color[0, 1, :3] == pytest.approx((200, 30, 30), abs=6)
    assert rough[0, :, 1].tolist() == [51, 204]
    assert rough[0, 0, 2] > 245
    assert rough[0, 1, 2] < 10


def test_glass_lets_through_what_its_volume_leaves(tmp_path: Path) -> None:
    extensions = {
        "KHR_materials_transmission": {"transmissionFactor": 0.75},
        "KHR_materials_volume": {"thicknessFactor": 2, "attenuationDistance": 1, "attenuationColor": [1, 0.5, 0]},
    }
    shading = only_material(tmp_path, extensions=extensions).shading
    assert shading.transmission == 0.75
    assert shading.transmission_color == pytest.approx((1, 0.25, 0))


def test_what_lies_over_a_surface(tmp_path: Path) -> None:
    file = GltfFile()
    half = file.texture(picture(np.full((2, 2, 4), 128, np.uint8)))
    layers = {
        "KHR_materials_ior": {"ior": 3.0},
        "KHR_materials_specular": {"specularFactor": 0.5, "specularColorFactor": [1, 0.5, 8]},
        "KHR_materials_clearcoat": {"clearcoatFactor": 1.0, "clearcoatRoughnessFactor": 1.0,
                                    "clearcoatTexture": {"index": half}},
        "KHR_materials_sheen": {"sheenColorFactor": [0.2, 0, 1], "sheenRoughnessFactor": 0.5},
    }  # fmt: skip
    file.json["extensionsUsed"] = list(layers)
    scene = with_material(tmp_path, file, extensions=layers)
    shading = scene.materials[0].shading
    assert shading.reflectance == pytest.approx((0.125, 0.0625, 0.5))
    assert (shading.coat, shading.coat_roughness) == (pytest.approx(128 / 255), 1.0)
    assert (shading.sheen, shading.sheen_roughness) == ((0.2, 0.0, 1.0), 0.5)
    assert any("clear coat picture is shown as its mean" in warning for warning in scene.report.warnings)
    assert not any("is left out" in warning for warning in scene.report.warnings)


def test_spots_and_endless_lamps(tmp_path: Path) -> None:
    file = GltfFile()
    cone = {"innerConeAngle": 0.2, "outerConeAngle": 0.6}
    file.json["extensions"] = {"KHR_lights_punctual": {"lights": [{"type": "spot", "spot": cone}]}}
    file.node(extensions={"KHR_lights_punctual": {"light": 0}})
    scene = with_material(tmp_path, file)
    (spot,) = scene.lights
    assert (spot.kind, spot.inner_cone, spot.outer_cone, spot.range) == ("spot", 0.2, 0.6, float("inf"))
    assert not spot.baked
    assert not any("Spot" in warning for warning in scene.report.warnings)


def test_lamps_of_a_file_without_lit_surfaces_are_in_its_colours(tmp_path: Path) -> None:
    file = GltfFile()
    file.json["extensions"] = {"KHR_lights_punctual": {"lights": [{"type": "point"}]}}
    file.node(extensions={"KHR_lights_punctual": {"light": 0}})
    assert with_material(tmp_path, file, extensions={"KHR_materials_unlit": {}}).lights[0].baked


@pytest.mark.parametrize(
    ("side", "normals", "factor", "unlit"),
    [(110, False, 1, True), (110, True, 1, False), (10, False, 1, False), (110, False, 0.5, False)],
)
def test_what_is_taken_for_a_scan(tmp_path: Path, side: int, normals: bool, factor: float, unlit: bool) -> None:
    """Very many triangles, no normals, and a picture that is nothing but itself."""
    file = GltfFile()
    color = {"baseColorTexture": {"index": file.texture(picture(FOUR_COLORS))}, "baseColorFactor": [factor] * 3 + [1]}
    x, z = np.meshgrid(np.linspace(0, 9, side), np.linspace(0, 9, side))
    points = np.stack([x, np.zeros_like(x), z], -1).reshape(-1, 3).astype(np.float32)
    corner = np.array([i for i in range(side * (side - 1)) if i % side != side - 1], np.uint32)
    faces = np.concatenate([corner, corner + side, corner + 1, corner + 1, corner + side, corner + side + 1])
    triangles = faces.reshape(6, -1).T.reshape(-1, 1).astype(np.uint32)
    attributes = {"POSITION": file.accessor(points), "TEXCOORD_0": file.accessor(points[:, [0, 2]].copy())}
    if normals:
        attributes["NORMAL"] = file.accessor(np.tile(np.array([0, 1, 0], np.float32), (len(points), 1)))
    material = file.material(pbrMetallicRoughness=color)
    file.node(mesh=file.mesh(attributes, indices=file.accessor(triangles), material=material))
    scene = read_scene(file.save(tmp_path / "scene.glb"), up="y")
    assert scene.materials[0].unlit is unlit
    assert any("Taken for a scan" in note for note in scene.report.notes) is unlit
