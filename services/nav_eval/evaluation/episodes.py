"""The episodes of a benchmark, in the order in which they are played."""

from pathlib import Path

from nav_eval.config.schema import BenchmarkConfig, DatasetConfig, EvaluationConfig
from nav_eval.dataset.dataset import TaskDataset, load_dataset
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.request import DatasetRequest
from nav_eval.errors import ConfigError
from nav_eval.randomness import subseed


def load_episodes(benchmark: BenchmarkConfig) -> TaskDataset:
    """The episodes that count; an order that no agent can influence."""
    episodes = load_dataset(request_for(benchmark.dataset))
    return TaskDataset(in_order(list(episodes), benchmark.evaluation))


def request_for(dataset: DatasetConfig) -> DatasetRequest:
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


def in_order(episodes: list[Episode], evaluation: EvaluationConfig) -> list[Episode]:
    """As in the file, scene by scene, or drawn by the seed."""
    if evaluation.order == "scene":
        first_seen = {scene: place for place, scene in enumerate(dict.fromkeys(e.scene_id for e in episodes))}
        return sorted(episodes, key=lambda episode: first_seen[episode.scene_id])
    if evaluation.order == "shuffled":
        return sorted(episodes, key=lambda episode: subseed(evaluation.seed, "order", episode.episode_id))
    return episodes
