"""Names that public code takes from habitat-sim, of any release from 0.1.7 on; each was missed by a repository."""

import importlib
from contextlib import suppress

import numpy as np
import pytest

import habitat_sim
import magnum as mn
from nav_eval_habitat.scope import OutOfScope


@pytest.mark.parametrize(
    "name",
    [
        "habitat_sim.utils.quat_from_angle_axis",
        "habitat_sim.utils.quat_rotate_vector",
        "habitat_sim.nav.greedy_geodesic_follower.GreedyGeodesicFollower",
        "habitat_sim.controls.SceneNodeControl",
        "habitat_sim.default_controls",
        "habitat_sim.object_controls.ObjectControls",
        "habitat_sim.pyrobot_noisy_controls.PyRobotNoisyActuationSpec",
        "habitat_sim.geo.BBox",
        "habitat_sim.bindings.vhacd_enabled",
        "habitat_sim._ext.habitat_sim_bindings.BBox",
        "habitat_sim.agent.controls.register_move_fn",
        "habitat_sim.attributes.SemanticAttributes",
        "habitat_sim.gfx.LightType.Point",
        "habitat_sim.physics.CollisionGroups.UserGroup7",
        "habitat_sim.sim.SimulatorBackend.reset",
        "habitat_sim.SensorType.CUSTOM",
        "habitat_sim.robots.FetchRobot",
    ],
)
def test_a_name_is_where_code_looks_for_it(name):
    found = importlib.import_module("habitat_sim")
    for part in name.split(".")[1:]:
        with suppress(ModuleNotFoundError):
            importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)


def test_a_box_of_the_old_name_is_a_box():
    box = habitat_sim.geo.BBox((0, 0, 0), (2, 4, 6))
    assert box.center == mn.Vector3(1, 2, 3)


@pytest.mark.parametrize("name", ["contact_test", "set_gravity", "get_light_setup", "get_rigid_state"])
def test_physics_is_found_and_refuses(sim, name):
    with pytest.raises(OutOfScope, match=f"{name} is not part"):
        getattr(sim, name)(0)


def test_what_belongs_to_a_class_that_is_left_out_refuses_too():
    """`CollisionGroupHelper` is never made: users call its static functions."""
    with pytest.raises(OutOfScope, match=r"CollisionGroupHelper.set_mask_for_group is not part"):
        habitat_sim.physics.CollisionGroupHelper.set_mask_for_group(1, 2)
    with pytest.raises(OutOfScope, match="Binaural"):
        habitat_sim.sensor.RLRAudioPropagationChannelLayoutType.Binaural  # noqa: B018
    assert not hasattr(habitat_sim.physics.CollisionGroupHelper, "set_mask_for_group")


def test_boxes_are_joined_and_intersected():
    """habitat-lab joins the boxes of a tree of nodes, most of them empty."""
    first, second = mn.Range3D((0, 0, 0), (2, 2, 2)), mn.Range3D((1, 1, 1), (3, 4, 5))
    assert mn.math.join(first, second) == mn.Range3D((0, 0, 0), (3, 4, 5))
    assert mn.math.join(mn.Range3D(), second) == second
    assert mn.math.intersect(first, second) == mn.Range3D((1, 1, 1), (2, 2, 2))
    assert mn.math.intersect(first, mn.Range3D((3, 3, 3), (4, 4, 4))) == mn.Range3D()


def test_a_turned_box_has_a_nearest_point():
    box = habitat_sim.geo.OBB((1, 0, 0), (4, 2, 2)).rotate(mn.Quaternion.rotation(mn.Deg(90), mn.Vector3(0, 1, 0)))
    assert box.closest_point((1, 0, 5)) == mn.Vector3(1, 0, 2)
    assert box.closest_point((1, 0.5, 0)) == mn.Vector3(1, 0.5, 0)


def test_boxes_are_taken_apart_into_lists():
    """HOV-SG writes all that is known of a box into a file; sheets, which have no height, are boxes too."""
    box = habitat_sim.geo.OBB((1, 2, 3), (4, 0, 2)).rotate(mn.Quaternion.rotation(mn.Deg(90), mn.Vector3(0, 1, 0)))
    assert np.allclose(
        box.local_to_world.tolist(), [[0, 0, 1, 1], [0, 0, 0, 2], [-2, 0, 0, 3], [0, 0, 0, 1]], atol=1e-6
    )
    inverse = np.array(box.world_to_local.tolist())
    assert np.allclose(inverse[[0, 2]], [[0, 0, -0.5, 1.5], [1, 0, 0, -1]], atol=1e-6)
    assert not np.isfinite(inverse[1]).any()
    whole = habitat_sim.geo.OBB((1, 2, 3), (4, 6, 2))
    assert whole.world_to_local @ whole.local_to_world == mn.Matrix4()


def test_vectors_are_compared_number_by_number():
    """habitat-lab looks for the corners of boxes with them."""
    first, second = mn.Vector3(1, 5, -3), mn.Vector3(2, 4, 2)
    assert mn.math.min(first, second) == mn.Vector3(1, 4, -3)
    assert mn.math.max(first, second) == mn.Vector3(2, 5, 2)
    assert mn.math.fmod(7.5, 2.0) == 1.5
    assert mn.Color4.magenta() == mn.Color4(1, 0, 1, 1)


def test_meshes_of_magnum_are_out_of_scope():
    with pytest.raises(OutOfScope, match=r"magnum.meshtools.transform3d is not part"):
        mn.meshtools.transform3d(None)
