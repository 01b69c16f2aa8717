"""What the generator knows about English and about things: which can be carried, which others can be put on,
which words may mean the same. Words that are not listed are still understood: they are neither carried nor put on.
"""

import re
from collections.abc import Iterable

from nav_eval.dataset.episode import Instruction
from nav_eval.generator_version import FIRST_GENERATOR, GeneratorVersion
from nav_eval.scene.model import SceneObject

#: parts of the building, and things that nobody is sent to
NO_TARGET = frozenset(
    {
        "", "beam", "ceiling", "ceiling lamp", "curtain", "door", "door frame", "doorframe", "doorway", "floor",
        "floor mat", "frame", "object", "objects", "pillar", "railing", "range hood", "remove", "roof", "rug",
        "stair", "staircase", "stairs", "toilet paper", "unknown", "void", "wall", "window", "window frame",
    }
)  # fmt: skip

PORTABLE = frozenset(
    {
        "backpack", "bag", "ball", "basket", "book", "books", "bottle", "bowl", "box", "candle", "clothes", "cup",
        "cushion", "doll", "folded clothes", "folded towels", "hat", "jar", "kettle", "keyboard", "laptop", "mug",
        "phone", "pillow", "plate", "pot", "radio", "shoes", "soap", "storage box", "teddy bear", "toaster",
        "toolbox", "towel", "toy", "toy car", "vase",
    }
)  # fmt: skip

#: things that others are put on
SURFACES = frozenset(
    {
        "armchair", "bed", "bench", "chair", "chest", "coffee table", "console table", "couch", "counter", "desk",
        "dining table", "dresser", "kitchen counter", "kitchen island", "nightstand", "ottoman", "piano", "shelf",
        "side table", "sofa", "table", "tv stand", "workbench",
    }
)  # fmt: skip

#: surfaces to sit or lie on: nobody puts a kettle there
SEATS = frozenset({"armchair", "bed", "bench", "chair", "couch", "ottoman", "sofa"})
#: what one does put there
SOFT = frozenset(
    {
        "backpack", "bag", "book", "books", "clothes", "cushion", "doll", "folded clothes", "folded towels", "hat",
        "laptop", "pillow", "teddy bear", "towel", "toy",
    }
)  # fmt: skip

_TABLES = frozenset({"coffee table", "dining table", "side table", "table"})
_WORKTOPS = frozenset({"counter", "dining table", "kitchen counter", "kitchen island", "table"})
_SHELVING = frozenset({"chest", "dresser", "shelf"})
#: what people put where, the first line that names a thing
PLACES: tuple[tuple[frozenset[str], frozenset[str]], ...] = (
    (frozenset({"kettle", "pot", "toaster"}), _WORKTOPS),
    (frozenset({"bottle", "bowl", "plate"}), _WORKTOPS | _TABLES),
    (frozenset({"cup", "mug"}), _WORKTOPS | _TABLES | {"desk", "nightstand"}),
    (frozenset({"jar"}), _WORKTOPS | {"shelf"}),
    (frozenset({"candle", "vase"}), (_TABLES | _SHELVING | {"console table", "nightstand", "piano"}) - {"chest"}),
    (frozenset({"book", "books"}), (_TABLES | SEATS | {"desk", "nightstand", "shelf", "console table"}) - {"chair"}),
    (frozenset({"keyboard", "laptop"}), _TABLES | {"desk"}),
    (
        frozenset({"phone", "radio"}),
        _TABLES | {"console table", "desk", "dresser", "kitchen island", "nightstand", "shelf"},
    ),
    (frozenset({"clothes", "folded clothes", "hat"}), _SHELVING | {"armchair", "bed", "bench", "chair", "ottoman"}),
    (frozenset({"folded towels", "towel"}), _SHELVING | {"bed", "bench"}),
    (frozenset({"cushion", "pillow"}), SEATS),
    (frozenset({"ball", "doll", "teddy bear", "toy", "toy car"}), (_SHELVING | SEATS | {"desk"}) - {"chair"}),
    (frozenset({"shoes", "soap"}), frozenset()),  # they stay where they are
    (frozenset({"toolbox"}), frozenset({"shelf", "workbench"})),
    (frozenset({"backpack", "bag"}), _SHELVING | SEATS | {"console table", "desk", "workbench"}),
    (frozenset({"basket", "box", "storage box"}), _SHELVING | {"bench", "console table", "desk", "workbench"}),
)

