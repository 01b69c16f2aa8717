"""Light on lit surfaces, computed by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from analytic_scenes import SceneBuilder, solid_texture

from nav_eval.scene.color import to_linear, to_srgb
from nav_eval.scene.model import AlphaMode, Light, Scene, Shading, Texture, apply_lighting
from nav_eval.simulator.rendering import Camera, Channel, Renderer, load_prepared, prepare_scene, save_prepared
from nav_eval.simulator.rendering.lighting import AMBIENT_BESIDE_LAMPS, GROUND, SKY, SUN, choose_lighting
from nav_eval.simulator.rendering.mipmaps import make_mipmaps, split_mipmaps
from nav_eval.simulator.rendering.surroundings import compute_surroundings

GLOSSY = Shading(roughness=0.5)
"""Shaded pixel by pixel; at this roughness a highlight away from the mirror direction is weak."""


def draw(device, scene: Scene, **pose) -> np.ndarray:
    """64 × 48 pixels, 90° wide."""
    camera = Camera.from_angles(pose.pop("position", (0, 0, 0)), width=64, height=48, **pose)
    with Renderer(scene, device=device) as renderer:
        return renderer.render(camera, [Channel.RGB]).rgb


def wall(*, lights=(), size=9.0, colors=None, distance=2.0, **look) -> Scene:
    """A lit wall in front of the eye that looks along +z."""
    build = SceneBuilder()
    texture = look.pop("texture", None)
    material = build.material(texture, unlit=False, **look)
    build.wall((-size, -size), (size, size), -distance, material, colors=colors)
    return build.build(lights=lights)


def light_of(pixel: np.ndarray) -> np.ndarray:
    return to_linear(pixel / 255.0)


def mean_ambient(facing_up: float = 0.0) -> float:
    return (0.5 + 0.5 * facing_up) * SKY[0] + (0.5 - 0.5 * facing_up) * GROUND[0]


@pytest.mark.parametrize("angle", [0.0, 30.0, 60.0, 80.0])
def test_a_dull_plane_gets_the_cosine_of_a_sun(device, angle):
    direction = (math.sin(math.radians(angle)), 0.0, -math.cos(math.radians(angle)))
    sun = Light(kind="sun", intensity=0.6 * math.pi, direction=direction)
    rgb = draw(device, wall(lights=(sun,), base_color=(0.5, 0.5, 0.5, 1.0)))
    ambient = AMBIENT_BESIDE_LAMPS * mean_ambient()
    expected = 0.5 * (ambient + 0.6 * math.cos(math.radians(angle)))
    assert light_of(rgb[24, 32]) == pytest.approx(expected, abs=0.012)


def test_without_lamps_the_plain_light_shines(device):
    rgb = draw(device, wall(base_color=(0.5, 0.5, 0.5, 1.0)))
    facing = -SUN.direction[2] / math.hypot(*SUN.direction)
    assert light_of(rgb[24, 32]) == pytest.approx(0.5 * (mean_ambient() + SUN.intensity / math.pi * facing), abs=0.015)


def test_pixels_and_vertices_agree_about_diffuse_light(device):
    """A surface that is shaded pixel by pixel only because of its colours looks like one that is not."""
    grey = np.full((4, 4), 255)
    grey[:, :3] = 128
    nearly = grey.copy()
    nearly[0, 0] = 129
    folded, shaded = (draw(device, wall(colors=colors)).astype(int) for colors in (grey, nearly))
    assert np.abs(folded - shaded).max() <= 4


def test_sides_of_a_box_are_told_apart(device):
    build = SceneBuilder()
    build.box((-1, -1, -5), (1, 1, -3), build.material(unlit=False))
    rgb = draw(device, build.build(), position=(2.5, 2.5, -0.5), yaw=math.radians(35), pitch=math.radians(-32))
    shades = {tuple(color) for color in rgb.reshape(-1, 3) if color.any()}
    assert len({color[0] for color in shades}) == 3


@pytest.mark.parametrize("distance", [1.0, 2.0, 4.0])
def test_a_lamp_fades_with_the_square_of_the_distance(device, distance):
    lamp = Light(kind="point", intensity=math.pi, position=(0.0, 0.0, distance - 3.0), range=math.inf)
    rgb = draw(device, wall(lights=(lamp,), distance=3.0, base_color=(0.5, 0.5, 0.5, 1.0)))
    expected = 0.5 * (AMBIENT_BESIDE_LAMPS * mean_ambient() + 1.0 / distance**2)
    assert light_of(rgb[24, 32]).mean() == pytest.approx(expected, rel=0.12, abs=0.01)


def test_a_lamp_ends_at_its_range(device):
    lamp = Light(kind="point", intensity=50.0, position=(0.0, 0.0, -1.0), range=1.5)
    rgb = draw(device, wall(lights=(lamp,), distance=2.0))
    dark = to_srgb(np.array(AMBIENT_BESIDE_LAMPS * mean_ambient())) * 255
    assert rgb[24, 32, 0] > 200
    assert rgb[24, 2] == pytest.approx(dark, abs=6)  # 2 m to the side


def test_a_spot_lights_its_cone_alone(device):
    angles = {"inner_cone": math.radians(20), "outer_cone": math.radians(30)}
    spot = Light(kind="spot", intensity=4 * math.pi, position=(0, 0, 0), direction=(0, 0, -1), range=math.inf, **angles)
    row = draw(device, wall(lights=(spot,)))[24, :, 0].astype(int)
    dark = to_srgb(np.array(AMBIENT_BESIDE_LAMPS * mean_ambient())) * 255
    across = np.degrees(np.arctan((np.arange(64) + 0.5 - 32) / 32))  # where a column looks
    assert row[np.abs(across) > 31] == pytest.approx(dark, abs=6)
    assert row[np.abs(across) < 19].min() > 200
    assert (np.diff(row[(across > 18) & (across < 31)]) <= 0).all()


def test_lamps_whose_light_is_baked_shine_on_nothing(device):
    baked = Light(kind="point", intensity=100.0, position=(0.0, 0.0, 0.0), baked=True)
    assert np.array_equal(draw(device, wall(lights=(baked,))), draw(device, wall()))


def test_emission_is_added_to_what_is_lit(device):
    glow = draw(device, wall(base_color=(0.0, 0.0, 0.0, 1.0), emissive=(0.5, 0.0, 0.0), shading=GLOSSY))
    dark = draw(device, wall(base_color=(0.0, 0.0, 0.0, 1.0), shading=GLOSSY))
    assert light_of(glow[24, 32]) - light_of(dark[24, 32]) == pytest.approx([0.5, 0.0, 0.0], abs=0.01)


def test_an_emission_map_is_a_factor(device):
    build = SceneBuilder()
    build.textures.append(solid_texture(((255, 0, 188),)))
    shading = Shading(emission_map=0)
    material = build.material(unlit=False, base_color=(0, 0, 0, 1), emissive=(0.5, 0.5, 0.5), shading=shading)
    build.wall((-9, -9), (9, 9), -2, material)
    rgb = draw(device, build.build())
    assert light_of(rgb[24, 32]) == pytest.approx([0.5, 0.0, 0.25], abs=0.015)


def test_vertex_colours_are_mixed_as_light(device):
    """From black on the left to white on the right: the middle is half the light, not half the byte."""
    colors = np.full((4, 4), 255)
    colors[[0, 3], :3] = 0
    scene = wall(colors=colors, size=2.0)
    rgb = draw(device, scene)
    assert light_of(rgb[24, 32]).mean() == pytest.approx(light_of(rgb[24, 63]).mean() / 2, rel=0.06)


@pytest.mark.parametrize("use", ["color", "emission"])
def test_texels_are_mixed_as_light(device, use):
    """Half-way between a black and a white texel there is half the light."""
    build = SceneBuilder()
    build.textures.append(solid_texture(((0, 0, 0), (255, 255, 255))))
    look = {"shading": Shading(emission_map=0), "emissive": (0.8, 0.8, 0.8), "base_color": (0, 0, 0, 1)}
    plain = {"shading": Shading(roughness=0.7)}
    material = build.material(unlit=False, **(look if use == "emission" else plain))
    if use == "color":
        build.materials[material] = replace(build.materials[material], texture=0)
    build.wall((-2, -2), (2, 2), -2, material)
    black, middle, white = (light_of(draw(device, build.build())[24, c : c + 2]).mean() for c in (15, 31, 47))
    assert middle == pytest.approx((black + white) / 2, rel=0.05)


def test_smaller_levels_are_averaged_as_light():
    pixels = np.zeros((2, 2, 4), np.uint8)
    pixels[0], pixels[..., 3] = 255, (0, 100)
    bytes_mean = split_mipmaps(pixels, make_mipmaps(pixels))[1][0, 0]
    light_mean = split_mipmaps(pixels, make_mipmaps(pixels, linear=True))[1][0, 0]
    assert bytes_mean.tolist() == [128, 128, 128, 50]
    assert light_mean.tolist() == [188, 188, 188, 50]


def test_the_far_side_of_a_surface_has_light_of_its_own(device):
    build = SceneBuilder()
    build.wall((-9, -9), (9, 9), -2, build.material(unlit=False, double_sided=True))
    scene = build.build()
    front, behind = draw(device, scene), draw(device, scene, position=(0, 0, -4), yaw=math.pi)
    assert light_of(behind[24, 32]) == pytest.approx(mean_ambient(), abs=0.015)  # the sun is on the other side
    assert front[24, 32, 0] > behind[24, 32, 0] + 40


def test_occlusion_keeps_light_from_everywhere_away_but_not_the_sun(device):
    build = SceneBuilder()
    build.textures.append(solid_texture(((0, 0, 0),)))
    for z, shading in ((-2, Shading(occlusion_map=0)), (-2.5, Shading(occlusion_map=0, occlusion_strength=0.0))):
        build.wall((-9, -9), (9, 9), z, build.material(unlit=False, base_color=(0.5, 0.5, 0.5, 1.0), shading=shading))
    near, far = draw(device, build.build()), draw(device, build.build(), position=(0, 0, -2.2))
    assert light_of(far[24, 32]) - light_of(near[24, 32]) == pytest.approx(0.5 * mean_ambient(), abs=0.02)


def test_metal_has_no_diffuse_light_and_is_not_black(device):
    metal, paint = (
        draw(device, wall(base_color=(1.0, 0.5, 0.1, 1.0), shading=Shading(metallic=m, roughness=0.3))) for m in (1, 0)
    )
    red, green, blue = metal[24, 32]
    assert 8 < red < paint[24, 32, 0] - 40
    assert red > green > blue


def test_a_normal_map_bends_the_light(device):
    """Texels that lean towards +x are brighter than those that lean away, as the sun comes from there."""
    sun = Light(kind="sun", intensity=0.5 * math.pi, direction=(-0.8, 0.0, -0.6))
    build = SceneBuilder()
    build.textures.append(solid_texture(((218, 128, 218), (38, 128, 218)), nearest=True))
    build.wall((-2, -2), (2, 2), -2, build.material(unlit=False, shading=Shading(normal_map=0)))
    rgb = draw(device, build.build(lights=(sun,)))
    assert rgb[24, 16, 0] > rgb[24, 48, 0] + 60
    build.textures[0] = solid_texture(((128, 218, 218), (128, 38, 218)), nearest=True)  # green leans up
    above = Light(kind="sun", intensity=0.5 * math.pi, direction=(0.0, -0.8, -0.6))
    rgb = draw(device, build.build(lights=(above,)))
    assert rgb[24, 16, 0] > rgb[24, 48, 0] + 60


def test_glass_shows_what_is_behind(device):
    def look(transmission: float) -> np.ndarray:
        build = SceneBuilder()
        build.wall((-9, -9), (9, 9), -4, build.color((200, 60, 0)))
        clear = Shading(roughness=0.1, transmission=transmission)
        pane = build.material(
            unlit=False, base_color=(1, 1, 1, 0.25), alpha_mode=AlphaMode.BLEND, shading=clear, double_sided=True
        )
        build.wall((-9, -9), (9, 9), -2, pane)
        return draw(device, build.build())[24, 32].astype(int)

    assert look(1.0) == pytest.approx((200, 60, 0), abs=30)
    assert abs(look(0.5) - (200, 60, 0)).max() > 40


def test_unlit_surfaces_keep_their_bytes_beside_lit_ones(device):
    rng = np.random.default_rng(3)
    pixels = rng.integers(0, 256, (8, 8, 4), dtype=np.uint8)
    pixels[..., 3] = 255
    build = SceneBuilder()
    build.wall((-1, -1), (1, 1), -1, build.material(Texture(pixels=pixels)))
    alone = draw(device, build.build())
    build.box((5, 5, 5), (6, 6, 6), build.material(unlit=False, shading=GLOSSY))
    build.box((7, 5, 5), (8, 6, 6), build.material(unlit=False))
    assert np.array_equal(draw(device, build.build()), alone)


def in_a_room(**look) -> Scene:
    return apply_lighting(wall(**look), "environment")


@pytest.mark.parametrize("shading", [Shading(), GLOSSY])
def test_a_room_lights_from_all_sides(device, shading):
    """As much as the surface sees of it, whether it is folded into its corners or shaded pixel by pixel."""
    around = float(compute_surroundings(np.array([[0.0, 0.0, 1.0]]), 1.0)[0])
    rgb = draw(device, in_a_room(base_color=(0.25, 0.25, 0.25, 1.0), shading=shading))
    assert light_of(rgb[24, 32]) == pytest.approx(0.25 * around, abs=0.05)


def test_metal_shows_the_room(device):
    metal = Shading(metallic=1.0, roughness=0.6)
    alone, placed = (draw(device, scene(base_color=(0.5, 0.4, 0.1, 1.0), shading=metal)) for scene in (wall, in_a_room))
    way = np.array([[0.0, 0.0, 1.0]])  # straight ahead, the wall mirrors what is behind the eye
    mirrored = 0.5 * compute_surroundings(way, 0.6)[0]
    assert 0.7 * mirrored < light_of(placed[24, 32])[0] < mirrored  # its facets keep some
    assert placed[24, 32, 0] > alone[24, 32, 0] + 60


def test_a_room_leaves_what_is_unlit_as_it_is(device):
    build = SceneBuilder()
    build.wall((-9, -9), (9, 9), -2, build.material(solid_texture(((200, 100, 50),))))
    scene = build.build()
    assert apply_lighting(scene, "environment") is scene
    build.box((5, 5, 5), (6, 6, 6), build.material(unlit=False))
    assert tuple(draw(device, apply_lighting(build.build(), "environment"))[24, 32]) == (200, 100, 50)


def test_pictures_become_brighter_than_they_are(device):
    """A factor on a picture's bytes could not do that: under strong light such surfaces are shaded."""
    sun = Light(kind="sun", intensity=3 * math.pi, direction=(0.0, 0.0, -1.0))
    rgb = draw(device, wall(lights=(sun,), texture=solid_texture(((100, 60, 30),))))
    expected = 3 * to_linear(np.array([100, 60, 30]) / 255)
    assert light_of(rgb[24, 32]) == pytest.approx(expected, abs=0.08)
    assert rgb[24, 32, 0] > 150


