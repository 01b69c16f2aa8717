"""The episodes of a benchmark: which, in which order, and where each is: waiting, being played, finished.

Every episode is finished exactly once. One that failed by our fault goes back to the end of the line,
a few times; after that it is finished as failed, unscored, so that the run comes to its end.
"""

import threading
from collections import deque
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from nav_eval.config.schema import BenchmarkConfig, DatasetConfig, EvaluationConfig
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.loader import DatasetRequest, TaskDataset, load_dataset
from nav_eval.errors import ConfigError
from nav_eval.randomness import derive_seed
from nav_eval.records.results import Cause, EpisodeResult, EpisodeStatus


def load_episodes(benchmark: BenchmarkConfig) -> TaskDataset:
    """The episodes that count; an order that no agent can influence."""
    episodes = load_dataset(make_request(benchmark.dataset))
    return TaskDataset(order_episodes(list(episodes), benchmark.evaluation))


def count_instruction_words(episode: Episode) -> int | None:
    """What a line states in place of the instruction, which may be private."""
    return None if episode.instruction is None else len(episode.instruction.text.split())


def make_request(dataset: DatasetConfig) -> DatasetRequest:
    """The loader's question, from the configuration."""
    if dataset.data_path is None:
        raise ConfigError("dataset.data_path is not set: the benchmark is a template; set it in a child.")
    return DatasetRequest(
        format=dataset.format,
        path=Path(dataset.data_path),
        split=dataset.split,
        episodes=dataset.episodes,
        seed=dataset.seed,
        episode_ids=dataset.episode_ids,
        scenes=dataset.scenes,
        languages=dataset.languages,
        roles=dataset.roles,
        gt_path=None if dataset.gt_path is None else Path(dataset.gt_path),
    )


def order_episodes(episodes: list[Episode], evaluation: EvaluationConfig) -> list[Episode]:
    """As in the file, scene by scene, or drawn by the seed."""
    if evaluation.order == "scene":
        first_seen = {scene: place for place, scene in enumerate(dict.fromkeys(e.scene_id for e in episodes))}
        return sorted(episodes, key=lambda episode: first_seen[episode.scene_id])
    if evaluation.order == "shuffled":
        return sorted(episodes, key=lambda episode: derive_seed(evaluation.seed, "order", episode.episode_id))
    return episodes


ATTEMPTS = 3


class EpisodeState(StrEnum):
    PENDING = "pending"  #: nobody plays it yet
    RUNNING = "running"  #: somebody plays it
    COMPLETED = "completed"  #: it came to its end
    FAILED = "failed"  #: a fault ended it
    TIMEOUT = "timeout"  #: the clock ended it


_FINAL = {
    EpisodeStatus.COMPLETED: EpisodeState.COMPLETED,
    EpisodeStatus.TIMEOUT: EpisodeState.TIMEOUT,
    EpisodeStatus.FAILED: EpisodeState.FAILED,
    EpisodeStatus.CANCELLED: EpisodeState.FAILED,
}


class EpisodeManager:
    """Hands out episodes to whoever plays them; may be used by several threads."""

    def __init__(self, episodes: Iterable[Episode] = (), *, attempts: int = ATTEMPTS) -> None:
        self._lock = threading.Condition()
        self._attempts_allowed = attempts
        self._waiting: deque[Episode] = deque()
        self._running: dict[str, Episode] = {}
        self._attempts: dict[str, int] = {}
        self._results: dict[str, EpisodeResult] = {}
        self.states: dict[str, EpisodeState] = {}
        self.submit_episodes(episodes)

    def submit_episodes(self, episodes: Iterable[Episode]) -> None:
        with self._lock:
            for episode in episodes:
                self._waiting.append(episode)
                self.states[episode.episode_id] = EpisodeState.PENDING

    def take(self, *, wait: bool = False) -> Episode | None:
        """The next episode to play; None if nothing waits, or, with `wait`, if nothing ever will again."""
        with self._lock:
            while wait and not self._waiting and self._running:
                self._lock.wait()
            if not self._waiting:
                return None
            episode = self._waiting.popleft()
            self._running[episode.episode_id] = episode
            self._attempts[episode.episode_id] = self._attempts.get(episode.episode_id, 0) + 1
            self.states[episode.episode_id] = EpisodeState.RUNNING
            return episode

    def finish(self, result: EpisodeResult) -> bool:
        """Take a result; True if the episode is finished, False if it is to be played again."""
        with self._lock:
            self._lock.notify_all()
            episode = self._running.pop(result.episode_id)
            if result.cause == Cause.INFRASTRUCTURE and self._attempts[result.episode_id] < self._attempts_allowed:
                self._waiting.append(episode)
                self.states[result.episode_id] = EpisodeState.PENDING
                return False
            self._results[result.episode_id] = result
            self.states[result.episode_id] = _FINAL[result.status]
            return True

    def lost(self, episode_id: str, *, detail: str) -> EpisodeResult:
        """The result of an episode whose player is gone: our fault."""
        return EpisodeResult(
            episode_id=episode_id,
            scene_id=self._running[episode_id].scene_id,
            status=EpisodeStatus.FAILED,
            cause=Cause.INFRASTRUCTURE,
            detail=detail,
            metrics={},
            num_steps=0,
        )

    def get_results(self) -> list[EpisodeResult]:
        with self._lock:
            return list(self._results.values())

    @property
    def is_done(self) -> bool:
        with self._lock:
            return not self._waiting and not self._running
