"""The evaluator itself: what it costs beyond pictures and agent, what a second process gains, how fast a replay is."""

import statistics
import tempfile
import time
from pathlib import Path

from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.dataset.episode import Episode, Goal, Instruction, Pose, PrivateEpisode, PublicEpisode, Subtask
from nav_eval.dataset.writing import write_episodes
from nav_eval.evaluation.episode_manager import EpisodeManager
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.orchestrator import EvaluationOrchestrator
from nav_eval.evaluation.parallel import ParallelExecutor
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.verification import VerificationReport, verify
from nav_eval.scene.houses import generate_house
from nav_eval.scene.navigation import AgentShape, build_navigation
from nav_eval.scene.reading import write_glb
from nav_eval.simulator.base import SimulatorSetup

EPISODES = 4
COPIES = 10
STEPS = 300
VERIFICATIONS = 5


def run() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        benchmark = _benchmark(root)
        return _with_pictures(benchmark, root) | _without_pictures(benchmark, root)


def _with_pictures(benchmark: BenchmarkConfig, root: Path) -> dict[str, object]:
    out, cache = root / "run", root / "cache"
    orchestrator = EvaluationOrchestrator(cache=cache)
    orchestrator.run_benchmark(benchmark, agent="bench.agents:BlindWanderer", out=root / "warm")
    orchestrator.run_benchmark(benchmark, agent="bench.agents:Wanderer", out=out)
    timings = [result.timing for result in RunFolder(out).results()]
    total = sum(timing["total"] for timing in timings)
    elsewhere = sum(timing["simulator"] + timing["agent"] for timing in timings)
    report, _ = _verified(out, cache)
    replay = statistics.median(_verified(out, cache)[1] for _ in range(VERIFICATIONS))
    return {
        "evaluated_steps": report.steps,
        "evaluation_seconds": total,
        "overhead_share": (total - elsewhere) / total,
        "verification_seconds": replay,
        "verification_equal": report.equal,
        "verification_ratio": total / replay,
    }


def _verified(out: Path, cache: Path) -> tuple[VerificationReport, float]:
    started = time.perf_counter()
    report = verify(out, cache=cache)
    return report, time.perf_counter() - started


def _without_pictures(benchmark: BenchmarkConfig, root: Path) -> dict[str, object]:
    seconds = {workers: min(_playing(benchmark, root, workers) for _ in range(2)) for workers in (1, 2)}
    return {
        "one_worker_steps_per_second": EPISODES * COPIES * STEPS / seconds[1],
        "two_workers_ratio": seconds[1] / seconds[2],
    }


def _playing(benchmark: BenchmarkConfig, root: Path, workers: int) -> float:
    """Seconds of playing alone: the processes have started, their agents have said hello."""
    setup = SimulatorSetup(benchmark=benchmark, cache=root / "cache")
    episodes = load_episodes(benchmark)
    copies = [_renamed(episode, number) for number in range(COPIES) for episode in episodes]
    with ParallelExecutor(setup, "bench.agents:BlindWanderer", workers=workers) as players:
        players.describe()
        warm = EpisodeManager(_renamed(episode, 99) for episode in episodes)
        players.play(warm, lambda result: warm.finish(result) and None)
        manager = EpisodeManager(copies)
        started = time.perf_counter()
        players.play(manager, lambda result: manager.finish(result) and None)
        return time.perf_counter() - started


def _renamed(episode: Episode, number: int) -> Episode:
    public = PublicEpisode(episode_id=f"{episode.episode_id}-{number}", instruction=episode.instruction)
    return Episode(public=public, private=episode.private)


def _benchmark(root: Path) -> BenchmarkConfig:
    """Random walks in two generated houses."""
    episodes = []
    for seed in (1, 2):
        scene = generate_house(seed).scene
        write_glb(scene, root / f"house_{seed}.glb")
        ground = build_navigation(scene, AgentShape())
        for number in range(EPISODES // 2):
            places = [ground.random_navigable_point(10 * number + place) for place in range(3)]
            legs = tuple(
                Subtask(target="chair", goals=(Goal(position=place),), ground_truth_steps=20, ground_truth_distance=5.0)
                for place in places[1:]
            )
            private = PrivateEpisode(scene_id=f"house_{seed}.glb", start=Pose(places[0]), subtasks=legs)
            public = PublicEpisode(episode_id=f"{seed}-{number}", instruction=Instruction(text="Walk."))
            episodes.append(Episode(public=public, private=private))
    write_episodes(root / "val.json.gz", episodes)
    return load_benchmark(
        "demo_lh_vln",
        overrides=[
            f"dataset.data_path={root / 'val.json.gz'}",
            f"dataset.scene_path={root}",
            f"evaluation.max_steps={STEPS}",
        ],
        environ={},
    )
