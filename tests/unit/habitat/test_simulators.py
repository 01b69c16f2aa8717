"""The simulator: steps, observations, sensors, life."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import habitat_sim
import magnum as mn
from habitat_sim.utils.settings import make_cfg
from nav_eval_habitat.scope import OutOfScope


def test_observations_are_as_habitat_delivers_them(sim):
    observations = sim.step("turn_left")
    assert observations["collided"] is False
    kinds = {name: (value.shape, value.dtype.name) for name, value in observations.items() if name != "collided"}
    assert kinds == {
        "color_sensor": ((48, 64, 4), "uint8"),
        "depth_sensor": ((48, 64), "float32"),
        "semantic_sensor": ((48, 64), "uint32"),
    }
    assert (observations["color_sensor"][..., 3] == 255).all()
    again = sim.get_sensor_observations()
    assert np.array_equal(again["depth_sensor"], observations["depth_sensor"])
    assert again["depth_sensor"] is not observations["depth_sensor"]


def test_walls_are_planar_metres_away(sim):
    """Depth in the middle is the way to the wall: a step forward makes it shorter by that step."""
    goal = max(range(36), key=lambda _: sim.step("turn_left")["depth_sensor"][24, 32])
    assert goal is not None
    before = sim.get_sensor_observations()["depth_sensor"][24, 32]
    if before > 1.0:
        after = sim.step("move_forward")["depth_sensor"][24, 32]
        assert after == pytest.approx(before - 0.25, abs=0.02)


def test_reset_goes_back_to_the_last_initial_state(sim):
    start = habitat_sim.AgentState(position=sim.pathfinder.get_random_navigable_point())
    sim.initialize_agent(0, start)
    for action in ("turn_left", "move_forward", "move_forward"):
        sim.step(action)
    assert "collided" not in sim.reset()
    assert np.allclose(sim.get_agent(0).state.position, start.position)


def test_the_last_state_is_that_after_the_last_step(sim):
    sim.step("turn_left")
    assert sim.last_state().rotation == sim.get_agent(0).state.rotation
    assert sim._Simulator__last_state[0] is sim.last_state()


def test_unknown_actions_are_assertions(sim):
    with pytest.raises(AssertionError):
        sim.step("sing")


def test_who_has_no_configuration_or_no_agents_is_refused(settings):
    with pytest.raises(TypeError):
        habitat_sim.Simulator()
    config = make_cfg(settings)
    config.agents = []
    with pytest.raises(RuntimeError):
        habitat_sim.Simulator(config)


def test_several_agents_step_by_their_number(settings):
    config = make_cfg({**settings, "color_sensor": False, "semantic_sensor": False})
    config.agents.append(config.agents[0])
    with habitat_sim.Simulator(config) as sim:
        seen = sim.step({0: "turn_left", 1: "turn_right"})
        assert set(seen) == {0, 1}
        assert set(seen[1]) == {"depth_sensor", "collided"}
        assert set(sim.get_sensor_observations([1])) == {1}


def test_closing_twice_and_opening_again(sim, settings):
    config = make_cfg(settings)
    sim.close()
    sim.close()
    sim.reconfigure(config)
    agent = sim.get_agent(0)
    sim.reconfigure(make_cfg(settings))  # equal: nothing happens
    assert sim.get_agent(0) is agent


def test_sensors_come_and_go(sim):
    spec = habitat_sim.CameraSensorSpec()
    spec.uuid, spec.resolution = "extra", [32, 16]
    sim.add_sensor(spec)
    assert sim.get_sensor_observations()["extra"].shape == (32, 16, 4)
    with pytest.raises(ValueError, match="extra"):
        sim.add_sensor(spec)
    sim.remove_sensor("extra")
    assert "extra" not in sim.get_sensor_observations()
    with pytest.raises(KeyError):
        sim.remove_sensor("extra")


def test_tilting_a_sensor_by_its_node(sim):
    """habitat-lab multiplies the rotation of sensor nodes."""
    import magnum as mn

    before = sim.get_sensor_observations()["depth_sensor"]
    node = sim.get_agent(0).sensors["depth_sensor"].node
    node.rotation = node.rotation * mn.Quaternion.rotation(mn.Deg(-60), mn.Vector3.x_axis())
    assert not np.array_equal(sim.get_sensor_observations()["depth_sensor"], before)


def test_an_empty_world_is_black_and_without_walls(open_sim):
    sim = open_sim(scene="NONE")
    assert not sim.pathfinder.is_loaded
    observations = sim.step("move_forward")
    assert not observations["collided"]
    assert not observations["depth_sensor"].any()
    assert sim.get_stage_initialization_template() is None
    assert sim.semantic_scene.objects == []


def test_objects_are_found_by_the_value_of_their_pixels(open_sim, annotated_room):
    sim = open_sim(scene=str(annotated_room))
    objects = sim.semantic_scene.objects
    assert objects[0].id == "Unknown_0"
    for index, thing in enumerate(objects):
        assert int(thing.id.split("_")[-1]) == thing.semantic_id
        assert sim.semantic_scene.semantic_index_to_object_index(thing.semantic_id) == index
    seen = {value for _ in range(12) for value in np.unique(sim.step("turn_left")["semantic_sensor"]).tolist()}
    assert seen <= {thing.semantic_id for thing in objects}


def test_a_mesh_for_another_body_is_built_when_it_is_asked_for(open_sim):
    sim = open_sim()
    area = sim.pathfinder.navigable_area
    wide = habitat_sim.NavMeshSettings()
    wide.agent_radius = 0.4
    assert sim.recompute_navmesh(sim.pathfinder, wide, include_static_objects=False)
    assert sim.pathfinder.navigable_area < area
    assert sim.pathfinder.nav_mesh_settings == wide


def test_what_is_left_out_says_so_when_it_is_used_and_not_before(sim):
    assert sim.get_object_template_manager().load_configs("data/objects") == []
    assert not hasattr(sim, "add_perf_timing")
    for use in (
        lambda: sim.get_rigid_object_manager().add_object_by_template_handle("chair"),
        lambda: sim.cast_ray(None),
        habitat_sim.physics.ManagedRigidObject,
    ):
        with pytest.raises(OutOfScope, match="nav-eval-habitat"):
            use()


def test_noise_changes_pictures_and_fits_its_sensor(settings):
    config = make_cfg({**settings, "semantic_sensor": False})
    config.agents[0].sensor_specifications[0].noise_model = "GaussianNoiseModel"
    config.agents[0].sensor_specifications[1].noise_model = "RedwoodDepthNoiseModel"
    with habitat_sim.Simulator(config) as sim:
        first, second = sim.get_sensor_observations(), sim.get_sensor_observations()
        assert not np.array_equal(first["color_sensor"], second["color_sensor"])
        assert not np.array_equal(first["depth_sensor"], second["depth_sensor"])
    config.agents[0].sensor_specifications[1].noise_model = "GaussianNoiseModel"
    with pytest.raises(AssertionError):
        habitat_sim.Simulator(config)


def test_wide_lenses_see_all_around(open_sim):
    """All that the pinhole sees in the middle, and more beside it."""
    wide = {"equirect_rgba_sensor": True, "equirect_depth_sensor": True, "fisheye_depth_sensor": True}
    seen = open_sim(color_sensor=False, semantic_sensor=False, **wide).get_sensor_observations()
    assert seen["equirect_rgba_sensor"].shape == (48, 64, 4)
    middle = seen["depth_sensor"][24, 32]
    assert seen["equirect_depth_sensor"][24, 32] == pytest.approx(middle, rel=0.1)
    assert seen["fisheye_depth_sensor"][24, 32] == pytest.approx(middle, rel=0.1)
    assert (seen["equirect_depth_sensor"][24:] > 0).all()  # the floor, all around; the room has no ceiling


def test_an_orthographic_camera_looks_along_parallel_lines(open_sim):
    """Depth agrees with the pinhole in the middle, and a floor seen from above is one depth all over."""
    sim = open_sim(ortho_rgba_sensor=True, ortho_depth_sensor=True)
    seen = sim.get_sensor_observations()
    assert seen["ortho_rgba_sensor"].shape == (48, 64, 4)
    assert seen["ortho_depth_sensor"][24, 32] == pytest.approx(
        seen["depth_sensor"][24, 32], abs=0.1
    )  # half a pixel is 8 cm
    sensor = sim.get_agent(0).sensors["ortho_depth_sensor"]
    sensor.node.rotation = mn.Quaternion.rotation(mn.Deg(-90), mn.Vector3(1, 0, 0))
    floor = sim.get_sensor_observations()["ortho_depth_sensor"]
    assert floor.max() == pytest.approx(1.5, abs=1e-2)


def test_a_mesh_that_was_saved_beside_its_scene_is_found_the_next_time(room_data, tmp_path, open_sim):
    scene = shutil.copy(room_data / "room.glb", tmp_path / "house.glb")
    first = open_sim(scene=str(scene), default_agent_navmesh=False)
    other = habitat_sim.NavMeshSettings()
    other.agent_radius = 0.3
    assert first.recompute_navmesh(first.pathfinder, other)
    assert first.pathfinder.save_nav_mesh(str(tmp_path / "house.navmesh"))
    again = open_sim(scene=str(scene), default_agent_navmesh=False)
    assert again.pathfinder.nav_mesh_settings.agent_radius == pytest.approx(0.3)


def test_a_gpu_that_this_machine_has_not_is_replaced_with_a_warning(settings):
    config = make_cfg(settings)
    config.sim_cfg.gpu_device_id = 63
    with habitat_sim.Simulator(config) as sim, pytest.warns(UserWarning, match="gpu_device_id=63"):
        assert sim.get_sensor_observations()["color_sensor"][..., :3].any()


def test_simulators_of_several_threads_draw_at_once(open_sim):
    """habitat-lab's ThreadedVectorEnv has one per thread; some are made in one thread and used in another."""
    here = open_sim()
    state = here.get_agent(0).get_state()

    def take_pictures(sim) -> list[np.ndarray]:
        sim.get_agent(0).set_state(state)
        return [sim.step("turn_left")["color_sensor"] for _ in range(12)]

    wanted = take_pictures(here)
    elsewhere = open_sim()
    elsewhere.get_sensor_observations()
    with ThreadPoolExecutor(4) as threads:
        made_there = [threads.submit(lambda: take_pictures(open_sim())) for _ in range(3)]
        made_here = threads.submit(take_pictures, elsewhere)
        found = [job.result() for job in (*made_there, made_here)]
    for pictures in found:
        for picture, expected in zip(pictures, wanted, strict=True):
            assert np.array_equal(picture, expected)


def test_pictures_begin_with_what_shows_from_where_agents_stand(open_sim):
    """As the engine's own do: without it a picture costs a fifth more."""
    with_ground, without = open_sim(), open_sim()
    without.pathfinder = habitat_sim.PathFinder()
    for sim in (with_ground, without):
        sim.get_sensor_observations()
    assert len(with_ground.pictures.renderer.prepared.outlooks) > 0
    assert len(without.pictures.renderer.prepared.outlooks) == 0
