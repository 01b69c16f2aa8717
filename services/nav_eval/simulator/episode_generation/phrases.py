"""Sentences about ways and places, in two banks that share no template."""

from nav_eval.scene.houses.randomness import Draw, Split

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


class Phrases:
    """Says things in the templates of one split; the same words do not come twice in a row."""

    def __init__(self, banks: dict[Split, Templates], draw: Draw) -> None:
        self._bank = banks[draw.split]
        self._draw = draw
        self._last: dict[str, str] = {}

    def say(self, key: str, **parts: str) -> str:
        options = [option for option in self._bank[key] if option != self._last.get(key)]
        self._last[key] = self._draw.choice(options or self._bank[key])
        return self._last[key].format(**parts)
