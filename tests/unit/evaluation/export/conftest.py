"""A run in the room, and small pictures to replay it with."""

from collections.abc import Callable
from pathlib import Path

import pytest
from trajectory_support import SMALL

from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.orchestrator import EvaluationOrchestrator


@pytest.fixture(scope="session")
def trajectory_runs(
    room_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[Path, BenchmarkConfig]]:
    """`trajectory_runs("demo_lh_vln", "baseline:oracle")`: the folder of such a run, made once."""
    root = tmp_path_factory.mktemp("runs")
    made: dict[tuple[str, ...], tuple[Path, BenchmarkConfig]] = {}

    def make(name: str, agent: str, *overrides: str) -> tuple[Path, BenchmarkConfig]:
        key = (name, agent, *overrides)
        if key not in made:
            place = [f"dataset.data_path={room_data / 'val.json.gz'}", f"dataset.scene_path={room_data}"]
            small = SMALL if name == "demo_lh_vln" else []
            benchmark = load_benchmark(name, overrides=[*place, *small, *overrides], environ={})
            out = root / f"run{len(made)}"
            EvaluationOrchestrator(cache=root / "cache").run_benchmark(benchmark, agent=agent, out=out)
            made[key] = (out, benchmark)
        return made[key]

    return make


@pytest.fixture(scope="session")
def oracle_run(trajectory_runs) -> Path:
    return trajectory_runs("demo_lh_vln", "baseline:oracle")[0]


@pytest.fixture(scope="session")
def mixed_run(trajectory_runs) -> Path:
    """Some good, some bad."""
    return trajectory_runs("demo_lh_vln", "baseline:noisy_oracle?skill=0.9", "evaluation.max_steps=70")[0]
