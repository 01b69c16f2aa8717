"""What passes between evaluator and agent, on our side of the wire."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from numpy.typing import NDArray

from nav_eval.dataset.episode import Pose

Array: TypeAlias = NDArray[Any]

ANSWER = "answer"
"""The action of a localization task: it carries poses."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What an agent senses at one moment."""

    step: int  #: actions carried out so far
    sensors: Mapping[str, Array]  #: by the names that the task gives them
    texts: Mapping[str, str] = field(default_factory=dict)  #: sensors that are words
    between: "tuple[Observation, ...]" = ()  #: sensed between the actions of the last reply, oldest first


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """What an agent wants to do next; checked before anyone sees it."""

    name: str
    arguments: Mapping[str, float] = field(default_factory=dict)  #: finite, within the task's bounds
    poses: tuple[Pose, ...] = ()  #: localization: up to three guesses, the best first


class EndStatus(StrEnum):
    """How an episode ended, as the agent is told."""

    COMPLETED = "completed"  #: by a stop or by the step limit
    FAILED = "failed"  #: by a fault of the agent
    TIMEOUT = "timeout"  #: because the time for a reply or for the episode was up
    CANCELLED = "cancelled"  #: by the organiser, or by a fault of ours


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What an agent is told when its episode is over."""

    status: EndStatus = EndStatus.COMPLETED
    steps: int = 0  #: actions carried out
    reason: str = ""  #: one sentence where something went wrong
    metrics: Mapping[str, float] = field(default_factory=dict)  #: empty wherever scores must stay secret
