"""What is to be done: the actions, the senses and the yardsticks of a task."""

import math
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictStr, model_validator

from nav_eval.config.schema.actions import ActionConfig
from nav_eval.config.schema.base import ConfigModel, Flag, Fraction, Name, Number, refusal, registered, unique
from nav_eval.config.schema.sensors import Sensors

LH_VLN_RANKING: Mapping[str, float] = {"tar": 0.4, "isr": 0.2, "csr": 0.2, "cgt": 0.2}

MetricName = Annotated[str, Field(min_length=1, max_length=100), registered("metrics")]


class MetricConfig(ConfigModel):
    """One yardstick, by name; a bare name stands for the metric with its default parameters."""

    name: MetricName
    params: dict[str, StrictBool | Number | StrictStr] = Field(default_factory=dict)
    """What the metric's own page says, e.g. `success_distance` of nDTW."""

    @model_validator(mode="before")
    @classmethod
    def _from_bare_name(cls, data: object) -> object:
        return {"name": data} if isinstance(data, str) else data


class ScoringConfig(ConfigModel):
    """How metrics become a score."""

    rule: Literal["documented", "reference"] = "documented"
    """LH-VLN: the challenge's formulas, or bit for bit what the published code computes."""
    cgt_weight: Literal["steps", "distance"] = "steps"
    """LH-VLN: what weighs a sub-task in CGT."""
    ranking: dict[MetricName, Fraction] | None = None
    """Weight of each metric in the score that ranks; the weights add up to 1."""
    max_predictions: Annotated[int, Field(strict=True, ge=1, le=3)] = 3
    """Localization: how many poses an agent may offer; SQA3D's script accepts three."""

    @model_validator(mode="after")
    def _weights_add_up(self) -> "ScoringConfig":
        if self.ranking is not None and not math.isclose(math.fsum(self.ranking.values()), 1.0, abs_tol=1e-9):
            raise refusal(f"has ranking weights that add up to {math.fsum(self.ranking.values()):g}; they must give 1")
        return self


class TaskConfig(ConfigModel):
    """A task: what an agent may do and sense, and how it is measured."""

    type: Annotated[Name, registered("tasks")]
    actions: tuple[ActionConfig, ...] = ()
    """In the order of their indices. Empty for tasks that are answered rather than walked (localization)."""
    allow_action_args: Flag = False
    """Let agents override action parameters by `action_args`, within each action's `bounds`."""
    sensors: Sensors = Field(default_factory=dict)
    """By name. `false` takes an inherited sensor away."""
    metrics: Annotated[tuple[MetricConfig, ...], Field(min_length=1)]
    scoring: ScoringConfig = ScoringConfig()

    @model_validator(mode="before")
    @classmethod
    def _lh_vln_ranks_by_the_challenges_weights(cls, data: object) -> object:
        if not isinstance(data, Mapping) or data.get("type") != "lh_vln":
            return data
        scoring = data.get("scoring", {})
        if not isinstance(scoring, Mapping) or scoring.get("ranking") is not None:
            return data
        return {**data, "scoring": {**scoring, "ranking": dict(LH_VLN_RANKING)}}

    @model_validator(mode="after")
    def _check(self) -> "TaskConfig":
        unique((action.name for action in self.actions), what="action")
        unique(self.metric_names, what="metric")
        if self.actions and "stop" not in {action.name for action in self.actions}:
            raise refusal("has actions but no 'stop'; without it no agent can say that it has arrived")
        if not self.actions and self.type != "localization":
            raise refusal("has no actions; give at least 'stop'")
        if self.scoring.ranking is not None:
            unmeasured = [name for name in self.scoring.ranking if name not in self.metric_names]
            if unmeasured:
                raise refusal(f"ranks by {unmeasured[0]!r}, which is not among its metrics")
        return self

    @property
    def metric_names(self) -> tuple[str, ...]:
        return tuple(metric.name for metric in self.metrics)

    def action(self, name: str) -> ActionConfig | None:
        return next((action for action in self.actions if action.name == name), None)

    def action_params(self, name: str, args: Mapping[str, float]) -> dict[str, float]:
        """What the action `name` does when an agent asks for it with `args`; `ValueError` when it may not."""
        action = self.action(name)
        if action is None:
            raise ValueError(f"There is no action {name!r}; this task has {', '.join(a.name for a in self.actions)}.")
        if args and not self.allow_action_args:
            raise ValueError(f"{name} came with action_args, which this task does not allow.")
        return action.overridden(args)
