"""Gymnasium in several processes, and exports: how they scale, and how fast they write.

The same environments are stepped by one worker process and by two, in rounds that alternate; one worker has
all of them, two have half each. Scaling is taken twice. `…_wall_ratio` is what a clock on the wall says, the
best round of each; it means something on a machine with nothing else to do. `…_ratio` is computed from CPU
time, so it holds on a busy machine too: what one step of all environments costs along its longest way, which is
our own process and the slower worker. `blind_few_…` has so few environments that a step is hardly longer than
the way to another process and back. `small_…` is a step with small pictures of eight environments in one process, CPU
per environment: what a worker saves by drawing them together.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec
import numpy as np

from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.dataset.episode import Episode, Goal, Instruction, PrivateEpisode, PublicEpisode, Subtask
from nav_eval.dataset.formats.native import write_episodes
from nav_eval.dataset.loader import TaskDataset
from nav_eval.envs import NavEnv
from nav_eval.envs.rollout import draw_ahead
from nav_eval.envs.vector import NavVectorEnv
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.export import export_run
from nav_eval.evaluation.run_folder import RunFolder, make_manifest
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.records.geometry import Pose
from nav_eval.records.results import EpisodeResult, encode_result
from nav_eval.scene.formats import write_glb
from nav_eval.scene.navigation import AgentShape, build_navigation
from nav_eval_worlds.houses import generate_house

CAMERAS = ["rgb_left", "rgb_front", "rgb_right"]
HOUSES, EPISODES, STEPS = (1, 2), 12, 250
EXPORTED = 1_000
ROUNDS = 7
SMALL, SMALL_STEPS, SMALL_ROUNDS, SMALL_CAMERAS = 8, 60, 4, ["rgb_front", "depth_front"]


def run() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        benchmark = _benchmark(root, _episodes(root))
        return {
            **_scaling(benchmark, root, "blind", sensors=["instruction", "pose"], envs=64, steps=60),
            **_scaling(benchmark, root, "blind_few", sensors=["instruction", "pose"], envs=16, steps=120),
            **_scaling(benchmark, root, "rendering", sensors=CAMERAS, envs=4, steps=12),
            **{key: value for side in (64, 128) for key, value in _together(benchmark, root, side).items()},
            **_exports(benchmark, root),
        }


class _Cost(NamedTuple):
    """What a round took."""

    wall: float
    parent: float
    workers: tuple[float, ...]

    @property
    def longest_way(self) -> float:
        return self.parent + max(self.workers)


def _scaling(
    benchmark: BenchmarkConfig, root: Path, name: str, *, sensors: list[str], envs: int, steps: int
) -> dict[str, object]:
    made = {
        count: NavVectorEnv(benchmark, num_envs=envs, workers=count, sensors=sensors, cache=root / "cache")
        for count in (1, 2)
    }
    for env in made.values():
        env.reset(seed=0)
        _round(env, steps, seed=0)
    rounds = [{count: _round(env, steps, seed=turn) for count, env in made.items()} for turn in range(1, ROUNDS + 1)]
    for env in made.values():
        env.close()
    wall = {count: min(costs[count].wall for costs in rounds) for count in (1, 2)}
    return {
        f"{name}_steps_per_second_of_one_worker": envs * steps / min(costs[1].longest_way for costs in rounds),
        f"{name}_two_workers_ratio": median(costs[1].longest_way / costs[2].longest_way for costs in rounds),
        f"{name}_two_workers_wall_ratio": wall[1] / wall[2],
    }


def _together(benchmark: BenchmarkConfig, root: Path, side: int) -> dict[str, object]:
    """A step of eight environments of one worker with small pictures: each drawn alone, and all drawn together."""
    data = benchmark.model_dump(mode="json")
    for sensor in data["task"]["sensors"].values():
        if "width" in sensor:
            sensor |= {"width": side, "height": side}
    small = BenchmarkConfig.model_validate(data)
    ways = {"alone": False, "together": True}
    costs: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(SMALL_ROUNDS):
        for way, ahead in ways.items():
            envs = [NavEnv(small, sensors=SMALL_CAMERAS, order="benchmark", cache=root / "cache") for _ in range(SMALL)]
            costs[way].append(_walk(envs, ahead=ahead))
            for env in envs:
                env.close()
    alone, together = (1000 * min(costs[way]) / SMALL for way in ways)
    return {f"small_{side}_ms": alone, f"small_{side}_together_ms": together, f"small_{side}_ratio": alone / together}


def _walk(envs: list[NavEnv], *, ahead: bool) -> float:
    """CPU seconds of a step of all."""
    for number, env in enumerate(envs):
        env.reset(seed=0, options={"episode_id": env.episodes[number % 2].episode_id})  # of one house
    draws = np.random.default_rng(3).integers(1, 4, (SMALL_STEPS, len(envs)))
    began = time.process_time()
    for actions in draws:
        stepped = [env.begin_step(action) for env, action in zip(envs, actions, strict=True)]
        if ahead:
            draw_ahead((env.rollout, None) for env in envs)
        for env, facts in zip(envs, stepped, strict=True):
            env.finish_step(facts)
    return (time.process_time() - began) / SMALL_STEPS


def _round(env: NavVectorEnv, steps: int, *, seed: int) -> _Cost:
    draws = np.random.default_rng(seed).integers(1, 4, (steps, env.num_envs))
    processes = [worker.process.pid for worker in env._workers._workers]
    before = [read_cpu(process) for process in processes]
    wall, parent = time.perf_counter(), time.process_time()
    for actions in draws:
        env.step(actions)
    parent, wall = time.process_time() - parent, time.perf_counter() - wall
    after = [read_cpu(process) for process in processes]
    return _Cost(wall, parent, tuple(b - a for a, b in zip(before, after, strict=True)))


def read_cpu(process: int | None) -> float:
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def _exports(benchmark: BenchmarkConfig, root: Path) -> dict[str, object]:
    played = root / "played"
    orchestrator = EvaluationOrchestrator(cache=root / "cache")
    orchestrator.run_benchmark(benchmark, agent="bench.agents:BlindWanderer", out=played)
    many = _multiplied(RunFolder(played).results(), benchmark, root)
    out = root / "many.jsonl"
    export_run(played, form="jsonl", out=root / "warm.jsonl")
    cpu = time.process_time()
    export_run(many, form="jsonl", out=out)
    cpu = time.process_time() - cpu
    megabytes = out.stat().st_size / 1e6
    return {
        "jsonl_megabytes": megabytes,
        "jsonl_episodes": sum(1 for _ in out.open("rb")),
        "jsonl_megabytes_per_second": megabytes / cpu,
        **_lerobot(played, root),
    }


def _lerobot(played: Path, root: Path) -> dict[str, object]:
    """How much longer the exported steps would last at 10 frames per second than their export takes."""
    cache = root / "cache"
    export_run(played, form="lerobot-v3", out=root / "warm", limit=1, cache=cache)
    cpu, wall = time.process_time(), time.perf_counter()
    done = export_run(played, form="lerobot-v3", out=root / "v3", limit=4, cache=cache)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    info = json.loads((root / "v3/meta/info.json").read_text())
    return {
        "lerobot_pictures": f"{len(CAMERAS)} × {info['features']['observation.images.rgb_front']['shape']}",
        "lerobot_steps": done.steps,
        "lerobot_milliseconds_of_cpu_per_step": 1000 * cpu / done.steps,
        "lerobot_real_time_ratio": done.steps / info["fps"] / cpu,
        "lerobot_real_time_wall_ratio": done.steps / info["fps"] / wall,
    }


def _multiplied(results: list[EpisodeResult], benchmark: BenchmarkConfig, root: Path) -> Path:
    """A run of a thousand episodes: the same few again and again, under names of their own."""
    originals = {episode.episode_id: episode for episode in load_episodes(benchmark)}
    chosen = [(results[number % len(results)], f"e{number}") for number in range(EXPORTED)]
    copies = [_renamed(originals[result.episode_id], name) for result, name in chosen]
    wide = _benchmark(root, copies, file="many.json.gz")
    folder = RunFolder(root / "many")
    folder.begin(make_manifest(wide, TaskDataset(copies), agent={"name": "wanderer"}))
    lines = (encode_result(msgspec.structs.replace(result, episode_id=name)) + b"\n" for result, name in chosen)
    folder.episodes_file.write_bytes(b"".join(lines))
    return folder.path


def _renamed(episode: Episode, name: str) -> Episode:
    return msgspec.structs.replace(episode, public=msgspec.structs.replace(episode.public, episode_id=name))


def _episodes(root: Path) -> list[Episode]:
    return [episode for seed in HOUSES for episode in _in_house(root, seed)]


def _in_house(root: Path, seed: int) -> Iterator[Episode]:
    scene = generate_house(seed).scene
    write_glb(scene, root / f"house_{seed}.glb")
    ground = build_navigation(scene, AgentShape())
    for number in range(EPISODES // len(HOUSES)):
        start, *goals = (ground.random_navigable_point(10 * number + place) for place in range(3))
        legs = tuple(
            Subtask(target="chair", goals=(Goal(position=goal),), ground_truth_steps=20, ground_truth_distance=5.0)
            for goal in goals
        )
        private = PrivateEpisode(scene_id=f"house_{seed}.glb", start=Pose(start), subtasks=legs)
        public = PublicEpisode(episode_id=f"{seed}-{number}", instruction=Instruction(text="Walk about."))
        yield Episode(public=public, private=private)


def _benchmark(root: Path, episodes: list[Episode], *, file: str = "val.json.gz") -> BenchmarkConfig:
    write_episodes(root / file, episodes)
    place = [f"dataset.data_path={root / file}", f"dataset.scene_path={root}", f"evaluation.max_steps={STEPS}"]
    return load_benchmark("demo_lh_vln", overrides=place, environ={})


if __name__ == "__main__":
    for key, value in run().items():
        print(f"{key:<44} {value}")
