"""The evaluator itself: what it costs beyond pictures and agent, what a second process gains, how fast a replay is.

`drawn_in_place` plays against an agent in a process of its own that reads our memory, as every evaluation does:
pictures are drawn where the agent reads them. `copied` is the same run with pictures that are drawn elsewhere and
copied there, which is what 0.1.0 did. CPU of the thread that plays, so that a busy machine is unfair to neither;
rounds alternate.

`two_workers_ratio` is computed from CPU time, so it holds on a busy machine too: our own process and the slower worker,
which nobody else can spare; `…_wall_ratio` is what a clock says. `verify_command_ratio` is CPU of whole commands.
"""

import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.envs import read_cpu
from nav_eval.agents.client import AgentClient, ClientSettings, EpisodeSession
from nav_eval.agents.messages import TaskInterface
from nav_eval.agents.process_client import ProcessAgentClient
from nav_eval.child_process import make_nav_eval_command
from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.dataset.episode import Episode, Goal, Instruction, PrivateEpisode, PublicEpisode, Subtask
from nav_eval.dataset.formats.native import write_episodes
from nav_eval.evaluation.episodes import EpisodeManager, load_episodes
from nav_eval.evaluation.executor import EpisodeExecutor
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.runner import ParallelExecutor
from nav_eval.evaluation.task_interface import make_task_interface
from nav_eval.evaluation.verification import VerificationReport, verify
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.records.geometry import Pose
from nav_eval.scene.formats import write_glb
from nav_eval.scene.navigation import AgentShape, build_navigation
from nav_eval.simulator.base import ObservationBuffers, Observations, Simulator, SimulatorSetup, open_simulator
from nav_eval.tasks.base import build_task
from nav_eval_worlds.houses import generate_house

EPISODES = 4
COPIES = 10
STEPS = 300
VERIFIED = 50
VERIFICATIONS = 5
ROUNDS = 5
AGENT = """
from nav_eval_sdk import Agent


class Wanderer(Agent):
    def act(self, observation):
        return "turn_left" if observation.step % 5 == 4 else "move_forward"
"""


def run() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        benchmark = _benchmark(root)
        return (
            _with_pictures(benchmark, root)
            | _through_shared_memory(benchmark, root)
            | _without_pictures(benchmark, root)
            | _verify_by_command(benchmark, root)
        )


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


class _Copying(ProcessAgentClient):
    """Offers the renderer no memory, so that every picture is copied into the agent's."""

    def open_episode(self, episode: PublicEpisode, *, task: TaskInterface | None = None) -> EpisodeSession:
        session = super().open_episode(episode, task=task)
        session.buffers = dict  # type: ignore[method-assign]
        return session


class _CpuPerStep(NamedTuple):
    """Milliseconds of the thread that plays."""

    whole: float
    beyond_drawing: float


def _through_shared_memory(benchmark: BenchmarkConfig, root: Path) -> dict[str, object]:
    agent = root / "wanderer.py"
    agent.write_text(AGENT)
    command = f"{sys.executable} -m nav_eval_sdk serve {agent}:Wanderer"
    clients = {"drawn_in_place": ProcessAgentClient, "copied": _Copying}
    cost: dict[str, list[_CpuPerStep]] = {name: [] for name in clients}
    with open_simulator(SimulatorSetup(benchmark=benchmark, cache=root / "cache")) as simulator:
        for turn in range(ROUNDS + 1):
            for name, kind in clients.items():
                with kind(command, ClientSettings()) as client:
                    measured = _measure_episode(client, simulator, benchmark)
                if turn:
                    cost[name].append(measured)
    median = {name: _CpuPerStep(*map(statistics.median, zip(*rows, strict=True))) for name, rows in cost.items()}
    drawn, copied = median["drawn_in_place"], median["copied"]
    return {
        **{f"{name}_cpu_ms_per_step": round(row.whole, 3) for name, row in median.items()},
        **{f"{name}_cpu_ms_beyond_drawing": round(row.beyond_drawing, 3) for name, row in median.items()},
        "copied_over_drawn_ratio": copied.whole / drawn.whole,
        "copied_over_drawn_beyond_drawing_ratio": copied.beyond_drawing / drawn.beyond_drawing,
    }


