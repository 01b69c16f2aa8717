"""Errands in words (generator 2), in English and Chinese: what to find, what to bring where, in which order.

`{x}` is what to find or take, `{y}` where to bring it, `{it}` the pronoun; the other keys tie errands together
or say that the way to a target leads to another floor.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from nav_eval.config.schema.generation import Language
from nav_eval_worlds.instructions.chinese_words import name_reference
from nav_eval_worlds.instructions.descriptions import Describer, Reference
from nav_eval_worlds.instructions.grammar import Grammar, PhrasePicker
from nav_eval_worlds.instructions.templates import Errand
from nav_eval_worlds.instructions.words import get_pronoun, to_sentence
from nav_eval_worlds.randomness import RandomStream, Split

ERRANDS: dict[Language, dict[Split, Grammar]] = {
    "en": {
        "seen": {
            "find": (
                "(find|look for) {x}",
                "(go|walk) (over |)to {x}",
                "go (and find|and look for|find) {x}",
                "(walk|go) until you (reach|find) {x}",
                "go see {x}",
                "stop by {x}",
            ),
            "find_small": (
                "(find|look for) {x}",
                "go (and find|and look for|find) {x}",
                "(walk|go) until you find {x}",
                "(try to|see if you can) find {x}",
            ),
            "bring": (
                "take {x} (and bring {it} |)to {y}",
                "pick up {x} and (carry|bring|take) {it} to {y}",
                "get {x} and put {it} on {y}",
                "find {x} and (take|bring) {it} to {y}",
                "bring {x} to {y}",
                "put {x} on {y}",
                "go get {x}, then (put|place) {it} on {y}",
                "move {x} (over |)to {y}",
            ),
            "first": (
                "",
                "",
                "first,",
                "to begin,",
                "please",
                "I would like you to",
                "could you please",
                "start with this:",
            ),
            "only": ("", "please", "I would like you to", "could you please"),
            "next": ("then", "after that,", "next,", "and then", "once that is done,", "when you have done that,"),
            "last": ("finally,", "then", "and finally", "at the end,", "last,"),
            "up": ("go upstairs and", "walk upstairs and"),
            "down": ("go downstairs and", "walk downstairs and"),
            "up_the_stairs": ("(go|walk) up the stairs and", "take the stairs up and"),
            "down_the_stairs": ("(go|walk) down the stairs and", "take the stairs down and"),
            "up_several": ("go up {n} floors and", "walk {n} floors up and"),
            "down_several": ("go down {n} floors and", "walk {n} floors down and"),
        },
        "unseen": {
            "find": (
                "(locate|search for|seek out) {x}",
                "(head|make your way|proceed) to {x}",
                "go over to {x}",
                "get yourself to {x}",
                "track down {x}",
                "check on {x}",
            ),
            "find_small": (
                "(locate|search for|seek out) {x}",
                "track down {x}",
                "hunt for {x}",
                "set out to find {x}",
            ),
            "bring": (
                "fetch {x} and (deliver|move) {it} to {y}",
                "collect {x} and (leave|rest) {it} on {y}",
                "retrieve {x} and (set {it} down|deposit {it}) on {y}",
                "grab {x} and move {it} to {y}",
                "transfer {x} to {y}",
                "deliver {x} to {y}",
                "relocate {x} to {y}",
                "get hold of {x} and leave {it} on {y}",
            ),
            "first": (
                "",
                "",
                "for a start,",
                "here is your task:",
                "kindly",
                "there is something to do:",
                "would you",
                "your job:",
            ),
            "only": ("", "here is your task:", "kindly", "would you"),
            "next": (
                "following that,",
                "as soon as that is done,",
                "next up,",
                "with that out of the way,",
                "afterwards,",
            ),
            "last": ("to finish,", "last of all,", "as your last job,", "in the end,"),
            "up": ("head upstairs and", "make your way upstairs and"),
            "down": ("head downstairs and", "make your way downstairs and"),
            "up_the_stairs": ("climb the stairs and", "(head|make your way) up the stairs and"),
            "down_the_stairs": ("descend the stairs and", "(head|make your way) down the stairs and"),
            "up_several": ("climb {n} floors and", "head {n} floors up and"),
            "down_several": ("descend {n} floors and", "head {n} floors down and"),
        },
    },
    "zh": {
        "seen": {
            "find": ("找到{x}", "走到{x}(旁边|那里)", "去找{x}"),
            "bring": (
                "把{x}(拿到|带到|放到){y}(那里|上)",
                "拿起{x}，(放到{y}上|带到{y}那里)",
                "找到{x}，把{it}拿到{y}那里",
            ),
            "first": ("", "请", "首先", "请你"),
            "only": ("", "请", "请你"),
            "next": ("然后", "接着", "之后"),
            "last": ("最后", "然后"),
            "up": ("上楼", "到楼上"),
            "down": ("下楼", "到楼下"),
            "up_the_stairs": ("走楼梯上楼，", "上楼"),
            "down_the_stairs": ("走楼梯下楼，", "下楼"),
            "up_several": ("往上走{n}层楼，",),
            "down_several": ("往下走{n}层楼，",),
        },
        "unseen": {
            "find": ("前往{x}(边上|跟前)", "寻找{x}", "来到{x}跟前"),
            "bring": ("取{x}，(送至{y}上|搁在{y}上)", "将{x}(移到|搬到|送到){y}上", "取来{x}并放在{y}上"),
            "first": ("", "你的任务：", "先", "劳驾"),
            "only": ("", "你的任务：", "劳驾"),
            "next": ("随后", "完成后", "紧接着"),
            "last": ("末了", "最后一步是"),
            "up": ("前往楼上，",),
            "down": ("前往楼下，",),
            "up_the_stairs": ("沿楼梯上楼，", "沿着楼梯往上走，"),
            "down_the_stairs": ("沿楼梯下楼，", "沿着楼梯往下走，"),
            "up_several": ("上{n}层楼，",),
            "down_several": ("下{n}层楼，",),
        },
    },
}
#: behind what something is brought to, or in Chinese before it: on another floor
ELSEWHERE: dict[Language, dict[str, tuple[str, str]]] = {
    "en": {"up": ("{y} upstairs", "{y} {n} floors up"), "down": ("{y} downstairs", "{y} {n} floors down")},
    "zh": {"up": ("楼上的{y}", "往上{n}层的{y}"), "down": ("楼下的{y}", "往下{n}层的{y}")},
}
NUMBERS: dict[Language, Sequence[str]] = {"en": ("", "one", "two", "three", "four"), "zh": ("", "一", "两", "三", "四")}
AND = " and"
SMALL = 0.45  #: metres: one looks for what is smaller, and goes to what is larger
#: what goes without saying behind "go upstairs and"
GOES = re.compile(r"^go (and )?(?=find|look|see|get)")
QUESTIONS = ("could you please", "would you")


@dataclass(frozen=True, slots=True)
class StairsAhead:
    """How the way to a target leads to another floor."""

    kind: Literal["up", "down"]
    flights: int
    is_only: bool  #: no other stairs lead there


class ErrandText(NamedTuple):
    """All errands as one text, and the words that say how each target's floor is reached."""

    text: str
    stairs: Sequence[str]  #: by target; empty where it is on the floor that one is on


