"""Which episode comes next. The order depends on the seed of `reset` and on nothing else."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np

from nav_eval.dataset.episode import Episode
from nav_eval.errors import ConfigError

Order: TypeAlias = Literal["shuffled", "by_scene", "benchmark"]
"""Drawn anew each time round; drawn scene by scene, which loads each scene once; or as an evaluation plays them."""


class Playlist:
    """Goes through the episodes again and again."""

    def __init__(self, episodes: Sequence[Episode], *, order: Order) -> None:
        if order not in get_args(Order):
            raise ConfigError(f"order is {order!r}; it is one of {', '.join(get_args(Order))}.")
        self._episodes = episodes
        self._order = order
        self._coming: list[int] = []

    def restart(self) -> None:
        """The next episode is the first of a new round."""
        self._coming.clear()

    def next(self, random: np.random.Generator) -> Episode:
        if not self._coming:
            self._coming = self._round(random)[::-1]
        return self._episodes[self._coming.pop()]

    def _round(self, random: np.random.Generator) -> list[int]:
        count = len(self._episodes)
        if self._order == "benchmark":
            return list(range(count))
        drawn: list[int] = random.permutation(count).tolist()
        if self._order == "shuffled":
            return drawn
        by_scene: dict[str, list[int]] = defaultdict(list)
        for index in drawn:
            by_scene[self._episodes[index].scene_id].append(index)
        return [index for scene in by_scene.values() for index in scene]
