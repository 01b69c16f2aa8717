"""Uni-NaVid's agent class: `reset()`; `act({"instruction", "observations": frame})` gives `{"actions": [words]}`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nav_eval_sdk.agent import Agent, Episode, Observation
from nav_eval_sdk.errors import BadAnswer

ACTIONS = {"forward": "move_forward", "left": "turn_left", "right": "turn_right", "stop": "stop"}


class UniNavidAgent(Agent):
    """One model object, one episode at a time; its few actions are carried out one by one."""

    name = "Uni-NaVid"
    max_actions = 100

    def __init__(self, model: Any, *, camera: str = "rgb") -> None:  # noqa: ANN401
        self.sensors = (camera,)
        self._model, self._camera = model, camera

    def reset(self, episode: Episode) -> None:
        self._model.reset()

    def act(self, observation: Observation) -> list[str]:
        answer = self._model.act({"instruction": observation.instruction, "observations": observation[self._camera]})
        words = answer.get("actions") if isinstance(answer, dict) else answer
        if isinstance(words, str):
            words = [words]
        if not isinstance(words, (list, tuple)):
            raise BadAnswer(f"The model answered {answer!r:.100}; Uni-NaVid answers {{'actions': [words]}}.")
        return [_name_word(word) for word in words] or ["stop"]


def _name_word(word: object) -> str:
    try:
        return ACTIONS[str(word).strip().lower()]
    except KeyError:
        raise BadAnswer(f"The model answered {word!r:.60}; its actions are {', '.join(ACTIONS)}.") from None


def wrap_uninavid(make: Callable[[], Any], *, camera: str = "rgb") -> Callable[[], UniNavidAgent]:
    """What `serve` takes, from whatever makes the model object."""
    return lambda: UniNavidAgent(make(), camera=camera)
