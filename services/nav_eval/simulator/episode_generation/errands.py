"""The words of long-horizon tasks: errands of finding and bringing, said in many ways.

Two banks that share no template: models that learned on the seen one are tested on whether they understand,
not on whether they remember. `{x}` is what to find or take, `{y}` where to bring it, `{it}` the pronoun.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from nav_eval.scene.houses.randomness import Draw, Split
from nav_eval.simulator.episode_generation.descriptions import Reference
from nav_eval.simulator.episode_generation.words import pronoun, sentence


@dataclass(frozen=True, kw_only=True, slots=True)
class Errand:
    """One thing to do: find something, or bring it somewhere."""

    thing: Reference
    to: Reference | None = None  #: None: only find it

    @property
    def legs(self) -> tuple[Reference, ...]:
        return (self.thing,) if self.to is None else (self.thing, self.to)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bank:
    """Templates of one split."""

    find: tuple[str, ...]
    bring: tuple[str, ...]
    two: tuple[str, ...]  #: how two errands are joined
    three: tuple[str, ...]
    four: tuple[str, ...]
    wrap: tuple[str, ...]  #: what stands around the first errand


BANKS: dict[Split, Bank] = {
    "seen": Bank(
        find=("find {x}", "go to {x}", "look for {x}", "walk over to {x}"),
        bring=(
            "take {x} and bring {it} to {y}",
            "pick up {x} and carry {it} to {y}",
            "get {x} and put {it} on {y}",
            "find {x} and take {it} to {y}",
        ),
        two=("{a}, then {b}", "{a}. After that, {b}", "first {a}, then {b}", "{a} and afterwards {b}"),
        three=(
            "{a}, then {b}, and finally {c}",
            "first {a}, then {b}, and after that {c}",
            "{a}. Then {b}. Finally, {c}",
        ),
        four=("{a}, then {b}. After that, {c}, and finally {d}", "first {a}, then {b}. Next, {c}, and finally {d}"),
        wrap=("{all}", "{all}", "please {all}", "I would like you to {all}"),
    ),
    "unseen": Bank(
        find=("locate {x}", "head to {x}", "make your way to {x}", "search for {x}"),
        bring=(
            "fetch {x} and deliver {it} to {y}",
            "collect {x} and leave {it} on {y}",
            "retrieve {x} and set {it} down on {y}",
            "grab {x} and move {it} to {y}",
        ),
        two=(
            "{a}; once that is done, {b}",
            "{a}. Next up, {b}",
            "to start with, {a}. When you are finished, {b}",
            "{a}, and as soon as you have done so, {b}",
        ),
        three=(
            "{a}. Next up, {b}. To finish, {c}",
            "{a}; once that is done, {b}; last of all, {c}",
            "to start with, {a}. Following that, {b}. At the end, {c}",
        ),
        four=(
            "{a}. Next up, {b}. Following that, {c}. To finish, {d}",
            "{a}; once that is done, {b}. Your third job: {c}. Your last one: {d}",
        ),
        wrap=("{all}", "{all}", "here is your task: {all}", "there is something to do: {all}"),
    ),
}


def instruction(errands: Sequence[Errand], draw: Draw) -> str:
    """All errands as one text, in the templates of the draw's split."""
    bank = BANKS[draw.split]
    said = [_said(errand, bank, draw.fork("errand", number)) for number, errand in enumerate(errands)]
    joined = said[0]
    if len(said) > 1:
        joiner = draw.choice((bank.two, bank.three, bank.four)[len(said) - 2])
        joined = joiner.format(**dict(zip("abcd", said, strict=False)))
    return (
        ". ".join(sentence(part).removesuffix(".") for part in draw.choice(bank.wrap).format(all=joined).split(". "))
        + "."
    )


def _said(errand: Errand, bank: Bank, draw: Draw) -> str:
    it = pronoun(errand.thing.description.noun)
    if errand.to is None:
        return draw.choice(bank.find).format(x=errand.thing.text)
    return draw.choice(bank.bring).format(x=errand.thing.text, y=errand.to.text, it=it)
