"""StreamVLN's evaluator class as an agent: `reset_memory()`, `step(0, rgb, instruction, run_model=…)`.

Its real-world server fixes the instruction in its source, so for an evaluation the class is called instead. It is
shown every frame; with every fourth one, and whenever no action is left, it runs its model and answers with actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nav_eval_sdk.agent import Agent, Episode, Observation
from nav_eval_sdk.models.numbers import name_actions

MODEL_EVERY = 4  #: steps


class StreamVlnAgent(Agent):
    """One evaluator object, one episode at a time."""

    name = "StreamVLN"

    def __init__(self, model: Any, *, camera: str = "rgb") -> None:  # noqa: ANN401
        self.sensors = (camera,)
        self._model, self._camera = model, camera
        self._queue: list[str] = []
        self._steps = 0

    def reset(self, episode: Episode) -> None:
        self._model.reset_memory()
        self._queue, self._steps = [], 0

    def act(self, observation: Observation) -> str:
        runs = self._steps % MODEL_EVERY == 0 or not self._queue
        before = getattr(self._model, "step_id", None)
        answer = self._model.step(0, observation[self._camera], observation.instruction, run_model=runs)
        if before is not None and self._model.step_id == before:  # its server counts for it
            self._model.step_id = before + 1
        self._steps += 1
        numbers = _get_numbers(answer)
        if numbers is not None:
            self._queue = name_actions(numbers)
        return self._queue.pop(0) if self._queue else "stop"


def _get_numbers(answer: Any) -> list[Any] | None:  # noqa: ANN401
    """The actions of an answer, which is a list of them, or a tuple that begins with one; None where it did not run."""
    found = answer[0] if isinstance(answer, tuple) and answer else answer
    return None if found is None or found == () else [*found] if hasattr(found, "__iter__") else [found]


def wrap_streamvln(make: Callable[[], Any], *, camera: str = "rgb") -> Callable[[], StreamVlnAgent]:
    """What `serve` takes, from whatever makes the evaluator object."""
    return lambda: StreamVlnAgent(make(), camera=camera)
