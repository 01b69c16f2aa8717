"""`simulator.backend: habitat`: our benchmarks on a habitat_sim, here on ours."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import nav_eval_habitat.backend
from nav_eval.errors import SimulatorError
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.simulator_comparison import choose_actions, compare_plays, play_actions
from nav_eval.scene.model import SceneObject, Semantics
from nav_eval.sensors import Channel, LensConfig, RgbSensor
from nav_eval.simulator.base import SimulatorSetup, open_simulator
from nav_eval.simulator.camera_rig import Mount
from nav_eval_habitat.backend import HabitatMissing, HabitatView, make_category_table, open_habitat


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("backend-cache")


@pytest.fixture
def open_backend(room_benchmark, cache):
    def open_it(backend: str, *overrides: str, pictures: bool = True):
        benchmark = room_benchmark("demo_vln", *overrides)
        simulator = benchmark.simulator.model_copy(update={"backend": backend})
        benchmark = benchmark.model_copy(update={"simulator": simulator})
        return open_simulator(SimulatorSetup(benchmark=benchmark, cache=cache, pictures=pictures)), benchmark

    return open_it


def test_a_benchmark_is_played_as_in_our_own_simulator(open_backend):
    plays = []
    for backend in ("moderngl", "habitat"):
        simulator, benchmark = open_backend(backend)
        episode = next(iter(load_episodes(benchmark)))
        actions = choose_actions(episode, [action.name for action in benchmark.task.actions])[:20]
        with simulator:
            plays.append(play_actions(simulator, episode, actions))
    found = compare_plays(episode, *plays)
    assert found.actions == len(actions) > 3
    assert found.geodesics[1] == pytest.approx(found.geodesics[0], rel=0.03)
    assert math.dist(plays[0].positions[0], plays[1].positions[0]) < 0.02
    assert {"rgb", "depth", "semantic"} <= found.pictures.keys()
    for name in ("rgb", "depth", "semantic"):
        ours, theirs = (play.pictures[0][name] for play in plays)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    assert np.median(np.abs(plays[0].pictures[0]["depth"] - plays[1].pictures[0]["depth"])) < 0.05


def test_its_ground_is_a_ground(open_backend):
    simulator, benchmark = open_backend("habitat", pictures=False)
    episode = next(iter(load_episodes(benchmark)))
    with simulator:
        assert not any(name in simulator.reset(episode) for name in ("rgb", "depth"))
        ground, start = simulator.ground, simulator.get_agent_state().position
        goal = ground.random_navigable_point(3)
        assert goal == ground.random_navigable_point(3)
        assert ground.is_navigable(goal)
        assert ground.island(goal) is not None
        path = ground.shortest_path(start, goal)
        assert math.fsum(math.dist(a, b) for a, b in pairwise(path)) == pytest.approx(
            ground.geodesic_distance(start, goal), rel=1e-4
        )
        assert ground.distance_field([goal]).distance(start) == ground.geodesic_distance(start, goal)
        assert ground.geodesic_distance(start, []) == math.inf
        wall = ground.try_step(start, (start[0] + 50.0, start[1], start[2]), sliding=False)
        assert wall.collided
        assert ground.snap_point((900.0, 0.0, 0.0)) is None


def test_without_habitat_it_says_what_to_install(room_benchmark, cache, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "habitat_sim", None)
    with pytest.raises(HabitatMissing, match="install"):
        open_habitat(SimulatorSetup(benchmark=room_benchmark("demo_vln"), cache=cache))


def test_wide_lenses_are_refused():
    mount = Mount.from_settings(RgbSensor(lens=LensConfig(model="equirectangular")))
    with pytest.raises(SimulatorError, match="pinhole"):
        HabitatView.from_mount(mount, [Channel.RGB])


def test_ids_become_categories():
    thing = SceneObject(object_id=3, category="chair", center=(0, 0, 0), size=(1, 1, 1))
    semantics = Semantics(objects=(thing,), categories=("", "table", "chair"))
    table = make_category_table(semantics)
    assert semantics.categories[table[3]] == "chair"
    assert table[0] == table[-1] == 0


def test_nothing_happens_before_a_reset(open_backend):
    simulator, _ = open_backend("habitat")
    with pytest.raises(SimulatorError, match="reset"):
        simulator.get_agent_state()
    assert nav_eval_habitat.backend.COLLISION == 1e-5
