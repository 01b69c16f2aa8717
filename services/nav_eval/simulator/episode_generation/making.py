"""What it takes to make an episode, whatever the task: an order, a case of it, and a maker per scene."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.scene.houses.randomness import Draw, Split

#: of all episodes, those whose goal may be in sight at the start
IN_SIGHT = 0.15


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What is to be made."""

    benchmark: BenchmarkConfig  #: task, actions, robots and rules that the episodes are for
    count: int
    seed: int
    split: str  #: name of the split, in ids and draws
    subtasks: tuple[int, int] = (2, 4)  #: fewest and most of a long-horizon episode

    @property
    def pool(self) -> Split:
        """Which houses and templates belong to the split."""
        return pool_of(self.split)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One attempt at one episode."""

    number: int  #: of the episode in its file
    episode_id: str
    draw: Draw


class Maker(ABC):
    """Makes the episodes of one scene."""

    @abstractmethod
    def draw(self, case: Case, *, strict: bool) -> Episode | None:
        """An episode, or None when this draw is no good. Not strict: what this scene cannot give is not asked for."""


def pool_of(split: str) -> Split:
    """`val_unseen` and `test` are unseen; `train` and `val_seen` are seen."""
    return "unseen" if "unseen" in split or split.startswith("test") else "seen"


def may_be_in_sight(draw: Draw) -> bool:
    """Whether this episode is one of the few whose goal may be seen from the start."""
    return draw.fork("in sight").chance(IN_SIGHT)
