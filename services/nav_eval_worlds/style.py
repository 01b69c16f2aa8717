"""In which style a house is furnished: colours that go together, and models that somebody brought along."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class HouseStyle:
    """Holds for all rooms of a house alike."""

    name: str = ""  #: empty in houses of the first generator
    time: str = ""  #: of day, when the house is seen
    place: str = ""  #: what is outside
    wear: float = 0.35  #: how many of its surfaces show that somebody lives here; 0 to 1
    #: kind of finish → how often each colour is chosen, compared with the others; kinds that are not here are free
    colours: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    #: category → models in somebody's folder; categories that are not here are made by our own makers
    models: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


PLAIN = HouseStyle()
