"""The baseline that reads: it finds the categories that an instruction names, in their order, and looks for them with
the semantic camera. It shows that a task can be solved by looking, and how far from the oracle that leaves one.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nav_eval.agents.baselines import (
    BaselineAgent,
    BaselineContext,
    BaselineObservation,
    find_nearest,
    get_instruction,
    is_free,
)
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.errors import ConfigError
from nav_eval.sensors import DepthSensor, SemanticSensor

CENTRED = 0.2  #: of the picture's width: a target this far off the middle is straight ahead
ARRIVED = 0.9  #: metres to the nearest pixel of the target
LEAST_PIXELS = 40
PATIENCE = 120  #: actions without a sight of the target before it is given up with a stop


class KeywordAgent(BaselineAgent):
    """Goes to the things that an instruction names, one after the other."""

    name = "keyword"

    def __init__(self, *, semantic: str, depth: str, categories: str) -> None:
        self.sensors = (semantic, depth, categories)
        self._semantic, self._depth, self._categories = semantic, depth, categories

    def reset(self, episode: PublicEpisode) -> None:
        self._instruction = get_instruction(episode)
        self._targets: list[int] | None = None
        self._unseen = 0
        self._turned = False

    def act(self, observation: BaselineObservation) -> str:
        if self._targets is None:
            names = observation.texts[self._categories].splitlines()
            self._targets = find_mentions(self._instruction, names)
        if not self._targets:
            return "stop"
        ids, depth = observation.sensors[self._semantic], observation.sensors[self._depth]
        seen = resample(ids == self._targets[0], depth.shape)
        if np.count_nonzero(seen) < LEAST_PIXELS:
            return self._look_around(depth)
        self._unseen = 0
        return self._approach(seen, depth)

    def _approach(self, seen: NDArray[np.bool_], depth: NDArray[np.float32]) -> str:
        offset = float(np.flatnonzero(seen.any(axis=0)).mean()) / seen.shape[1] - 0.5
        distances = depth[seen]
        close = float(np.min(distances[distances > 0], initial=np.inf))
        if close < ARRIVED:
            return self._next_target()
        if abs(offset) > CENTRED:
            return "turn_left" if offset < 0 else "turn_right"
        return "move_forward" if is_free(depth, low=0.4, high=0.6) else self._next_target()

    def _look_around(self, depth: NDArray[np.float32]) -> str:
        self._unseen += 1
        if self._unseen > PATIENCE:
            return self._next_target()
        if self._unseen % 20 < 12:  # a full turn first, then a walk along the wall
            return "turn_left"
        if not is_free(depth, low=1 / 3, high=2 / 3):
            return "turn_left"
        if not self._turned and find_nearest(depth, low=5 / 6, high=1.0) > 1.2:
            self._turned = True
            return "turn_right"
        self._turned = False
        return "move_forward"

    def _next_target(self) -> str:
        self._unseen = 0
        self._targets = (self._targets or [])[1:]
        return "stop"


def resample(mask: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """The same picture in another camera's pixels, each the nearest one; both have the same field of view."""
    rows, columns = (np.arange(new) * old // new for new, old in zip(shape[:2], mask.shape[:2], strict=True))
    return mask if mask.shape == shape else mask[np.ix_(rows, columns)]


def find_mentions(instruction: str, categories: Sequence[str]) -> list[int]:
    """Ids of the categories that the instruction names, in the order of their first mention.

    Of names within names the longest counts: "coffee table" is not also a "table".
    """
    places: dict[int, int] = {}
    covered: list[tuple[int, int]] = []
    by_length = sorted((-len(name), name, number) for number, name in enumerate(categories) if name)
    for _, name, number in by_length:
        for match in re.finditer(rf"\b{re.escape(name.lower())}(e?s)?\b", instruction.lower()):
            if not any(start <= match.start() < end for start, end in covered):
                covered.append(match.span())
                places[number] = min(places.get(number, match.start()), match.start())
    return sorted(places, key=lambda number: places[number])


def make_keyword_agent(context: BaselineContext) -> KeywordAgent:
    """With the cameras of a benchmark that look ahead."""
    sensors = context.benchmark.sensors()
    semantic = {name: s for name, s in sensors.items() if isinstance(s, SemanticSensor)}
    depth = {name: s for name, s in sensors.items() if isinstance(s, DepthSensor)}
    categories = [name for name, s in sensors.items() if s.kind == "categories"]
    if not (semantic and depth and categories):
        raise ConfigError(
            "The keyword agent needs a semantic, a depth and a categories sensor; this benchmark lacks one."
        )
    front = min(semantic, key=lambda name: (abs(semantic[name].yaw), name))
    ahead = min(depth, key=lambda name: (abs(depth[name].yaw - semantic[front].yaw), name))
    return KeywordAgent(semantic=front, depth=ahead, categories=categories[0])
