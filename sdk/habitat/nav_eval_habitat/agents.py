"""`habitat:module:Class`: agents written for habitat-lab, played by our evaluator.

A class has `reset()` and `act(observations)`, or `act(observations, info, episode_id)` as NaVid's. Anything else that
can be called is a loop: it gets an environment with `reset`, `step`, `episode_over` and `get_metrics` that waits for
our evaluator (`evaluated_env`).
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from nav_eval.agents.client import AgentClient, ClientSettings
from nav_eval.agents.local_client import LocalAgentClient, load_agent_factory
from nav_eval_habitat.lab_actions import translate_action
from nav_eval_habitat.lab_observations import LabObservations, Vocabulary


@dataclass(frozen=True)
class LabDescription:
    """What the evaluator asks of every agent."""

    name: str
    version: str = ""
    sensors: tuple[str, ...] = ()
    max_episodes: int = 1
    max_actions: int = 1
    wants_between: bool = False
    metadata: dict[str, str] = field(default_factory=dict)


class LabAgent:
    """An agent of habitat-lab's as one of ours."""

    def __init__(self, agent: Any, vocabulary: Vocabulary | None = None) -> None:
        self._agent = agent
        self._translator = LabObservations(vocabulary)
        self._wants_episode = count_arguments(agent.act) >= 3
        self._is_told_episode = count_arguments(getattr(agent, "reset", lambda: None)) >= 1

    def describe(self) -> LabDescription:
        return LabDescription(name=type(self._agent).__name__)

    def reset(self, episode: Any) -> None:
        if self._is_told_episode:
            self._agent.reset(episode)
        elif hasattr(self._agent, "reset"):
            self._agent.reset()

    def act(self, observation: Any) -> dict[str, Any]:
        seen = self._translator.translate(observation)
        if self._wants_episode:
            answer = self._agent.act(seen, {}, observation.episode.episode_id)
        else:
            answer = self._agent.act(seen)
        return translate_action(answer, observation.episode.task)


def count_arguments(function: Callable[..., Any]) -> int:
    """How many must be given."""
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters)


def open_habitat_agent(address: str, settings: ClientSettings) -> AgentClient:
    """`habitat:module:Class?vocabulary=words.json`"""
    name, _, query = address.removeprefix("habitat:").partition("?")
    files = parse_qs(query).get("vocabulary", [])
    vocabulary = Vocabulary.from_file(Path(files[0])) if files else None
    return LocalAgentClient(make_agent_factory(load_agent_factory(name), vocabulary), settings)


def make_agent_factory(make: Callable[..., Any], vocabulary: Vocabulary | None = None) -> Callable[[], Any]:
    """What the evaluator calls for an agent: around a class, or around a loop."""
    if inspect.isclass(make) and hasattr(make, "act"):
        return lambda: LabAgent(make(), vocabulary)
    from nav_eval_habitat.evaluated_env import LoopAgent

    return lambda: LoopAgent(make, vocabulary)
