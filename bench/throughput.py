"""Whole evaluations as a share of the bare renderer: what of a run's time is drawing.

`nav-eval evaluate` plays a scripted agent over gRPC in a process of its own, as a team's is; the agent's CPU is
its own and is not counted. The bare renderer draws the same pictures in the same order in a fresh process of its own
(`peers/bare_walk.py`), and two of them where two workers play. Both are first walks: nobody has seen anything before.
Runs alternate, each way of playing with as many runs of the bare renderer that are its own, and the cheapest of each
counts, so that a busy machine is unfair to nobody. Where several episodes are played at once, `share` still compares
with walks one after the other, and `share_in_turns` with a bare renderer that draws as many walks in turns, as they are
played: what several places cost the processor's caches is in both then. A share is without what comes before the first
picture and after the last, which is printed beside it (`start`); `clock_share` is by the clock and means something on a
machine with nothing else to do. `read_back` is what could overlap with drawing for another episode, if it were not the
same cores that draw.
"""

import json
import os
import sys
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import NamedTuple, TypeVar

import numpy as np

from bench.buildings import building
from bench.shared_data import find_shared_data
from nav_eval.action_log import parse_entry
from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.dataset.episode import Episode, Goal, Instruction, PrivateEpisode, PublicEpisode, Subtask
from nav_eval.dataset.formats.native import write_episodes
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.play import EpisodePlay
from nav_eval.records.geometry import Pose
from nav_eval.scene.formats import write_glb
from nav_eval.simulator.base import SimulatorSetup, open_simulator
from nav_eval.simulator.scene_manager import SceneManager
from nav_eval.tasks.base import build_task

ROOT = Path(__file__).resolve().parent.parent
SMALL_HOUSE = find_shared_data("scenes/small_house.glb")
EPISODES, SUBTASKS, STEPS = 16, 4, 60
ROUNDS = 3
T = TypeVar("T")
AGENT = """
import json, os, sys, time
from pathlib import Path
from nav_eval_sdk import Agent, serve
from nav_eval_sdk.arrays import SharedMemoryCache

SCRIPT = json.loads((Path(__file__).parent / "script.json").read_text())
if sys.argv[1] == "inline":  # as an agent on another host
    SharedMemoryCache.proof = lambda *_: b""


class Walker(Agent):
    sensors = ("rgb",)
    max_episodes = 8

    def reset(self, episode):
        self._actions = iter(SCRIPT[episode.instruction])

    def act(self, observation):
        assert observation.sensors["rgb"].shape == (480, 640, 3)
        return next(self._actions)

    def end(self, episode, outcome):
        Path(os.environ["AGENT_CPU"], str(os.getpid())).write_text(str(time.process_time()))


serve(Walker)
"""


class Cost(NamedTuple):
    """Seconds of one run; the agent's CPU is not in it."""

    cpu: float
    wall: float

    def __sub__(self, other: "Cost") -> "Cost":  # type: ignore[override]
        return Cost(self.cpu - other.cpu, self.wall - other.wall)


class Way(NamedTuple):
    """How a benchmark is played."""

    workers: int
    at_once: int
    memory: str  #: shared or inline

    def __str__(self) -> str:
        return f"{self.memory}_{self.workers}_workers_{self.at_once}_at_once"


WAYS = [Way(workers, at_once, memory) for memory in ("shared", "inline") for workers in (1, 2) for at_once in (1, 8)]


def run() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder))
        stage.bare(1)  # whatever is made once and kept has been made now
        costs: dict[str, list[Cost]] = defaultdict(list)
        for _ in range(ROUNDS):
            for way in WAYS:
                costs[f"bare_{way}"].append(stage.bare(way.workers))
                if way.at_once > 1:
                    costs[f"bare_in_turns_{way}"].append(stage.bare(way.workers, at_once=way.at_once))
                costs[str(way)].append(stage.evaluate(way))
            for workers in (1, 2):
                costs[f"start_{workers}"].append(stage.start(workers))
        reads = min(stage.read_backs)
        best = {name: Cost(*map(min, zip(*rows, strict=True))) for name, rows in costs.items()}
        drawn = 1000 * min(best[f"bare_{way}"].cpu for way in WAYS if way.workers == 1) / stage.frames
        about = {"frames": stage.frames, "read_back_ms": reads, "read_back_share": reads / drawn}
        return about | _figures(best, frames=stage.frames) | {"load": os.getloadavg()[0]}


