"""Of which episodes the scenes are prepared: every submission has other shards, and the same episodes in them."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from nav_eval.config import compute_config_digest
from nav_eval_worker.runtime.base import ShardWork


class PreparedEpisodes:
    """Notes in a worker's folder, an empty file for each episode of each benchmark."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has_all(self, work: ShardWork) -> bool:
        return all(note.exists() for note in self._list_notes(work))

    def add(self, work: ShardWork) -> None:
        for note in self._list_notes(work):
            note.parent.mkdir(parents=True, exist_ok=True)
            note.touch()

    def _list_notes(self, work: ShardWork) -> Iterator[Path]:
        benchmark = self._folder / _hash(compute_config_digest(work.benchmark))
        return (benchmark / _hash(episode) for episode in work.episode_ids)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
