"""A task dataset: the episodes of one evaluation, and how to get them.

`load_dataset` gives them all at once, `stream_episodes` one by one in bounded memory. Both apply the
same filters and refuse the same faults.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

import msgspec

from nav_eval.dataset import loaders
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.registry import DATASETS, DatasetLoader
from nav_eval.dataset.request import DatasetRequest
from nav_eval.dataset.selection import select
from nav_eval.errors import DatasetError

__all__ = ["DatasetLoader", "TaskDataset", "digest_of", "load_dataset", "loaders", "stream_episodes"]

_ENCODER = msgspec.json.Encoder(order="deterministic")


class TaskDataset(Sequence[Episode]):
    """Episodes in their order, also by id, with a digest of what they say."""

    def __init__(self, episodes: Iterable[Episode]) -> None:
        self.episodes: tuple[Episode, ...] = tuple(episodes)
        self._by_id = {episode.episode_id: episode for episode in self.episodes}
        if len(self._by_id) < len(self.episodes):
            raise DatasetError(f"Episode id {_most_repeated(self.episodes)!r} occurs twice; ids must differ.")

    def __len__(self) -> int:
        return len(self.episodes)

    @overload
    def __getitem__(self, index: int) -> Episode: ...
    @overload
    def __getitem__(self, index: slice) -> "TaskDataset": ...
    def __getitem__(self, index: int | slice) -> "Episode | TaskDataset":
        return TaskDataset(self.episodes[index]) if isinstance(index, slice) else self.episodes[index]

    def __iter__(self) -> Iterator[Episode]:
        return iter(self.episodes)

    def by_id(self, episode_id: str) -> Episode:
        if episode_id not in self._by_id:
            raise DatasetError(f"There is no episode {episode_id!r} among the {len(self)} that are loaded.")
        return self._by_id[episode_id]

    @property
    def episode_ids(self) -> tuple[str, ...]:
        return tuple(self._by_id)

    @cached_property
    def scene_ids(self) -> tuple[str, ...]:
        """Every scene once, in order of first use."""
        return tuple(dict.fromkeys(episode.scene_id for episode in self.episodes))

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the episodes' canonical encodings; the order of the episodes does not matter."""
        return digest_of(self.episodes)


def digest_of(episodes: Iterable[Episode]) -> str:
    """One line of hex that changes when any episode changes, and stays when they are only re-ordered."""
    each = sorted(hashlib.sha256(_ENCODER.encode(episode)).digest() for episode in episodes)
    return hashlib.sha256(b"".join(each)).hexdigest()


def load_dataset(request: DatasetRequest) -> TaskDataset:
    """All episodes that the request asks for."""
    return TaskDataset(stream_episodes(request))


def stream_episodes(request: DatasetRequest) -> Iterator[Episode]:
    """The episodes that the request asks for, one by one."""
    loader = DATASETS.get(request.format)
    count = 0
    for count, episode in enumerate(select(_distinct(loader(request), request), request), start=1):  # noqa: B007
        yield episode
    if not count:
        raise DatasetError(f"{request.path}: no episode is left after the filters.")


def _distinct(episodes: Iterator[Episode], request: DatasetRequest) -> Iterator[Episode]:
    seen: set[str] = set()
    for episode in episodes:
        if episode.episode_id in seen:
            raise DatasetError(f"{request.path}: episode id {episode.episode_id!r} occurs twice; ids must differ.")
        seen.add(episode.episode_id)
        yield episode
    if not seen:
        in_split = f" in split {request.split!r}" if request.split else ""
        raise DatasetError(f"{request.path} holds no episodes{in_split}.")


def _most_repeated(episodes: tuple[Episode, ...]) -> str:
    return Counter(episode.episode_id for episode in episodes).most_common(1)[0][0]
