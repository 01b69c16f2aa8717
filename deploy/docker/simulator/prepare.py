"""Make what the scenes of an order need (navigation mesh, drawing data), where later runs find it: one step in each.

Runs before the first shard of its kind on a host, without an agent: nothing of a team's is near.
"""

import sys
from pathlib import Path

from nav_eval.agents.local_client import LocalAgentClient
from nav_eval.agents.messages import TaskInterface
from nav_eval.dataset.episode import Episode
from nav_eval.evaluation.episodes import EpisodeManager, load_episodes
from nav_eval.evaluation.executor import make_client_settings
from nav_eval.evaluation.runner import ConcurrentExecutor
from nav_eval.evaluation.shard_protocol import read_order
from nav_eval.evaluation.task_interface import make_task_interface
from nav_eval.simulator.base import SimulatorSetup

PREPARED = Path("/prepared")


class Looker:
    """Wants to see everything, and goes nowhere."""

    def __init__(self, task: TaskInterface) -> None:
        self.sensors = list(task.sensors)

    def reset(self, episode: object) -> None:
        pass

    def act(self, observation: object) -> str:
        return "stop"


def main(order_file: Path) -> None:
    order, benchmark = read_order(order_file.read_bytes())
    short = benchmark.model_copy(update={"evaluation": benchmark.evaluation.model_copy(update={"max_steps": 1})})
    episodes, task = load_episodes(short), make_task_interface(short)
    manager = EpisodeManager(one_per_scene([episodes.by_id(name) for name in order.episode_ids]))
    with LocalAgentClient(lambda: Looker(task), make_client_settings(short)) as client:
        setup = SimulatorSetup(benchmark=short, cache=PREPARED, run_seed=order.run_seed)
        executor = ConcurrentExecutor(setup, client, client.describe(task))
        executor.play(lambda: manager.take(wait=True), lambda result: report(result.detail, manager.finish(result)))


def report(detail: str | None, _: bool) -> None:
    if detail:
        print(detail, file=sys.stderr)


def one_per_scene(episodes: list[Episode]) -> list[Episode]:
    """Scenes may look different from episode to episode, but what is kept on disk is the same."""
    return list({episode.private.scene_id: episode for episode in reversed(episodes)}.values())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
