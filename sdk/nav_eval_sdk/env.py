"""For code that owns the loop: an environment whose `reset` and `step` wait for the evaluator.

    env = EvaluatorEnv(sensors=["rgb"])
    while True:
        observation, info = env.reset()            # the next episode, whenever it begins
        over = False
        while not over:
            action = policy(observation["rgb"], info["instruction"])
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated

The form is Gymnasium's; with `gymnasium` installed it is a `gymnasium.Env` and has spaces from the first `reset` on.
Rewards are 0: scores stay with the evaluator. `reset` raises `NoMoreEpisodes` once the evaluation is over, which ends
a loop that nobody else ends.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import queue
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Union

import numpy as np

from nav_eval_sdk.agent import Agent, Answer, Array, Episode, Observation, Outcome
from nav_eval_sdk.errors import SdkError
from nav_eval_sdk.host import Host
from nav_eval_sdk.server import PROTOCOL_VARIABLE, get_address, start_server, stop_on_signals

gymnasium: Any = importlib.import_module("gymnasium") if importlib.util.find_spec("gymnasium") else None
_Base: Any = object if gymnasium is None else gymnasium.Env
_Event = Union[Observation, Outcome, None]


class NoMoreEpisodes(SdkError):
    """The evaluation is over: there is no further episode."""


class EpisodeNotBegun(SdkError):
    """There is no episode under way; call reset first."""


class _LoopAgent(Agent):
    """Hands every observation to the loop, and the loop's actions to the evaluator."""

    def __init__(self, env: EvaluatorEnv, **described: Any) -> None:  # noqa: ANN401
        self._env = env
        for name, value in described.items():
            setattr(self, name, value)

    def act(self, observation: Observation) -> Answer:
        return self._env.exchange(observation)

    def end(self, episode: Episode, outcome: Outcome) -> None:
        self._env.finish(outcome)


class EvaluatorEnv(_Base):  # type: ignore[misc]
    """One episode at a time, as the evaluator deals them out."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}
    render_mode = None
    reward_range = (0.0, 0.0)

    def __init__(
        self,
        *,
        sensors: Sequence[str] | Mapping[str, Sequence[str]] = (),
        name: str = "loop",
        rig: str = "",
        address: str | None = None,
        protocol: str | None = None,
    ) -> None:
        """`sensors`, `name` and `rig` are those of an `Agent`; where to serve is found out as by `serve`."""
        self._events: queue.Queue[_Event] = queue.Queue()
        self._answers: queue.Queue[Answer | None] = queue.Queue()
        self._last: Observation | None = None
        self._closed = False
        agent = _LoopAgent(self, sensors=sensors, name=name, rig=rig, max_actions=100)
        host = Host(agent)
        chosen = protocol or os.environ.get(PROTOCOL_VARIABLE, "grpc")
        self._server = start_server(chosen, host, address or get_address())
        stop_on_signals(self._server)
        host.start()
        threading.Thread(target=self._wait_for_end, name="nav-eval-env", daemon=True).start()

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Wait for the next episode. The evaluator chooses it: `seed` and `options` change nothing.

        An episode that is still under way is given up by a stop.
        """
        while self._last is not None:
            self.step("stop")
        event = self._next_event()
        while not isinstance(event, Observation):  # the end of an episode that was given up
            event = self._next_event()
        self._last = event
        self._set_spaces(event)
        return _to_dict(event), _make_info(event)

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """Answer with an action (a name, its number, an `Action`, or several) and wait for what is seen next."""
        if self._last is None:
            raise EpisodeNotBegun
        before = self._last
        self._answers.put(self._to_answer(action, before))
        event = self._next_event()
        if isinstance(event, Observation):
            self._last = event
            return _to_dict(event), 0.0, False, False, _make_info(event)
        self._last = None
        truncated = event.status != "completed"
        info = {**_make_info(before), "status": event.status, "steps": event.steps, "reason": event.reason}
        return _to_dict(before), 0.0, not truncated, truncated, info

    def close(self) -> None:
        """Stop serving; an episode under way ends with the connection."""
        if not self._closed:
            self._closed = True
            self._answers.put(None)
            self._server.stop()

    def render(self) -> None:
        """There is nothing to be shown: observations are what one sees."""

    def exchange(self, observation: Observation) -> Answer:
        """Called by the agent: give an observation to the loop and wait for its action."""
        self._events.put(observation)
        answer = self._answers.get()
        if answer is None:
            raise NoMoreEpisodes("The loop was closed in the middle of an episode.")
        return answer

    def finish(self, outcome: Outcome) -> None:
        """Called by the agent: an episode is over."""
        self._events.put(outcome)

    def _next_event(self) -> Observation | Outcome:
        event = self._events.get()
        if event is None:
            self._events.put(None)  # for whoever asks again
            raise NoMoreEpisodes
        return event

    def _wait_for_end(self) -> None:
        self._server.wait()
        self._events.put(None)

    @staticmethod
    def _to_answer(action: Any, observation: Observation) -> Answer:  # noqa: ANN401
        """Numbers count the task's actions, in its order."""
        if isinstance(action, (int, np.integer)) and not isinstance(action, bool):
            names = list(observation.episode.task.actions)
            if not 0 <= int(action) < len(names):
                raise SdkError(f"There is no action {int(action)}; the task has {len(names)}: {', '.join(names)}.")
            return names[int(action)]
        answer: Answer = action
        return answer

    def _set_spaces(self, observation: Observation) -> None:
        if gymnasium is None:
            return
        task = observation.episode.task
        self.action_space = gymnasium.spaces.Discrete(len(task.actions))
        readings = {name: _make_space(array) for name, array in observation.sensors.items()}
        texts = {name: gymnasium.spaces.Text(1 << 16) for name in observation.texts}
        self.observation_space = gymnasium.spaces.Dict({**readings, **texts})


def _make_space(array: Array) -> Any:  # noqa: ANN401
    if array.dtype.kind == "f":
        return gymnasium.spaces.Box(-np.inf, np.inf, array.shape, array.dtype.type)
    if array.dtype.kind == "b":
        return gymnasium.spaces.Box(0, 1, array.shape, np.int8)
    limits = np.iinfo(array.dtype)
    return gymnasium.spaces.Box(limits.min, limits.max, array.shape, array.dtype.type)


def _to_dict(observation: Observation) -> dict[str, Any]:
    return {**observation.sensors, **observation.texts}


def _make_info(observation: Observation) -> dict[str, Any]:
    return {
        "episode": observation.episode,
        "instruction": observation.instruction,
        "step": observation.step,
        "actions": list(observation.episode.task.actions),
    }
