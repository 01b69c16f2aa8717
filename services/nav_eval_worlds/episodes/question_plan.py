"""Which questions are asked, so that nobody can answer them without looking.

A question is asked only if the same words have other answers in other houses; those answers are its options. Which of
them is right is drawn first, each alike, and then a house where it is: so the answer does not depend on the words, and
whoever knows all about houses, but not this one, is right by chance. How often the same words may be asked is settled
before anything is drawn, by the rarest of their answers.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from nav_eval_worlds.colours import SHADES
from nav_eval_worlds.episodes.house_facts import Fact
from nav_eval_worlds.randomness import RandomStream

KINDS = ("existence", "count", "colour", "place", "room", "relation")
MOST_OPTIONS = 4
PLAINLY_OTHER = 110.0  #: between two colours, in steps of sRGB; less is a matter of taste

Words = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """Something to ask in one house."""

    fact: Fact
    options: tuple[str, ...]  #: each as likely as the others


@dataclass(frozen=True, kw_only=True, slots=True)
class _Topic:
    """The same words in all houses."""

    options: dict[str, list[Fact]]  #: where each answer is true

    @property
    def turns(self) -> int:
        return min(map(len, self.options.values()))


def plan_questions(facts: Iterable[Fact], *, count: int, draw: RandomStream) -> list[Question]:
    """Up to `count` questions, as many of each kind as there are, evenly."""
    queues = {kind: _draw_questions(topics, draw.fork(kind)) for kind, topics in _group_topics(facts).items()}
    planned: list[Question] = []
    while len(planned) < count and any(queues.values()):
        for queue in queues.values():
            if queue and len(planned) < count:
                planned.append(queue.pop())
    return planned


def _group_topics(facts: Iterable[Fact]) -> dict[str, list[_Topic]]:
    by_words: dict[tuple[str, Words], dict[str, list[Fact]]] = {}
    for fact in facts:
        by_words.setdefault((fact.kind, fact.words), {}).setdefault(fact.answer, []).append(fact)
    topics: dict[str, list[_Topic]] = {kind: [] for kind in KINDS}
    for (kind, _), answers in sorted(by_words.items()):
        options = _choose_options(kind, answers)
        if len(options) > 1:
            topics[kind].append(_Topic(options={answer: answers[answer] for answer in options}))
    return topics


def _choose_options(kind: str, answers: dict[str, list[Fact]]) -> tuple[str, ...]:
    """The largest set of answers that nobody confuses; of equal ones that with most houses for its rarest answer."""
    known = sorted(answers, key=lambda answer: (-len(answers[answer]), answer))[: 2 * MOST_OPTIONS]
    for size in range(min(MOST_OPTIONS, len(known)), 1, -1):
        sets = [chosen for chosen in combinations(sorted(known), size) if _is_distinct(kind, chosen)]
        if sets:
            return max(sets, key=lambda chosen: min(len(answers[answer]) for answer in chosen))
    return ()


def _is_distinct(kind: str, answers: Sequence[str]) -> bool:
    pairs = list(combinations(answers, 2))
    if kind != "colour":
        return not any(one.endswith(other) or other.endswith(one) for one, other in pairs)
    return all(_measure_contrast(one, other) >= PLAINLY_OTHER for one, other in pairs)


def _measure_contrast(one: str, other: str) -> float:
    """The least difference between their shades; colours that we do not know may be anything."""
    shades = [(a, b) for a in SHADES.get(one, ()) for b in SHADES.get(other, ())]
    return min((math.dist(*map(_to_numbers, pair)) for pair in shades), default=0.0)


def _to_numbers(shade: str) -> tuple[int, ...]:
    return tuple(int(shade[n : n + 2], 16) for n in (0, 2, 4))


def _draw_questions(topics: Sequence[_Topic], draw: RandomStream) -> list[Question]:
    """All that can be asked, in the order in which they are to be taken from the end: topics in turn."""
    rounds: list[list[Question]] = []
    for number, topic in enumerate(topics):
        own = draw.fork(number)
        left = {answer: own.shuffle(facts) for answer, facts in topic.options.items()}
        for turn in range(topic.turns):
            fact = left[own.choice(sorted(left))].pop()
            if turn == len(rounds):
                rounds.append([])
            rounds[turn].append(Question(fact=fact, options=_sort_options(topic.options)))
    return [question for questions in reversed(rounds) for question in draw.shuffle(questions)]


def _sort_options(options: Iterable[str]) -> tuple[str, ...]:
    return ("yes", "no") if set(options) == {"yes", "no"} else tuple(sorted(options))
