"""Two processes, one or two render threads, a cold or a warm cache: the same bytes of every observation."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nav_eval.config import BenchmarkConfig

pytestmark = pytest.mark.integration

WALK = """
import hashlib, json, sys
from pathlib import Path

import numpy as np

from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.simulator.base import open_simulator
from nav_eval.simulator.base import SimulatorSetup

benchmark = BenchmarkConfig.model_validate_json(sys.stdin.read())
digest, poses = hashlib.sha256(), []
with open_simulator(SimulatorSetup(benchmark=benchmark, cache=Path(sys.argv[1]))) as simulator:
    for episode in load_episodes(benchmark):
        observations = simulator.reset(episode)
        for action in ["move_forward", "turn_left", "move_forward", "turn_right", "move_forward"] * 4:
            observations = simulator.step(action)
            poses.append(simulator.get_agent_state().position)
            for name in sorted(observations):
                value = observations[name]
                digest.update(value.tobytes() if isinstance(value, np.ndarray) else value.text.encode())
print(json.dumps({"observations": digest.hexdigest(), "poses": [list(map(float.hex, pose)) for pose in poses]}))
"""


def walk(benchmark: BenchmarkConfig, cache: Path, *, threads: int) -> dict[str, object]:
    finished = subprocess.run(
        [sys.executable, "-c", WALK, str(cache)],
        input=benchmark.model_dump_json(),
        env=os.environ | {"LP_NUM_THREADS": str(threads)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return json.loads(finished.stdout)


@pytest.mark.parametrize("level", [0, 3])
def test_every_process_sees_the_same(
    level: int, room_benchmark: Callable[..., BenchmarkConfig], tmp_path: Path
) -> None:
    randomization = "scenario_config.domain_randomization"
    benchmark = room_benchmark(
        "demo_lh_vln", f"{randomization}.level={level}", f"{randomization}.seed=7", f"{randomization}.scene_mode=3"
    )
    cold = walk(benchmark, tmp_path / "cache", threads=1)
    warm = walk(benchmark, tmp_path / "cache", threads=2)
    assert cold == warm
    assert cold["observations"] != hashlib.sha256().hexdigest()
    assert len(cold["poses"]) == 80  # type: ignore[arg-type]
