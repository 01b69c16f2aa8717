"""Glass of later generators: seen through, an obstacle all the same, and where sensors see it."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from nav_eval.simulator.rendering import Camera, Channel, Renderer
from nav_eval_worlds.furniture.piece import BODY
from nav_eval_worlds.houses import GeneratedHouse
from nav_eval_worlds.houses.door_leaves import is_glazed, make_glazed_leaf, make_smudges, make_solid_leaf
from nav_eval_worlds.houses.plan.geometry import Rect
from nav_eval_worlds.houses.plan.model import OpeningKind
from nav_eval_worlds.houses.plan.openings import find_wall
from nav_eval_worlds.materials import FINISH_KINDS, get_finish_kind
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.textures.texture import make_texture

HouseMaker = Callable[..., GeneratedHouse]


def _look_at_window(made: GeneratedHouse) -> tuple[Camera, float, float]:
    """A camera half a metre in front of a pane, and how far away pane and view are."""
    opening = next(opening for opening in made.plan.openings if opening.kind is OpeningKind.WINDOW)
    room = made.plan.room(opening.rooms[0])
    wall = find_wall(opening, room)
    (nx, nz), along = wall.normal, wall.along(opening.center) + opening.width // 4
    x, z = wall.at(along, 500)
    y = made.plan.floor_of(room) + (opening.sill + opening.head) / 2
    camera = Camera.from_angles((x / 1000, y / 1000, z / 1000), yaw=math.atan2(nx, nz), width=32, height=24, hfov=12)
    return camera, 0.615, 0.692


def test_a_pane_shows_what_is_behind_it_and_depth_ends_at_it(house: HouseMaker) -> None:
    scene = house(1, "flat_1", "seen", 2).scene
    camera, pane, view = _look_at_window(house(1, "flat_1", "seen", 2))
    glass = [number for number, material in enumerate(scene.materials) if get_finish_kind(material) == "pane"]
    keep = ~np.isin(scene.triangle_material, glass)
    bare = replace(
        scene,
        triangles=scene.triangles[keep],
        triangle_material=scene.triangle_material[keep],
        triangle_object=scene.triangle_object[keep],
        triangle_category=scene.triangle_category[keep],
    )
    channels = [Channel.RGB, Channel.DEPTH, Channel.SEMANTIC]
    with Renderer(scene) as with_glass, Renderer(bare) as without:
        seen, open_ = with_glass.render(camera, channels), without.render(camera, channels)
    assert seen.depth is not None
    assert open_.depth is not None
    assert seen.rgb is not None
    assert open_.rgb is not None
    assert np.allclose(seen.depth, pane, atol=0.002)
    assert np.allclose(open_.depth, view, atol=0.002)
    apart = abs(seen.rgb.astype(int) - open_.rgb.astype(int)).mean()
    assert 1 < apart < 40  # something of the glass, most of what is behind it
    assert seen.semantic is not None
    assert open_.semantic is not None
    assert (seen.semantic == open_.semantic).all()  # both are the window


@pytest.mark.parametrize("rect", [Rect(0, 0, 45, 860), Rect(0, 0, 860, 45)])
def test_a_glazed_leaf_is_as_large_as_a_solid_one(rect: Rect) -> None:
    solid, glazed = make_solid_leaf(rect, 12, 2040), make_glazed_leaf(rect, 12, 2040)
    low = np.min([part.mesh.bounds[0] for part in glazed if part.slot == BODY], axis=0)
    high = np.max([part.mesh.bounds[1] for part in glazed if part.slot == BODY], axis=0)
    assert np.allclose(low, solid[0].mesh.bounds[0])
    assert np.allclose(high, solid[0].mesh.bounds[1])
    (pane,) = (part.mesh for part in glazed if part.slot == "glass")
    size = pane.bounds[1] - pane.bounds[0]
    assert sorted(size)[0] == pytest.approx(0.008)
    assert sorted(size)[1] == pytest.approx(0.63)


@pytest.mark.parametrize("rect", [Rect(0, 0, 45, 860), Rect(0, 0, 860, 45)])
def test_marks_of_hands_lie_on_both_faces_and_look_away_from_the_leaf(rect: Rect) -> None:
    (mesh_one, mesh_other) = (part.mesh for part in make_smudges(rect, 790, 1000))
    thin = 0 if rect.width < rect.depth else 2
    for mesh in (mesh_one, mesh_other):
        outward = np.sign(mesh.positions[:, thin].mean() - 0.0225)
        assert (mesh.normals[:, thin] == outward).all()
        assert abs(mesh.positions[:, thin].mean() - 0.0225) == pytest.approx(0.024)
    assert {np.sign(mesh.normals[0, thin]) for mesh in (mesh_one, mesh_other)} == {-1, 1}


def test_nobody_looks_into_bathrooms_and_bedrooms(house: HouseMaker) -> None:
    plan = house(1, "flat_1", "seen", 2).plan
    clear = set[str]()
    for opening in (o for o in plan.openings if o.kind is OpeningKind.DOOR):
        for seed in range(40):
            if is_glazed(plan, opening, RandomStream(seed, "door", generator=2)):
                clear |= {plan.room(room).kind for room in opening.rooms}
            assert not is_glazed(plan, opening, RandomStream(seed, "door"))
    assert clear
    assert not clear & {"bathroom", "bedroom"}


def test_glass_hides_little_of_what_is_behind_it() -> None:
    for variant in range(4):
        hidden = make_texture("pane", variant).pixels[..., 3] / 255 * FINISH_KINDS["pane"].alpha
        assert hidden.max() < 0.5
        assert 0.05 < hidden.mean() < 0.2
