"""Players: one agent, and as many simulators as episodes are played at once.

While the agent thinks about one episode, another one is rendered. Every simulator lives in a thread of
its own, because an OpenGL context does.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

from nav_eval.agents.client import AgentClient
from nav_eval.agents.description import AgentDescription
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.evaluation.executor import EpisodeExecutor
from nav_eval.evaluation.results import EpisodeResult
from nav_eval.simulator.backends import open_simulator
from nav_eval.simulator.base import SimulatorSetup
from nav_eval.tasks.build import build_task

NextEpisode = Callable[[], Episode | None]
"""Blocks until there is an episode to play; None when there will be no more."""
Emit = Callable[[EpisodeResult], None]


class Bench:
    """Plays episodes against one agent, several at once where both sides allow it."""

    def __init__(self, setup: SimulatorSetup, client: AgentClient, description: AgentDescription) -> None:
        self._setup = setup
        self._client = client
        self._description = description
        self._emitting = threading.Lock()

    @property
    def at_once(self) -> int:
        """How many episodes are played at the same time."""
        return seats(self._setup.benchmark, self._description)

    def play(self, next_episode: NextEpisode, emit: Emit) -> None:
        """Play until there are no more episodes; `emit` is called by one thread at a time."""
        if self.at_once == 1:
            self._play_alone(next_episode, emit)
            return
        with ThreadPoolExecutor(self.at_once, thread_name_prefix="player") as pool:
            players = [pool.submit(self._play_alone, next_episode, emit) for _ in range(self.at_once)]
            wait(players)
        for player in players:
            player.result()

    def _play_alone(self, next_episode: NextEpisode, emit: Emit) -> None:
        benchmark = self._setup.benchmark
        with open_simulator(self._setup) as simulator:
            executor = EpisodeExecutor(
                task=build_task(benchmark.task, benchmark.evaluation),
                simulator=simulator,
                client=self._client,
                wants_between=self._description.wants_between,
            )
            while (episode := next_episode()) is not None:
                result = executor.run(episode)
                with self._emitting:
                    emit(result)


def seats(benchmark: BenchmarkConfig, description: AgentDescription) -> int:
    """No more episodes at once than the benchmark allows and the agent can take."""
    return max(1, min(benchmark.evaluation.concurrent_episodes, description.max_episodes))
