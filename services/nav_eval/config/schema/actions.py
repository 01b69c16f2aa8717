"""What an agent may do."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import Field, model_validator

from nav_eval.config.schema.base import ConfigModel, Name, Number, did_you_mean, refusal

#: The parameters of the built-in actions, with the seeds' defaults: metres, degrees, metres and degrees per second.
BUILT_IN_ACTIONS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "stop": {},
        "move_forward": {"step_size": 0.25},
        "turn_left": {"turn_angle": 15.0},
        "turn_right": {"turn_angle": 15.0},
        "look_up": {"tilt_angle": 15.0},
        "look_down": {"tilt_angle": 15.0},
        "velocity_control": {
            "max_linear_speed": 0.5,
            "max_angular_speed": 60.0,
            "time_step": 0.5,
        },
    }
)

#: No setting may leave these, whatever the action is called.
LIMITS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "step_size": (0.0, 10.0),
        "turn_angle": (0.0, 180.0),
        "tilt_angle": (0.0, 90.0),
        "max_linear_speed": (0.0, 20.0),
        "max_angular_speed": (0.0, 720.0),
        "time_step": (0.0, 10.0),
    }
)


class ActionConfig(ConfigModel):
    """One action, by name; a bare name stands for the action with its default parameters."""

    name: Name
    type: Literal["discrete", "continuous"] = "discrete"
    params: dict[str, Number] = Field(default_factory=dict)
    """How far one such action goes (`step_size`, `turn_angle`, `tilt_angle`, …)."""
    bounds: dict[str, tuple[Number, Number]] = Field(default_factory=dict)
    """Which parameters an agent may override by `action_args`, and how far, where the task allows it."""

    @model_validator(mode="before")
    @classmethod
    def _from_bare_name(cls, data: object) -> object:
        if isinstance(data, str):
            data = {"name": data}
        if not isinstance(data, Mapping) or not isinstance(data.get("params", {}), Mapping):
            return data
        built_in = BUILT_IN_ACTIONS.get(str(data.get("name")), {})
        kind = {"type": "continuous"} if data.get("name") == "velocity_control" else {}
        return kind | {**data, "params": {**built_in, **data.get("params", {})}}

    @model_validator(mode="after")
    def _check(self) -> "ActionConfig":
        for name, value in self.params.items():
            self._known(name)
            _within_limits(name, value)
        for name, (low, high) in self.bounds.items():
            self._known(name)
            if name not in self.params:
                raise refusal(f"bounds {name!r}, which is no parameter of {self.name!r}")
            if not low <= self.params[name] <= high:
                raise refusal(f"bounds {name} to [{low}, {high}], but its value is {self.params[name]}")
            _within_limits(name, low)
            _within_limits(name, high)
        return self

    def _known(self, name: str) -> None:
        allowed = BUILT_IN_ACTIONS.get(self.name)
        if allowed is not None and name not in allowed:
            takes = ", ".join(allowed) or "no parameters"
            raise refusal(f"gives {self.name!r} the parameter {name!r}.{did_you_mean(name, allowed)} It takes {takes}.")

    def overridden(self, args: Mapping[str, float]) -> dict[str, float]:
        """The parameters with an agent's `args`; raises `ValueError` for what the bounds do not allow."""
        for name, value in args.items():
            if name not in self.bounds:
                may = ", ".join(self.bounds) or "none"
                raise ValueError(f"{self.name} does not take the argument {name!r}; it takes: {may}.")
            low, high = self.bounds[name]
            if not low <= value <= high:
                raise ValueError(f"{self.name}: {name} = {value} is outside [{low}, {high}].")
        return {**self.params, **args}


def _within_limits(name: str, value: float) -> None:
    low, high = LIMITS.get(name, (float("-inf"), float("inf")))
    if not low < value <= high:
        raise refusal(f"has {name} = {value}; it must be greater than {low:g} and at most {high:g}")
