"""The words of instructions: templates of errands, routes and situations.

Two banks that share no template: models that learned on the seen one are tested on whether they understand,
not on whether they remember. In errands `{x}` is what to find or take, `{y}` where to bring it, `{it}` the pronoun.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from nav_eval_worlds.instructions.descriptions import Reference
from nav_eval_worlds.instructions.words import get_pronoun, to_sentence
from nav_eval_worlds.randomness import RandomStream, Split


@dataclass(frozen=True, kw_only=True, slots=True)
class Errand:
    """One thing to do: find something, or bring it somewhere."""

    thing: Reference
    to: Reference | None = None  #: None: only find it

    @property
    def legs(self) -> tuple[Reference, ...]:
        return (self.thing,) if self.to is None else (self.thing, self.to)


@dataclass(frozen=True, kw_only=True, slots=True)
class TemplateBank:
    """Templates of one split."""

    find: tuple[str, ...]
    bring: tuple[str, ...]
    two: tuple[str, ...]  #: how two errands are joined
    three: tuple[str, ...]
    four: tuple[str, ...]
    wrap: tuple[str, ...]  #: what stands around the first errand


ERRAND_BANKS: dict[Split, TemplateBank] = {
    "seen": TemplateBank(
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
    "unseen": TemplateBank(
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


def render_errands(errands: Sequence[Errand], draw: RandomStream) -> str:
    """All errands as one text, in the templates of the draw's split."""
    bank = ERRAND_BANKS[draw.split]
    said = [_format_errand(errand, bank, draw.fork("errand", number)) for number, errand in enumerate(errands)]
    joined = said[0]
    if len(said) > 1:
        joiner = draw.choice((bank.two, bank.three, bank.four)[len(said) - 2])
        joined = joiner.format(**dict(zip("abcd", said, strict=False)))
    return (
        ". ".join(to_sentence(part).removesuffix(".") for part in draw.choice(bank.wrap).format(all=joined).split(". "))
        + "."
    )


def _format_errand(errand: Errand, bank: TemplateBank, draw: RandomStream) -> str:
    it = get_pronoun(errand.thing.description.noun)
    if errand.to is None:
        return draw.choice(bank.find).format(x=errand.thing.text)
    return draw.choice(bank.bring).format(x=errand.thing.text, y=errand.to.text, it=it)


Templates = dict[str, tuple[str, ...]]

ROUTES: dict[Split, Templates] = {
    "seen": {
        "ahead": ("walk straight ahead", "go forward"),
        "turn": ("turn {side}", "turn to your {side}"),
        "around": ("turn around", "turn all the way around"),
        "leave": ("leave the {room}", "walk out of the {room}"),
        "into": ("go into the {room}", "enter the {room}"),
        "through": ("go through the {opening} into the {room}", "walk through the {opening} into the {room}"),
        "into_side": ("turn {side} into the {room}", "go {side} into the {room}"),
        "through_side": (
            "go through the {opening} on your {side} into the {room}",
            "turn {side} through the {opening} into the {room}",
        ),
        "along": ("walk along the {room}", "go down the {room}"),
        "along_it": ("walk along it", "go down it"),
        "past": ("walk past {thing} on your {side}", "pass {thing} on your {side}"),
        "bend": ("turn {side}", "make a {side} turn"),
        "up": ("go up the stairs", "walk upstairs"),
        "down": ("go down the stairs", "walk downstairs"),
        "stop": ("stop next to {thing}", "wait by {thing}", "stop at {thing}"),
    },
    "unseen": {
        "ahead": ("head straight on", "set off in the direction you are facing"),
        "turn": ("face {side}", "rotate to the {side}"),
        "around": ("face the other way", "do a half turn"),
        "leave": ("exit the {room}", "step out of the {room}"),
        "into": ("continue into the {room}", "proceed into the {room}"),
        "through": ("pass through the {opening} into the {room}", "use the {opening} to get into the {room}"),
        "into_side": ("head {side} into the {room}", "move over to the {side} into the {room}"),
        "through_side": (
            "take the {opening} on your {side} into the {room}",
            "head {side} through the {opening} into the {room}",
        ),
        "along": ("follow the {room}", "continue down the {room}"),
        "along_it": ("follow it", "continue along it"),
        "past": ("go by {thing} on your {side}", "keep {thing} to your {side} as you go by"),
        "bend": ("bear {side}", "head {side} from there"),
        "up": ("climb the stairs", "take the stairs up"),
        "down": ("descend the stairs", "take the stairs down"),
        "stop": ("halt beside {thing}", "come to a stop near {thing}", "your goal is right by {thing}"),
    },
}

SITUATIONS: dict[Split, Templates] = {
    "seen": {
        "front": (
            "I am standing in {room}, facing {thing}, about {metres} away",
            "I am in {room}. In front of me is {thing}, about {metres} away",
        ),
        "left": ("on my left is {thing}, about {metres} away", "to my left there is {thing}, about {metres} away"),
        "right": ("on my right is {thing}, about {metres} away", "to my right there is {thing}, about {metres} away"),
        "behind": ("behind me is {thing}, about {metres} away", "{thing} is behind me, about {metres} away"),
    },
    "unseen": {
        "front": (
            "I find myself in {room} and look at {thing}, roughly {metres} from me",
            "this is {room}, and straight ahead of me, at roughly {metres}, I see {thing}",
        ),
        "left": (
            "{thing} is roughly {metres} to the left of me",
            "on the left-hand side, at roughly {metres}, is {thing}",
        ),
        "right": (
            "{thing} is roughly {metres} to the right of me",
            "on the right-hand side, at roughly {metres}, is {thing}",
        ),
        "behind": (
            "at my back, at roughly {metres}, is {thing}",
            "if I turned round, I would see {thing} at roughly {metres}",
        ),
    },
}


QUESTIONS: dict[Split, Templates] = {
    "seen": {
        "existence": ("is there {a_thing} in the {room}", "does the {room} have {a_thing}"),
        "count": ("how many {things} are there in the {room}", "what is the number of {things} in the {room}"),
        "colour": ("what colour is the {thing} in this house", "which colour does the {thing} of this house have"),
        "place": ("what is the {thing} on", "on what does the {thing} lie or stand"),
        "room": ("in which room is the {thing}", "which room is the {thing} in"),
        "relation": (
            "is the {thing} next to the {other} in the {room}",
            "in the {room}, is the {thing} by the {other}",
        ),
    },
    "unseen": {
        "existence": ("can {a_thing} be found in the {room}", "would I find {a_thing} in the {room}"),
        "count": ("count the {things} in the {room}: how many are there", "the {room} has how many {things}"),
        "colour": ("the {thing} in this house has which colour", "tell me the colour of the {thing}: what is it"),
        "place": ("what has the {thing} been put on", "the {thing} is on top of what"),
        "room": ("the {thing} is in which room", "what kind of room has the {thing} in it"),
        "relation": (
            "does the {thing} stand right beside the {other} in the {room}",
            "in the {room}, are the {thing} and the {other} side by side",
        ),
    },
}


class Phrases:
    """Says things in the templates of one split; the same words do not come twice in a row."""

    def __init__(self, banks: dict[Split, Templates], draw: RandomStream) -> None:
        self._bank = banks[draw.split]
        self._draw = draw
        self._last: dict[str, str] = {}

    def say(self, key: str, **parts: str) -> str:
        options = [option for option in self._bank[key] if option != self._last.get(key)]
        self._last[key] = self._draw.choice(options or self._bank[key])
        return self._last[key].format(**parts)
