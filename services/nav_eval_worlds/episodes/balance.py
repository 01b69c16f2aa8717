"""Is a set of episodes fair? What it asks for, counted, what a blind agent could live on, and shares to keep it fair.

`Balance` is a function of the episodes alone, so it says the same about a file as about a fresh draw. Nothing here is
a verdict: three houses cannot have twenty kinds of rooms. Findings name what an organiser should look at.

`Quota` decides by what has been used so far what is taken next. Without that a house with thirty books sends its agents
to books. Categories come first, then pairs of rooms.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Protocol, TypeVar

from nav_eval.dataset.episode import Episode
from nav_eval_worlds.randomness import RandomStream

LARGEST_SHARE = 0.05  #: of all targets, for one category while others are to be had
FEW = 20  #: targets below which shares mean nothing
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
LEAST_HIDDEN = 0.8  #: of the episodes, those whose goal is not in sight at the start
FAIR_TURNS = (0.4, 0.6)  #: share of left turns among all turns


@dataclass(frozen=True, kw_only=True, slots=True)
class Balance:
    """What the episodes of a file ask for."""

    episodes: int
    scenes: int
    categories: dict[str, int]  #: of targets, the most frequent first
    room_pairs: dict[str, int]  #: "from > to", the most frequent first
    subtasks: dict[int, int]  #: how many episodes have so many
    metres: tuple[float, ...]  #: quantiles of the shortest paths: least, quarter, half, three quarters, most
    steps: tuple[float, ...]  #: the same of the expert's actions
    words: tuple[float, ...]  #: the same of the instructions' lengths
    left_turns: float | None  #: share among the expert's turns, however far each goes; None without any
    hidden_goals: float | None  #: share of episodes that do not show their goal at the start
    findings: tuple[str, ...] = field(default=())  #: what to look at, one sentence each


def compute_balance(episodes: Sequence[Episode]) -> Balance:
    """Count everything; an empty list has an empty balance."""
    categories = _count_words(category for episode in episodes for category in _list_categories(episode))
    left, hidden = _compute_left_share(episodes), _compute_hidden_share(episodes)
    return Balance(
        episodes=len(episodes),
        scenes=len({episode.scene_id for episode in episodes}),
        categories=categories,
        room_pairs=_count_words(
            f"{a or '?'} > {b or '?'}" for e in episodes for a, b in pairwise(e.private.info.get("rooms", ()))
        ),
        subtasks=dict(sorted(Counter(len(e.subtasks) for e in episodes if e.subtasks).items())),
        metres=_compute_quantiles(
            e.private.shortest_path_length for e in episodes if e.private.shortest_path_length is not None
        ),
        steps=_compute_quantiles(len(e.private.expert_actions) for e in episodes if e.private.expert_actions),
        words=_compute_quantiles(len(e.instruction.text.split()) for e in episodes if e.instruction is not None),
        left_turns=left,
        hidden_goals=hidden,
        findings=tuple(_find_imbalances(categories, left, hidden)),
    )


def _find_imbalances(categories: dict[str, int], left: float | None, hidden: float | None) -> Iterable[str]:
    total = sum(categories.values())
    for category, count in categories.items():
        if total >= FEW and count > max(1, LARGEST_SHARE * total):
            yield f"{count} of {total} targets are {category!r}, more than {LARGEST_SHARE:.0%}."
    if left is not None and not FAIR_TURNS[0] <= left <= FAIR_TURNS[1]:
        yield f"{left:.0%} of the expert's turns are to the left; an agent could bet on a side."
    if hidden is not None and hidden < LEAST_HIDDEN:
        yield f"Only {hidden:.0%} of the goals are out of sight at the start; {LEAST_HIDDEN:.0%} are asked for."


def _list_categories(episode: Episode) -> list[str]:
    if episode.subtasks:
        return [subtask.target for subtask in episode.subtasks]
    target = episode.private.info.get("target")
    return [] if target is None else [str(target)]


def _compute_left_share(episodes: Iterable[Episode]) -> float | None:
    """Turn actions in a row are one turn; a half turn has no better side, and the expert always takes the left."""
    runs = (action for episode in episodes for action, _ in groupby(episode.private.expert_actions))
    turns = Counter(action for action in runs if action.startswith("turn_"))
    total = turns.total()
    return turns["turn_left"] / total if total else None


def _compute_hidden_share(episodes: Iterable[Episode]) -> float | None:
    known = [e.private.info["goal_in_sight"] for e in episodes if "goal_in_sight" in e.private.info]
    return known.count(False) / len(known) if known else None


def _count_words(words: Iterable[str]) -> dict[str, int]:
    """The most frequent first, equal ones by name."""
    return dict(sorted(Counter(words).items(), key=lambda item: (-item[1], item[0])))


def _compute_quantiles(values: Iterable[float]) -> tuple[float, ...]:
    """Of the sorted values, those that are nearest; empty without values."""
    ordered = sorted(values)
    return tuple(round(ordered[round(part * (len(ordered) - 1))], 2) for part in QUANTILES) if ordered else ()


class Countable(Protocol):
    """Something that an episode may lead to."""

    @property
    def category(self) -> str: ...

    @property
    def room(self) -> str: ...


T = TypeVar("T", bound=Countable)


class Quota:
    """What the episodes of one file have used."""

    def __init__(self, *, expected: int) -> None:
        """`expected`: how many targets the file will have."""
        self._most = max(1, int(LARGEST_SHARE * expected))
        self._categories: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()

    def rank(self, options: Sequence[T], *, coming_from: str, draw: RandomStream) -> list[T]:
        """Those that have been used least first; equal ones by lot."""
        return sorted(draw.shuffle(options), key=lambda target: self._burden(target, coming_from))

    def note(self, target: Countable, *, coming_from: str) -> None:
        """Count a target that an episode really has."""
        self._categories[target.category] += 1
        self._pairs[coming_from, target.room] += 1

    def _burden(self, target: Countable, coming_from: str) -> tuple[bool, int, int]:
        used = self._categories[target.category]
        return used >= self._most, self._pairs[coming_from, target.room], used