#: what houses of later generators have besides, that a hand can carry
LATER_PORTABLE = frozenset(
    {
        "computer mouse", "cutting board", "document", "folder", "fruit", "knife block", "paint can", "pen holder",
        "remote control", "teapot", "tool",
    }
)  # fmt: skip
#: and where people put it; these lines are looked at first
LATER_PLACES: tuple[tuple[frozenset[str], frozenset[str]], ...] = (
    (frozenset({"toothbrush cup"}), frozenset()),  # it stays where it is
    (frozenset({"glove box"}), frozenset({"counter", "desk", "shelf", "side table"})),
    (frozenset({"remote control"}), _TABLES | {"armchair", "bed", "nightstand", "sofa", "tv stand"}),
    (frozenset({"computer mouse"}), frozenset({"desk", "dining table", "table"})),
    (frozenset({"document", "folder"}), _TABLES | {"console table", "desk", "nightstand", "shelf"}),
    (frozenset({"pen holder"}), frozenset({"console table", "desk", "shelf", "side table", "table"})),
    (frozenset({"fruit", "teapot"}), _WORKTOPS | _TABLES),
    (frozenset({"cutting board", "knife block"}), _WORKTOPS),
    (frozenset({"paint can", "tool"}), frozenset({"shelf", "workbench"})),
)

#: rooms for work and washing, and what belongs there alone
_WORK_ROOMS = frozenset({"garage", "laundry room", "storage room"})
_WORK_THINGS = frozenset({"paint can", "tool", "toolbox"})
#: what nobody takes into them, or into a bathroom
_WASH_ROOMS = frozenset({"bathroom", "restroom"})
_HOMELY_THINGS = frozenset(
    {
        "book", "books", "bowl", "computer mouse", "cup", "cushion", "document", "doll", "folder", "fruit", "keyboard",
        "laptop", "mug", "pen holder", "phone", "pillow", "plate", "remote control", "teapot", "teddy bear", "vase",
    }
)  # fmt: skip

#: places that a thing stands in front of or beside; good for finding the way
LANDMARKS = SURFACES | {
    "bathtub", "bicycle", "bookshelf", "cabinet", "car", "coat rack", "dishwasher", "dryer", "fireplace",
    "floor lamp", "kitchen cabinet", "mirror", "office chair", "plant", "pouf", "radiator", "refrigerator",
    "shower", "sink", "stool", "stove", "toilet", "trash can", "tv", "umbrella stand", "wardrobe",
    "washing machine",
}  # fmt: skip

#: a thing stands on their boards, though below their top
SHELVES = frozenset({"bookshelf", "shelf", "storage rack", "cabinet", "wardrobe"})

#: the colour of their largest part is not the colour that a person would name
COLOURLESS = frozenset({"mirror", "painting", "picture", "plant", "potted plant", "tv", "window", "sink"})

_PLURALS = frozenset(
    {"books", "building blocks", "clothes", "curtains", "folded clothes", "folded towels", "shoes", "stairs", "tyres"}
)

#: words that may be taken for each other
_SAME = (
    {"painting", "picture", "photo"},
    {"sofa", "couch"},
    {"cushion", "pillow"},
    {"trash can", "trashcan", "bin"},
    {"cup", "mug"},
    {"plant", "potted plant"},
    {"tv", "television"},
    {"chest", "box"},
    {"clothes", "folded clothes"},
    {"towel", "folded towels"},
    {"jar", "vase"},
)


def get_noun(thing: SceneObject) -> str:
    """What a person would call it; a sentence says the room anyway, so a kitchen sink is a sink."""
    if thing.name is None or thing.name in (f"kitchen {thing.category}", f"bathroom {thing.category}"):
        return thing.category
    return thing.name