def test_varnish_adds_a_highlight_and_dims_what_is_below(device):
    sun = Light(kind="sun", intensity=math.pi, direction=(0.0, 0.0, -1.0))
    below = Shading(roughness=0.9)
    bare, coated = (
        draw(
            device,
            wall(lights=(sun,), base_color=(0.3, 0.0, 0.0, 1.0), shading=replace(below, coat=coat, coat_roughness=0.3)),
        )
        for coat in (0.0, 1.0)
    )
    assert coated[24, 32, 1] > bare[24, 32, 1] + 60  # the highlight is white
    assert coated[24, 1, 0] < bare[24, 1, 0]  # away from it, varnish takes its share


def test_cloth_shines_where_it_is_grazed(device):
    sun = Light(kind="sun", intensity=math.pi, direction=(0.9, 0.0, -0.44))
    cloth = Shading(roughness=0.8, sheen=(0.0, 0.0, 1.0), sheen_roughness=0.4)
    rgb = draw(device, wall(lights=(sun,), base_color=(0.1, 0.1, 0.1, 1.0), shading=cloth)).astype(int)
    blue = rgb[24, :, 2] - rgb[24, :, 0]
    assert blue.min() >= 0
    assert blue[63] > blue[0] + 15  # where the eye looks along with the light


@pytest.mark.parametrize("lighting", ["flat", "unlit"])
def test_light_can_be_switched_off(device, lighting):
    scene = wall(texture=solid_texture(((200, 100, 50),)), shading=GLOSSY)
    assert tuple(draw(device, apply_lighting(scene, lighting))[24, 32]) == (200, 100, 50)
    assert tuple(draw(device, scene)[24, 32]) != (200, 100, 50)


