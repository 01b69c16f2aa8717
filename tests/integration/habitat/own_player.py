"""The same actions on the same file of episodes, played and scored by nav-eval's own task."""

from pathlib import Path

from nav_eval.agents.messages import Action
from nav_eval.config import load_benchmark
from nav_eval.dataset.loader import DatasetRequest, load_dataset
from nav_eval.play import EpisodePlay
from nav_eval.scene.navigation import AgentShape
from nav_eval.simulator.base import SimulatorSetup, open_simulator
from nav_eval.simulator.scene_manager import SceneSource
from nav_eval.tasks.base import build_task

#: the lab's settings: our task, file format, turn, sliding, body in whole cells, success distance, steps
CONDITIONS = {
    "pointnav": ("pointnav", "pointnav", 10, True, (1.6, 0.1), 0.2, 500),
    "imagenav": ("pointnav", "pointnav", 10, True, (1.6, 0.1), 0.2, 1000),
    "objectnav": ("objectnav", "objectnav", 30, False, (1.0, 0.2), 0.1, 500),
    "instance_imagenav": ("imagenav", "imagenav", 30, False, (1.0, 0.2), 0.1, 1000),
    "vln": ("vln", "r2r", 15, True, (1.6, 0.1), 3.0, 500),
}


def make_benchmark(task: str, scenes: Path):
    name, _, turn, sliding, (height, radius), success, steps = CONDITIONS[task]
    overrides = [
        f"simulator.physics.allow_sliding={str(sliding).lower()}",
        f"evaluation.success_distance={success}",
        f"evaluation.max_steps={steps}",
        f"dataset.scene_path={scenes}",
        "dataset.data_path=unused.json.gz",
    ]
    benchmark = load_benchmark(f"{name}_base", overrides=overrides, environ={})
    actions = [
        action.model_copy(update={"params": {**action.params, "turn_angle": turn}})
        if action.name.startswith("turn")
        else action
        for action in benchmark.task.actions
    ]
    robot = benchmark.scenario_config.robots[0].model_copy(update={"height": height, "radius": radius})
    return benchmark.model_copy(
        update={
            "task": benchmark.task.model_copy(update={"actions": actions}),
            "scenario_config": benchmark.scenario_config.model_copy(update={"robots": [robot]}),
        }
    )


def make_placer(task: str, scenes: Path, cache: Path, *, lift: float = 0.0):
    """Where the body of a task's conditions stands, for a place made for another body; `lift` metres above it."""
    height, radius = CONDITIONS[task][4]
    grounds = {}

    def place(scene: str, point):
        if scene not in grounds:
            source = SceneSource(path=scenes / scene, things=(), root=scenes, cache=cache)
            grounds[scene] = source.ground(AgentShape(height=height, radius=radius))
        x, y, z = grounds[scene].snap_point(point) or point
        return (x, y + lift, z)

    return place


def replay_episodes(task: str, data: Path, scenes: Path, cache: Path, runs: list[dict]) -> list[tuple[dict, tuple]]:
    """Metrics and last position of each run, by our own task."""
    benchmark = make_benchmark(task, scenes)
    episodes = {
        episode.episode_id: episode
        for episode in load_dataset(DatasetRequest(format=CONDITIONS[task][1], path=data, split="val"))
    }
    judge = build_task(benchmark.task, benchmark.evaluation)
    results = []
    with open_simulator(SimulatorSetup(benchmark=benchmark, cache=cache, pictures=False)) as simulator:
        for run in runs:
            play = EpisodePlay(episodes[run["episode"]], task=judge, simulator=simulator)
            for action in run["actions"]:
                play.apply(Action(name=action))
            results.append((dict(play.progress.result().metrics), play.state.position))
    return results