def is_target(thing: SceneObject) -> bool:
    return thing.category not in NO_TARGET


def is_portable(thing: SceneObject, *, generator: GeneratorVersion = FIRST_GENERATOR) -> bool:
    """A hand can carry it: a known word, and not larger than such things are."""
    known = PORTABLE if generator == FIRST_GENERATOR else PORTABLE | LATER_PORTABLE
    return bool({thing.category, get_noun(thing)} & known) and max(thing.size) < 0.8


def is_surface(thing: SceneObject) -> bool:
    return thing.category in SURFACES


def can_be_put_on(thing: SceneObject, surface: SceneObject) -> bool:
    """Whether it is a sensible thing to ask for."""
    return surface.category not in SEATS or bool({thing.category, get_noun(thing)} & SOFT)


def is_plausible_place(thing: SceneObject, surface: SceneObject, *, room: str = "") -> bool:
    """Whether people would keep it there: books on a desk, no toaster on the TV stand, no wrench in an office."""
    names = {thing.category, get_noun(thing)}
    if room and names & _WORK_THINGS and room not in _WORK_ROOMS:
        return False
    if names & _HOMELY_THINGS and room in _WORK_ROOMS | _WASH_ROOMS:
        return False
    known = [places for nouns, places in (*LATER_PLACES, *PLACES) if names & nouns]
    return surface.category in known[0] if known else can_be_put_on(thing, surface)


def is_landmark(thing: SceneObject) -> bool:
    return thing.category in LANDMARKS and max(thing.size) >= 0.4


def is_plural(noun: str) -> bool:
    return noun in _PLURALS


def get_pronoun(noun: str) -> str:
    return "them" if is_plural(noun) else "it"


def to_plural(noun: str) -> str:
    """`bedrooms`, `shelves`, `boxes`, `dresses`."""
    if is_plural(noun):
        return noun
    if noun.endswith("shelf"):
        return noun.removesuffix("f") + "ves"
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun.removesuffix("y") + "ies"
    return noun + "s"


def get_article(noun: str, *, generator: GeneratorVersion = FIRST_GENERATOR) -> str:
    """`a chair`, `an oven`, and since the second generator `an umbrella`; several things have none: `any books`."""
    if is_plural(noun):
        return f"any {noun}"
    vowels = ("a", "e", "i", "o") if generator == FIRST_GENERATOR else ("a", "e", "i", "o", "um", "un")
    return f"an {noun}" if noun.startswith(vowels) and not noun.startswith("uni") else f"a {noun}"


def join_words(parts: Iterable[str], *, word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    *head, last = parts
    return f"{', '.join(head)} {word} {last}" if head else last


def to_sentence(text: str) -> str:
    """With a capital letter and an end."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."


def to_instruction(text: str, *, language: str = "en") -> Instruction:
    """A text as an agent gets it; Chinese in single characters."""
    tokens = tuple(re.findall(r"[a-z0-9']+|[.,;:?!，。；：？！]|[\u3400-\u9fff]", text.lower()))
    return Instruction(text=text, tokens=tokens, language=language)


def can_be_called(noun: str, thing: SceneObject) -> bool:
    """Whether somebody who hears the noun might think of this thing: "cabinet" may be the shoe cabinet."""
    heard = {_to_singular(noun)}.union(*(group for group in _SAME if noun in group))
    known = {_to_singular(word) for word in (thing.category, get_noun(thing))}
    return any(word == own or own.endswith(word) for word in heard for own in known)


def get_synonym(noun: str) -> str:
    """The one of all nouns for the same thing that stands for them."""
    return min(next((group for group in _SAME if noun in group), {noun}))


def can_be_coloured(colour: str, thing: SceneObject) -> bool:
    """Whether somebody who hears the colour might accept this thing: dark green is green, green is not dark green."""
    own = thing.attributes.get("colour")
    return own is None or own == colour or (" " not in colour and own.endswith(f" {colour}"))


def _to_singular(noun: str) -> str:
    return noun.removesuffix("s") if noun.endswith("s") and not noun.endswith("ss") else noun