def test_a_lit_scene_comes_back_from_its_file(device, tmp_path):
    build = SceneBuilder()
    build.textures.append(solid_texture(((255, 200, 100), (0, 60, 255))))
    shading = Shading(metallic=0.5, roughness=0.4, roughness_map=0, normal_scale=0.5, transmission_color=(1, 0.5, 0.2))
    build.wall((-9, -9), (9, 9), -2, build.material(unlit=False, shading=shading, emissive=(0.1, 0.0, 0.0)))
    shading = Shading(coat=0.4, coat_roughness=0.2, sheen=(0.5, 0.2, 0.1), sheen_roughness=0.3, reflectance=(0.1,) * 3)
    build.box((-1, -1, -2), (1, 0, -1.5), build.material(unlit=False, shading=shading))
    scene = build.build(lights=(Light(kind="spot", intensity=9.0, direction=(0, 0, -1), range=5.0),))
    scene = apply_lighting(scene, "environment")
    save_prepared(prepare_scene(scene), tmp_path / "scene")
    prepared = load_prepared(tmp_path / "scene")
    assert prepared.materials == scene.materials
    assert np.array_equal(draw(device, prepared), draw(device, scene))


def test_merging_keeps_corners_where_the_normal_bends():
    """A flat grid whose normals lean outwards, as on a cushion, must not lose what shades it."""
    side = 9
    x, y = (axis.reshape(-1) for axis in np.meshgrid(*[np.linspace(-1, 1, side)] * 2))
    corner = np.array([i for i in range(side * (side - 1)) if i % side != side - 1])
    triangles = np.concatenate(
        [np.stack([corner, corner + 1, corner + side], 1), np.stack([corner + 1, corner + side + 1, corner + side], 1)]
    )
    leaning = np.stack([np.sin(3 * x), np.sin(3 * y), np.full(len(x), 1.5)], axis=1)
    count, faces = len(x), len(triangles)
    for lean, fewer in ((leaning, False), (np.tile((0.0, 0.0, 1.0), (count, 1)), True)):
        build = SceneBuilder()
        build.wall((0, 0), (1, 1), 0, build.material(unlit=False, shading=GLOSSY))
        scene = replace(
            build.build(),
            positions=np.stack([x, y, np.zeros(count)], 1).astype(np.float32),
            normals=(lean / np.linalg.norm(lean, axis=1, keepdims=True)).astype(np.float32),
            uvs=np.zeros((count, 2), np.float32),
            colors=np.full((count, 4), 255, np.uint8),
            triangles=triangles.astype(np.uint32),
            triangle_material=np.zeros(faces, np.uint16),
            triangle_object=np.zeros(faces, np.uint32),
            triangle_category=np.zeros(faces, np.uint16),
        )
        left = len(prepare_scene(scene).chunks.triangles)
        assert left < faces / 4 if fewer else left > faces * 0.8


def test_more_lamps_than_can_be_drawn_leave_the_faintest_out():
    lamps = tuple(Light(kind="point", intensity=float(number)) for number in range(1, 101))
    chosen = choose_lighting(wall(lights=lamps)).lamps
    assert chosen["color"][:, 0].min() == 37.0