def write_errands(
    errands: Sequence[Errand],
    stairs: Sequence[StairsAhead | None],
    draw: RandomStream,
    *,
    language: Language,
    describer: Describer,
) -> ErrandText | None:
    """All errands as one text; None where a thing has no name in the language. `stairs` are by target, in order."""
    words = PhrasePicker(ERRANDS[language][draw.split], draw.fork("errands"))
    floors = PhrasePicker(ERRANDS[language][draw.split], draw.fork("stairs"))
    left = list(stairs)
    said: list[str] = []
    said_of_stairs: list[str] = []
    for number, errand in enumerate(errands):
        names = _name_parts(errand, language, describer)
        if names is None:
            return None
        phrase = words.pick(_name_kind(errand, ERRANDS[language][draw.split]), frozenset(names))
        lead = words.pick(_name_place(number, len(errands)))
        if phrase is None or lead is None:
            return None
        to_thing, text = _lead_on(_name_stairs(floors, left.pop(0), language), phrase.text)
        said_of_stairs.append(to_thing)
        if errand.to is not None:
            elsewhere = _name_elsewhere(left.pop(0), language)
            names["y"] = elsewhere.replace("{y}", names["y"])
            said_of_stairs.append(elsewhere.replace("{y}", "").strip())
        for key, name in names.items():
            text = text.replace("{" + key + "}", name)
        gap = " " if language == "en" else ""
        said.append(gap.join(part for part in (lead.text, to_thing, text) if part))
    whole = "。".join(said) + "。" if language == "zh" else _join_english(said, draw.fork("joined"))
    return ErrandText(whole, said_of_stairs)


