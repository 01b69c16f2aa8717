"""What a step is worth to a learner. Scores are the task's business; this is only what gradients follow."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

from nav_eval.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardOptions:
    """How a reward adds up. The defaults are those that the field trains point-goal agents with."""

    success: float = 2.5  #: once, when the episode ends as a success
    subtask: float = 1.0  #: long-horizon tasks: for every sub-task that a stop closes at its goal
    progress: float = 1.0  #: per geodesic metre that a step comes nearer to the current goal
    slack: float = -0.01  #: at every step, so that dawdling costs
    collision: float = 0.0  #: at every step that ends at a wall; a penalty is negative
    wrong_stop: float = 0.0  #: for a stop that is no success; a penalty is negative

    @classmethod
    def of(cls, options: "RewardOptions | Mapping[str, float] | None") -> Self:
        """The options themselves, or defaults with some of them changed."""
        if isinstance(options, cls):
            return options
        known = [field.name for field in fields(cls)]
        for name, value in (options or {}).items():  # type: ignore[union-attr]
            if name not in known:
                raise ConfigError(f"There is no reward {name!r}; known: {', '.join(known)}.")
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise ConfigError(f"The reward {name!r} is {value!r}; it must be a number.")
        return cls(**{name: float(value) for name, value in (options or {}).items()})  # type: ignore[union-attr]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepFacts:
    """What a reward is made from."""

    metres_nearer: float  #: to the goal that was current before the step
    collided: bool
    stopped: bool
    closed_well: bool = False  #: a sub-task was closed at its goal
    success: bool = False  #: the episode ended as a success


def reward(facts: StepFacts, options: RewardOptions) -> float:
    """The sum of what applies."""
    total = options.slack + options.progress * facts.metres_nearer
    if facts.collided:
        total += options.collision
    if facts.closed_well:
        total += options.subtask
    if facts.success:
        total += options.success
    if facts.stopped and not (facts.closed_well or facts.success):
        total += options.wrong_stop
    return total
