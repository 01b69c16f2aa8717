"""Pictures drawn where somebody wants them are the pictures that everybody gets."""

from itertools import pairwise

import numpy as np
import pytest

from nav_eval.envs.env import EpisodeIterator
from nav_eval.errors import BadCamera
from nav_eval.simulator.base import SimulatorSetup, open_simulator

NOISY = "task.sensors.depth_front.noise={model: redwood, intensity: 1.0}"
TWINS = "task.sensors.depth_near={kind: depth, width: 32, height: 24, max_depth: 1.0}"


@pytest.mark.parametrize("settings", [(), (NOISY,), (TWINS,)])
def test_places_change_nothing(settings, task_benchmark, room_episodes, tmp_path) -> None:
    benchmark = task_benchmark("lh_vln", *settings)
    with open_simulator(SimulatorSetup(benchmark=benchmark, cache=tmp_path / "cache")) as simulator:
        first = simulator.reset(room_episodes[0])
        pictures = {name: value for name, value in first.items() if isinstance(value, np.ndarray) and value.ndim > 1}
        cameras = {name: value for name, value in pictures.items() if name != "pose"}
        places = {name: np.full_like(value, 7) for name, value in cameras.items()}
        again = simulator.observe(out=places)
        for name, place in places.items():
            assert again[name] is place, name
            np.testing.assert_array_equal(place, cameras[name])


def test_some_places_are_enough(task_benchmark, room_episodes, tmp_path) -> None:
    with open_simulator(SimulatorSetup(benchmark=task_benchmark("lh_vln"), cache=tmp_path / "cache")) as simulator:
        room = np.zeros((24, 32, 3), np.uint8)
        first = simulator.reset(room_episodes[0], sensors=["rgb_front", "depth_front"], out={"rgb_front": room})
        assert first["rgb_front"] is room
        moved = simulator.step("turn_left", out={"depth_front": np.zeros((24, 32), np.float32)})
        assert moved["rgb_front"] is not room


def test_a_wrong_place_is_refused(task_benchmark, room_episodes, tmp_path) -> None:
    with open_simulator(SimulatorSetup(benchmark=task_benchmark("lh_vln"), cache=tmp_path / "cache")) as simulator:
        simulator.reset(room_episodes[0], sensors=["rgb_front"])
        with pytest.raises(BadCamera, match="rgb needs"):
            simulator.observe(out={"rgb_front": np.zeros((4, 4, 3), np.uint8)})


def test_two_ranges_of_one_lens_do_not_mix(task_benchmark, room_episodes, tmp_path) -> None:
    benchmark = task_benchmark("lh_vln", TWINS)
    with open_simulator(SimulatorSetup(benchmark=benchmark, cache=tmp_path / "cache")) as simulator:
        seen = simulator.reset(room_episodes[0], sensors=["depth_near", "depth_front"])
        assert seen["depth_near"].max() <= 1.0 < seen["depth_front"].max()


def test_scene_by_scene_loads_each_scene_once(room_episodes) -> None:
    import msgspec

    def in_scene(index: int, scene: str):
        private = msgspec.structs.replace(room_episodes[0].private, scene_id=scene)
        public = msgspec.structs.replace(room_episodes[0].public, episode_id=str(index))
        return msgspec.structs.replace(room_episodes[0], public=public, private=private)

    episodes = [in_scene(index, "xyz"[index % 3]) for index in range(12)]
    playlist, random = EpisodeIterator(episodes, order="by_scene"), np.random.default_rng(0)
    played = [playlist.next(random) for _ in range(12)]
    scenes = [episode.scene_id for episode in played]
    assert sum(a != b for a, b in pairwise(scenes)) == 2
    assert len({episode.episode_id for episode in played}) == 12
