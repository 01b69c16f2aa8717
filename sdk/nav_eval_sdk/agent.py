"""The contract of an agent: reset on a new episode, then answer every observation with an action."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from collections.abc import Mapping
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Episode:
    """What an agent is told when an episode starts. Goals and paths are never part of it."""

    episode_id: str
    instruction: str = ""
    tokens: tuple[str, ...] = ()
    object_category: str | None = None


@dataclass(frozen=True)
class Observation:
    """One moment: every sensor that the agent asked for, by name."""

    step: int
    sensors: Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Action:
    """What to do next; arguments only where the task allows them."""

    name: str
    arguments: Mapping[str, float] = field(default_factory=dict)


class Agent(ABC):
    """Write `act`; override `reset` if the agent keeps a state between steps."""

    def reset(self, episode: Episode) -> None:
        """A new episode begins."""

    @abstractmethod
    def act(self, observation: Observation) -> Action:
        """Choose the next action."""