def _figures(best: dict[str, Cost], *, frames: int) -> dict[str, object]:
    figures: dict[str, object] = {}
    for workers in (1, 2):
        alone = [best[f"bare_{way}"] for way in WAYS if way.workers == workers]
        figures[f"bare_{workers}_frames_per_cpu_second"] = frames / min(bare.cpu for bare in alone)
        figures[f"bare_{workers}_frames_per_second"] = frames / min(bare.wall for bare in alone)
        figures[f"start_{workers}_workers_cpu_seconds"] = best[f"start_{workers}"].cpu
    for way in WAYS:
        whole, start, bare = best[str(way)], best[f"start_{way.workers}"], best[f"bare_{way}"]
        played = whole - start
        figures |= {
            f"{way}_frames_per_cpu_second": frames / played.cpu,
            f"{way}_frames_per_second": frames / played.wall,
            f"{way}_episodes_per_hour": 3600 * EPISODES / whole.wall,
            f"{way}_share_ratio": bare.cpu / played.cpu,
            f"{way}_clock_share_ratio": bare.wall / played.wall,
        }
        if way.at_once > 1:
            figures[f"{way}_share_in_turns_ratio"] = best[f"bare_in_turns_{way}"].cpu / played.cpu
    return figures


class Stage:
    """The files of a measurement, and the commands that are measured."""

    def __init__(self, root: Path) -> None:
        self.read_backs: list[float] = []
        self.root = root
        self._numbers = count(1)  # of runs, which may be at the same time
        scene = SMALL_HOUSE if SMALL_HOUSE.exists() else _write_building(root / "building.glb")
        cache = root / "cache"
        self._overrides = [
            f"dataset.data_path={root / 'val.json.gz'}",
            f"dataset.scene_path={scene.parent}",
            f"evaluation.max_steps={STEPS}",
            "task.sensors.rgb={width: 640, height: 480, hfov: 90}",
        ]
        _write_episodes(root / "val.json.gz", self._load(), scene.name, cache)
        self._benchmark = self._load()
        self._write_scripts(cache)
        (root / "agent.py").write_text(AGENT)

    def _load(self) -> BenchmarkConfig:
        return load_benchmark("demo_lh_vln", overrides=self._overrides, environ={})

    def _write_scripts(self, cache: Path) -> None:
        """What the agent does, by instruction, and the poses that this leads to."""
        out = self.root / "expert"
        EvaluationOrchestrator(cache=cache).run_benchmark(self._benchmark, agent="baseline:oracle", out=out)
        results = {result.episode_id: result for result in RunFolder(out).results()}
        script, walk = {}, []
        setup = SimulatorSetup(benchmark=self._benchmark, cache=cache, pictures=False)
        task = build_task(self._benchmark.task, self._benchmark.evaluation)
        with open_simulator(setup) as simulator:
            for episode in load_episodes(self._benchmark):
                actions = results[episode.episode_id].actions
                play = EpisodePlay(episode, task=task, simulator=simulator)
                states = [play.state, *(play.apply(parse_entry(action)) for action in actions[:-1])]
                script[episode.episode_id] = [str(action) for action in actions]
                walk.append([(state.position, state.pose.rotation, episode.scene_id) for state in states])
        self.frames = sum(map(len, walk))
        (self.root / "script.json").write_text(json.dumps(script))
        (self.root / "benchmark.json").write_text(self._benchmark.model_dump_json())
        for workers in (1, 2):
            for number in range(workers):
                for at_once in (1, 8):
                    poses = take_turns(walk[number::workers], at_once=at_once)
                    (self.root / name_walk(number, workers, at_once)).write_text(json.dumps(poses))

    def bare_command(self) -> list[str]:
        """The walk's file comes after it."""
        return [sys.executable, str(ROOT / "bench/peers/bare_walk.py"), str(self.root / "benchmark.json")]

    def bare(self, processes: int, *, at_once: int = 1) -> Cost:
        """Drawing alone, by so many processes side by side."""
        command = self.bare_command()
        walks = [self.root / name_walk(number, processes, at_once) for number in range(processes)]
        running = [Popen([*command, walk], stdout=PIPE, env=self.environment()) for walk in walks]
        said = [json.loads(process.communicate()[0]) for process in running]
        self.read_backs += [each["read_back_ms"] for each in said]
        return Cost(cpu=sum(each["cpu"] for each in said), wall=max(each["wall"] for each in said))

    def evaluate(self, way: Way, *more: str) -> Cost:
        """The command of a user."""
        number = next(self._numbers)
        out = self.root / f"run-{number}"
        cpu_folder = self.root / f"cpu-{number}"
        cpu_folder.mkdir()
        command = [
            *(sys.executable, "-m", "nav_eval.cli", "evaluate", "demo_lh_vln", "--out", str(out)),
            *("--agent", f"{sys.executable} {self.root / 'agent.py'} {way.memory}", "--workers", str(way.workers)),
            *(*self._overrides, f"evaluation.concurrent_episodes={way.at_once}", *more),
        ]
        began, environment = time.perf_counter(), {**self.environment(), "AGENT_CPU": str(cpu_folder)}
        process = Popen(command, stdout=DEVNULL, stderr=DEVNULL, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        if status:
            raise RuntimeError(f"`{' '.join(command)}` failed.")
        agents = sum(float(file.read_text()) for file in cpu_folder.iterdir())
        return Cost(cpu=usage.ru_utime + usage.ru_stime - agents, wall=wall)

    def start(self, workers: int) -> Cost:
        """The same command with next to nothing to play."""
        way = Way(workers, 1, "shared")
        return self.evaluate(way, f"dataset.episodes={workers}", "evaluation.max_steps=1")

    def environment(self) -> dict[str, str]:
        return {**os.environ, "NAV_EVAL_CACHE": str(self.root / "cache")}


def take_turns(walks: Sequence[Sequence[T]], *, at_once: int) -> list[T]:
    """The steps of all walks as they are played: so many walks at once, a step of each in turn."""
    waiting = deque(map(iter, walks))
    under_way = deque(waiting.popleft() for _ in range(min(at_once, len(waiting))))
    steps = []
    while under_way:
        walk = under_way.popleft()
        try:
            steps.append(next(walk))
            under_way.append(walk)
        except StopIteration:
            if waiting:
                under_way.append(waiting.popleft())
    return steps


def name_walk(number: int, workers: int, at_once: int) -> str:
    return f"walk-{number}-of-{workers}-{at_once}-at-once.json"


def _write_building(path: Path) -> Path:
    write_glb(building(rooms=12), path)
    return path


def _write_episodes(path: Path, benchmark: BenchmarkConfig, scene_id: str, cache: Path) -> None:
    """Walks from place to place; an instruction is the name of its episode, which is how the agent knows its script."""
    ground = SceneManager(benchmark, cache=cache).open(scene_id, benchmark.robot(None)).ground
    rng = np.random.default_rng(0)
    episodes = []
    for number in range(EPISODES):
        start = ground.random_navigable_point(rng)
        places = [ground.random_navigable_point(rng, island=ground.island(start)) for _ in range(SUBTASKS)]
        legs = tuple(
            Subtask(target="chair", goals=(Goal(position=place),), ground_truth_steps=20, ground_truth_distance=5.0)
            for place in places
        )
        name = f"walk-{number:02}"
        private = PrivateEpisode(scene_id=scene_id, start=Pose(start), subtasks=legs)
        public = PublicEpisode(episode_id=name, instruction=Instruction(text=name))
        episodes.append(Episode(public=public, private=private))
    write_episodes(path, episodes)
