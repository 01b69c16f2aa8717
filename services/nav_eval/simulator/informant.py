"""The informant: answers what an agent asks on its way (`ask`), from templates over ground truth.

It knows the scene's annotation, the ground and the goals of the stage under way, and understands a few questions. The
same question at the same place gets the same words in every process, so a replay says it again bit for bit. Where
the task itself asks about the house (`eqa`), the informant knows the way and nothing else.
"""

import math
import re
from collections.abc import Iterable, Sequence

from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import SceneObject, Semantics
from nav_eval.scene.navigation import Ground
from nav_eval.simulator.motion import AgentState

UNKNOWN = "I do not know."
UNTOLD = "Look for yourself."
HINT = "I do not understand. Ask: Where am I? Which way is it? How far is it?"
FACTS_HINT = " Where is the sofa? Is there a sofa in the kitchen? How many chairs are there? What colour is the sofa?"
THERE = 0.5  #: metres to the goal within which there is no way to point out
_DIAGONAL = 0.41421356237309503  #: tan 22.5°: products decide the direction, so that every machine says the same
_ROOM = r"(?: in the (?P<room>.+))?"
_THING = r"(?:(?:an?|the|any) )?(?P<thing>.+?)"
_FACTS = {
    "where": re.compile(rf"(?:where (?:is|are)|(?:in )?which room (?:is|has|are)) {_THING}(?: in)?"),
    "existence": re.compile(rf"(?:is|are) there {_THING}{_ROOM}"),
    "count": re.compile(rf"how many {_THING}(?: are there)?{_ROOM}"),
    "colour": re.compile(rf"what colou?r (?:is|are) {_THING}{_ROOM}"),
}
_PLACE = re.compile(r"where am i|(?:in )?which room am i(?: in)?")
_DISTANCE = re.compile(r"how far is (?:it|the goal)")
_DIRECTION = re.compile(r"which way(?: is (?:it|the goal)| should i go)?|where should i go|where is (?:it|the goal)")


class Informant:
    """Answers the questions of one episode."""

    def __init__(self, semantics: Semantics, ground: Ground, *, tells_facts: bool) -> None:
        self._semantics, self._ground, self._tells_facts = semantics, ground, tells_facts

    def reply(self, question: str, state: AgentState, goals: Sequence[Vec3]) -> str:
        """One or two short sentences; `goals` are those of the stage under way."""
        asked = " ".join(re.sub(r"[^\w\s'-]", " ", question.lower()).split())
        if _PLACE.fullmatch(asked):
            return self._tell_place(state.position)
        if _DISTANCE.fullmatch(asked):
            return self._tell_distance(state.position, goals)
        if _DIRECTION.fullmatch(asked):
            return self._tell_direction(state, goals)
        for kind, pattern in _FACTS.items():
            match = pattern.fullmatch(asked)
            if match:
                return self._tell_fact(kind, **match.groupdict()) if self._tells_facts else UNTOLD
        return HINT + (FACTS_HINT if self._tells_facts else "")

    def _tell_place(self, position: Vec3) -> str:
        found = next((region for region in self._semantics.regions if region.contains(position)), None)
        return UNKNOWN if found is None else f"In the {found.category}."

    def _tell_distance(self, position: Vec3, goals: Sequence[Vec3]) -> str:
        metres = self._ground.geodesic_distance(position, goals) if goals else math.inf
        return f"About {math.floor(metres * 2 + 0.5) / 2:g} metres." if math.isfinite(metres) else UNKNOWN

    def _tell_direction(self, state: AgentState, goals: Sequence[Vec3]) -> str:
        """Towards the next corner of the shortest way."""
        ways = [(self._ground.geodesic_distance(state.position, goal), goal) for goal in goals]
        metres, nearest = min(ways, default=(math.inf, state.position))
        if not math.isfinite(metres):
            return UNKNOWN
        if metres < THERE:
            return "You are there."
        path = self._ground.shortest_path(state.position, nearest)
        corner = next((point for point in path[1:] if math.dist(point, state.position) >= THERE / 2), nearest)
        return _name_direction(state, corner)

    def _tell_fact(self, kind: str, thing: str, room: str | None = None) -> str:
        rooms = [region for region in self._semantics.regions if room is None or region.category == room]
        if not rooms:
            return f"There is no {room}."
        names = {region.region_id: region.category for region in rooms}
        found = [one for one in self._semantics.objects if _is_called(thing, one) and (one.region in names or not room)]
        if kind == "existence":
            return "Yes." if found else "No."
        if kind == "count":
            return f"{len(found)}."
        if not found:
            return "There is none."
        if kind == "where":
            return _list_words((names[one.region] for one in found if one.region in names), before="In the ")
        return _list_words(one.attributes["colour"] for one in found if "colour" in one.attributes)


def _name_direction(state: AgentState, point: Vec3) -> str:
    (x, _, z), (ahead_x, ahead_z) = state.position, state.forward
    ahead = (point[0] - x) * ahead_x + (point[2] - z) * ahead_z
    left = (point[0] - x) * ahead_z - (point[2] - z) * ahead_x
    side = "left" if left > 0.0 else "right"
    if abs(left) <= _DIAGONAL * abs(ahead):
        return "Straight ahead." if ahead > 0.0 else "Behind you."
    if abs(ahead) <= _DIAGONAL * abs(left):
        return f"To the {side}."
    return f"Ahead to the {side}." if ahead > 0.0 else f"Behind you to the {side}."


def _list_words(words: Iterable[str], *, before: str = "") -> str:
    """`Red and white.`; each word once, in the order of the alphabet."""
    *head, last = sorted(set(words)) or [""]
    text = before + (f"{', '.join(head)} and {last}" if head else last)
    return f"{text[:1].upper()}{text[1:]}." if last else UNKNOWN


def _is_called(word: str, thing: SceneObject) -> bool:
    """By its category or its name, one or many."""
    names = {thing.category, thing.name or thing.category} - {""}
    return any(word in (name, f"{name}s", f"{name}es", f"{name.removesuffix('f')}ves") for name in names)