def _measure_episode(client: AgentClient, simulator: Simulator, benchmark: BenchmarkConfig) -> _CpuPerStep:
    client.describe(make_task_interface(benchmark))
    task = build_task(benchmark.task, benchmark.evaluation)
    drawing = 0.0
    observe = type(simulator).observe

    def observe_timed(*, out: ObservationBuffers | None = None) -> Observations:
        nonlocal drawing
        began = time.thread_time()
        seen = observe(simulator, out=out)
        drawing += time.thread_time() - began
        return seen

    simulator.observe = observe_timed  # type: ignore[method-assign]
    began = time.thread_time()
    result = EpisodeExecutor(task=task, simulator=simulator, client=client).run(next(iter(load_episodes(benchmark))))
    whole = time.thread_time() - began
    return _CpuPerStep(*(seconds / result.num_steps * 1000 for seconds in (whole, whole - drawing)))


def _verified(out: Path, cache: Path) -> tuple[VerificationReport, float]:
    started = time.perf_counter()
    report = verify(out, cache=cache)
    return report, time.perf_counter() - started


def _verify_by_command(benchmark: BenchmarkConfig, root: Path) -> dict[str, object]:
    """`nav-eval verify` over `nav-eval evaluate`, both from start to end, of fifty episodes with pictures."""
    episodes = list(load_episodes(benchmark))
    file, out = root / "fifty.json.gz", root / "fifty"
    write_episodes(file, [_renamed(episodes[number % EPISODES], number) for number in range(VERIFIED)])
    settings = [f"dataset.data_path={file}", f"dataset.scene_path={root}", f"evaluation.max_steps={STEPS}"]
    agent = ["--agent", "bench.agents:Wanderer", "--out", str(out)]
    environment = {**os.environ, "NAV_EVAL_CACHE": str(root / "cache")}
    played = _run_command(make_nav_eval_command("evaluate", "demo_lh_vln", *agent, *settings), environment)
    command = make_nav_eval_command("verify", str(out))
    rounds = [_run_command(command, environment) for _ in range(VERIFICATIONS)]
    wall, cpu = min(each.wall for each in rounds), min(each.cpu for each in rounds)
    return {
        "verify_command_episodes": VERIFIED,
        "verify_command_seconds": wall,
        "verify_command_cpu_seconds": cpu,
        "verify_command_wall_ratio": played.wall / wall,
        "verify_command_ratio": played.cpu / cpu,
    }


class _Cost(NamedTuple):
    """Seconds of a process, or of several."""

    wall: float
    cpu: float


def _run_command(command: Sequence[str], environment: dict[str, str]) -> _Cost:
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return _Cost(time.perf_counter() - began, spent)


def _without_pictures(benchmark: BenchmarkConfig, root: Path) -> dict[str, object]:
    rounds = [{workers: _play(benchmark, root, workers) for workers in (1, 2)} for _ in range(ROUNDS)]
    wall = {workers: min(each[workers].wall for each in rounds) for workers in (1, 2)}
    ways = [each[1].longest_way / each[2].longest_way for each in rounds]
    return {
        "one_worker_steps_per_second": EPISODES * COPIES * STEPS / wall[1],
        "coordinator_share": statistics.median(each[2].parent / sum(each[2].workers) for each in rounds),
        "two_workers_ratio": statistics.median(ways),
        "two_workers_wall_ratio": wall[1] / wall[2],
    }


class _Played(NamedTuple):
    """Seconds of playing alone: the processes have started, their agents have said hello."""

    wall: float
    parent: float  #: CPU of ours
    workers: tuple[float, ...]  #: and of each worker

    @property
    def longest_way(self) -> float:
        """What nobody can do meanwhile, on as many cores as there are processes to play."""
        return self.parent + max(self.workers)


def _play(benchmark: BenchmarkConfig, root: Path, workers: int) -> _Played:
    setup = SimulatorSetup(benchmark=benchmark, cache=root / "cache")
    episodes = load_episodes(benchmark)
    copies = [_renamed(episode, number) for number in range(COPIES) for episode in episodes]
    with ParallelExecutor(setup, "bench.agents:BlindWanderer", workers=workers) as players:
        players.describe()
        warm = EpisodeManager(_renamed(episode, 99 + number) for number in range(workers) for episode in episodes)
        players.play(warm, lambda result: warm.finish(result) and None)
        manager = EpisodeManager(copies)
        processes = [child.pid for child in multiprocessing.active_children() if child.pid is not None]
        before = [read_cpu(process) for process in processes]
        started, ours = time.perf_counter(), time.process_time()
        players.play(manager, lambda result: manager.finish(result) and None)
        wall, parent = time.perf_counter() - started, time.process_time() - ours
        spent = tuple(read_cpu(process) - seconds for process, seconds in zip(processes, before, strict=True))
        return _Played(wall, parent, spent)


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
