"""What questions are worth without looking, and with all knowledge: baselines of `eqa`.

A question says which answers count ("Answer red or blue."), so guessing has a chance. The random agent guesses. The
majority agent knows how often each answer is right in the whole file; the blind one how the questions that are most
like this one were answered. Where these two do better than chance, questions give themselves away. The oracle walks to
where the answer is seen, and says it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from random import Random

from nav_eval.agents.baselines import (
    BaselineAgent,
    BaselineContext,
    BaselineObservation,
    choose_cheapest_sensor,
    get_draw_key,
    get_instruction,
)
from nav_eval.agents.messages import ANSWER, Action
from nav_eval.agents.oracle import Oracle
from nav_eval.dataset.episode import Episode, PublicEpisode
from nav_eval.errors import ConfigError
from nav_eval.randomness import derive_seed
from nav_eval.tasks.questions import read_accepted_answers

NEIGHBOURS = 5  #: questions that the blind agent learns from
_OPTIONS = re.compile(r"\bAnswer ([^.?]+)\.?\s*$")


def read_options(question: str) -> list[str]:
    """The answers that a question offers."""
    offered = _OPTIONS.search(question)
    return [] if offered is None else re.split(r", | or ", offered[1].strip())


class RandomAnswerAgent(BaselineAgent):
    """Says one of the answers that the question offers, without a look."""

    name = "random"
    sensors: Sequence[str] = ("instruction",)

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed

    def reset(self, episode: PublicEpisode) -> None:
        self._question = get_instruction(episode)
        self._random = Random(derive_seed(self._seed, "random answer", get_draw_key(episode)))

    def act(self, observation: BaselineObservation) -> Action:
        return Action(name=ANSWER, text=self.choose(sorted(read_options(self._question))))

    def choose(self, options: list[str]) -> str:
        return self._random.choice(options or ["yes"])


class MajorityAgent(RandomAnswerAgent):
    """Of the answers that are offered, the one that is right most often in the file; this question is left out."""

    name = "majority"

    def __init__(self, context: BaselineContext) -> None:
        super().__init__()
        if context.benchmark.task.type != "eqa":
            raise ConfigError(f"The {self.name} baseline answers the questions of eqa; this benchmark has none.")
        self.sensors = choose_cheapest_sensor(context)
        self._episodes = context.episodes

    def reset(self, episode: PublicEpisode) -> None:
        super().reset(episode)
        others = [other for name, other in self._episodes.items() if name != episode.episode_id]
        self._right = Counter(read_accepted_answers(other)[0] for other in self.select(others))

    def select(self, others: list[Episode]) -> list[Episode]:
        """Those that teach something about this question."""
        return others

    def choose(self, options: list[str]) -> str:
        most = max((self._right[option] for option in options), default=0)
        return super().choose([option for option in options if self._right[option] == most])


class BlindAgent(MajorityAgent):
    """How questions with the most words in common were answered: knows houses, and has not seen this one."""

    name = "blind"

    def select(self, others: list[Episode]) -> list[Episode]:
        own = _list_words(self._question)
        return sorted(others, key=lambda other: -_measure_likeness(own, _list_words(get_instruction(other.public))))[
            :NEIGHBOURS
        ]


def _list_words(question: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", question.lower()))


def _measure_likeness(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other)


class QuestionOracle(Oracle):
    """Goes where the answer is seen, and says it."""

    def reset(self, episode: PublicEpisode) -> None:
        super().reset(episode)
        self._answer = read_accepted_answers(self._episodes[episode.episode_id])[0]

    def act(self, observation: BaselineObservation) -> str | Action:
        action = super().act(observation)
        return Action(name=ANSWER, text=self._answer) if action == "stop" else action