def _name_stairs(floors: PhrasePicker, stairs: StairsAhead | None, language: Language) -> str:
    if stairs is None:
        return ""
    form = "_several" if stairs.flights > 1 else "_the_stairs" if stairs.is_only else ""
    phrase = floors.pick(f"{stairs.kind}{form}", frozenset("n"))
    return "" if phrase is None else phrase.text.replace("{n}", _name_number(stairs.flights, language))


def _lead_on(stairs: str, phrase: str) -> tuple[str, str]:
    """What is said of stairs and what is to be done there, as one list: one "and", before its last member."""
    if not stairs.endswith(AND):
        return stairs, phrase
    phrase = GOES.sub("", phrase)
    return (stairs.removesuffix(AND) + "," if f"{AND} " in phrase else stairs), phrase


def _name_elsewhere(stairs: StairsAhead | None, language: Language) -> str:
    if stairs is None:
        return "{y}"
    form = ELSEWHERE[language][stairs.kind][min(stairs.flights, 2) - 1]
    return form.replace("{n}", _name_number(stairs.flights, language))


def _name_number(number: int, language: Language) -> str:
    known = NUMBERS[language]
    return known[number] if number < len(known) else str(number)


def _name_kind(errand: Errand, grammar: Grammar) -> str:
    """What is to be done; nobody pays a visit to a cup."""
    if errand.to is not None:
        return "bring"
    is_small = max(errand.thing.things[0].size) < SMALL
    return "find_small" if is_small and "find_small" in grammar else "find"


def _name_place(number: int, count: int) -> str:
    """Where an errand stands among the others."""
    if count == 1:
        return "only"
    return "first" if number == 0 else "last" if number == count - 1 else "next"


def _name_parts(errand: Errand, language: Language, describer: Describer) -> dict[str, str] | None:
    names: dict[str, str] = {}
    for key, reference in (("x", errand.thing), ("y", errand.to)):
        if reference is not None:
            name = (
                re.sub(r"\btv\b", "TV", reference.text) if language == "en" else _name_in_chinese(reference, describer)
            )
            if name is None:
                return None
            names[key] = name
    names["it"] = get_pronoun(errand.thing.description.noun) if language == "en" else "它"
    return names


def _name_in_chinese(reference: Reference, describer: Describer) -> str | None:
    room = reference.description.room
    return name_reference(reference, rooms=0 if room is None else describer.rooms_of[room.kind])


def _join_english(said: Sequence[str], draw: RandomStream) -> str:
    """A sentence each, or two in one."""
    sentences: list[str] = []
    for number, text in enumerate(said):
        is_question = bool(sentences) and sentences[-1].lower().startswith(QUESTIONS)
        if sentences and not is_question and number % 2 and draw.chance(0.5):
            sentences[-1] = (
                f"{sentences[-1]}, {text}" if text.startswith(("then", "and")) else f"{sentences[-1]}; {text}"
            )
        else:
            sentences.append(text)
    return " ".join(to_sentence(f"{text}?" if text.startswith(QUESTIONS) else text) for text in sentences)
