"""Resets with domain randomisation against resets without: CPU time, in a generated house and in a scene file.

Every reset is of another episode, as in a run, and takes the pictures that an agent of the benchmark gets. The first
reset of each level opens the scene and is left out; the others are compared with the same episodes at level 0, which
are reset in turn with them, so that whatever else the machine does is in both.
"""

import gc
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.shared_data import find_shared_data
from nav_eval.cache import get_cache_folder
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode, PrivateEpisode, PublicEpisode
from nav_eval.records.geometry import Pose
from nav_eval.simulator.base import SimulatorSetup
from nav_eval.simulator.moderngl_simulator import ModernGLSimulator
from nav_eval.simulator.scene_manager import SceneManager
from nav_eval_worlds.episodes import generate_episodes
from nav_eval_worlds.generator import load_base_benchmark
from nav_eval_worlds.houses.house_files import get_house_file, write_houses

EPISODES = 32
LEVELS = {0: 0, 1: 1, 2: 2, 3: 3}  #: level to scene mode
HOUSE = 7811
REAL = find_shared_data("scenes/small_house.glb")


def run() -> dict[str, object]:
    cache = get_cache_folder()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        list(write_houses(folder, count=1, seed=HOUSE, split="unseen", generator=2))
        rules = load_base_benchmark("vln", folder)
        house = get_house_file(HOUSE, "unseen", generator=2)
        episodes = generate_episodes(rules, [house], count=EPISODES, seed=3, split="unseen", generator=2, cache=cache)
        figures = _measure("house", rules, episodes, cache)
    if REAL.exists():
        rules = load_base_benchmark("vln", REAL.parent)
        figures |= _measure("scene_file", rules, _stand_about(rules, REAL.name, cache), cache)
    return figures


def _stand_about(rules: BenchmarkConfig, scene_id: str, cache: Path) -> list[Episode]:
    """Episodes that begin all over a scene that nobody annotated."""
    ground = SceneManager(rules, cache=cache).open(scene_id, rules.robot(None)).ground
    starts = [Pose(ground.random_navigable_point(seed)) for seed in range(EPISODES)]
    return [
        Episode(public=PublicEpisode(episode_id=f"e{n}"), private=PrivateEpisode(scene_id=scene_id, start=start))
        for n, start in enumerate(starts)
    ]


def _measure(scene: str, rules: BenchmarkConfig, episodes: Sequence[Episode], cache: Path) -> dict[str, object]:
    """CPU seconds of the first reset of each level, and what the later ones take on average."""
    simulators = {
        level: ModernGLSimulator(
            SimulatorSetup(benchmark=_randomize(rules, level), cache=cache, run_seed=1, pictures=True)
        )
        for level in LEVELS
    }
    times: dict[int, list[float]] = {level: [] for level in LEVELS}
    gc.collect()
    gc.freeze()  # what generating the house left behind is walked through by no reset
    for number, episode in enumerate(episodes):
        for turn in range(len(LEVELS)):
            level = (number + turn) % len(LEVELS)
            started = time.process_time()
            simulators[level].reset(episode)
            times[level].append(time.process_time() - started)
    for simulator in simulators.values():
        simulator.close()
    plain = statistics.fmean(times[0][1:])
    figures: dict[str, object] = {f"{scene}_plain_milliseconds": plain * 1000}
    for level, (first, *later) in times.items():
        if level:
            figures[f"{scene}_level_{level}_first_seconds"] = first
            figures[f"{scene}_level_{level}_milliseconds"] = statistics.fmean(later) * 1000
            figures[f"{scene}_level_{level}_over_plain_ratio"] = statistics.fmean(later) / plain
    return figures


def _randomize(rules: BenchmarkConfig, level: int) -> BenchmarkConfig:
    scenario = rules.scenario_config
    drawn = scenario.domain_randomization.model_copy(update={"level": level, "scene_mode": LEVELS[level], "seed": 5})
    return rules.model_copy(update={"scenario_config": scenario.model_copy(update={"domain_randomization": drawn})})
