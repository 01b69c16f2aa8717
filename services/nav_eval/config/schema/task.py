"""What is to be done: the actions, the senses and the yardsticks of a task.

A sensor's kind is its name (`rgb`, `depth`, …), the part of its name before an underscore (`rgb_left`), or an explicit
`kind`; the specification already uses `type` for other things (`type: text`). What each kind takes is in
`nav_eval.sensors`.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    PlainValidator,
    SerializeAsAny,
    StrictBool,
    StrictStr,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from nav_eval.config_model import (
    ConfigModel,
    Flag,
    Fraction,
    Name,
    Number,
    check_unique,
    make_refusal,
    require_registered,
)
from nav_eval.records.scoring import LH_VLN_RANKING
from nav_eval.sensors import SENSORS, Sensor, list_kinds
from nav_eval.suggestions import suggest_close_match


def find_sensor_kind(name: str, settings: Mapping[str, Any]) -> str:
    """The kind of the sensor called `name`."""
    kinds = list_kinds()
    if "kind" in settings:
        kind = settings["kind"]
        if isinstance(kind, str) and kind in kinds:
            return kind
        raise make_refusal(f"has kind {kind!r}.{suggest_close_match(str(kind), kinds)} Known: {', '.join(kinds)}.")
    for candidate in (name, name.split("_", maxsplit=1)[0]):
        if candidate in kinds:
            return candidate
    if "width" in settings and "height" in settings:  # the specification's `wrist_camera: {width: 256, height: 256}`
        return "rgb"
    raise make_refusal(
        f"has a sensor {name!r}, whose kind is not clear.{suggest_close_match(name, kinds)} "
        f"Give it a `kind`: {', '.join(kinds)}."
    )


def _add_kinds(value: object) -> object:
    """Sensors by name, each with its kind; a list of names is a shorthand, and `false` takes a sensor away."""
    if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
        value = dict.fromkeys(value)
    if not isinstance(value, Mapping):
        return value
    return {str(name): _add_kind(str(name), entry) for name, entry in value.items() if entry is not False}


def _add_kind(name: str, entry: object) -> object:
    entry = {} if entry is None or entry is True else entry
    return {**entry, "kind": find_sensor_kind(name, entry)} if isinstance(entry, Mapping) else entry


def _validate_sensor(value: object, info: ValidationInfo) -> Sensor:
    """The sensor by the model of its kind, which may be a plug-in's; so the union of all kinds is never written."""
    if isinstance(value, Sensor):
        return value
    if not isinstance(value, Mapping):
        raise PydanticKnownError("model_attributes_type")
    return SENSORS.get(value["kind"]).model_validate(value, context=info.context)


class _OneOfTheKinds:
    """The JSON Schema of a sensor: one of the kinds that are installed."""

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        choices = {kind: SENSORS.get(kind).__pydantic_core_schema__ for kind in list_kinds()}
        return handler(core_schema.tagged_union_schema(choices, discriminator="kind"))


AnySensor = Annotated[SerializeAsAny[Sensor], PlainValidator(_validate_sensor), _OneOfTheKinds()]

Sensors = Annotated[dict[Name, AnySensor], BeforeValidator(_add_kinds)]


#: The parameters of the built-in actions, with the specification's defaults: metres, degrees, metres and degrees per
#: second.
BUILT_IN_ACTIONS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "stop": {},
        "move_forward": {"step_size": 0.25},
        "turn_left": {"turn_angle": 15.0},
        "turn_right": {"turn_angle": 15.0},
        "look_up": {"tilt_angle": 15.0},
        "look_down": {"tilt_angle": 15.0},
        "velocity_control": {"max_linear_speed": 0.5, "max_angular_speed": 60.0, "time_step": 0.5},
        "waypoint": {"max_distance": 5.0, "max_actions": 60.0},
        "pixel_goal": {"max_distance": 10.0, "max_actions": 60.0},
        "trajectory": {"max_distance": 5.0, "max_actions": 8.0},
        "teleport": {"max_distance": 5.0},
        "ask": {"budget": 3.0},
    }
)

#: Among them, those that a controller walks to in other actions.
GOALS = frozenset({"waypoint", "pixel_goal", "trajectory"})

#: No setting may leave these, whatever the action is called.
LIMITS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "step_size": (0.0, 10.0),
        "turn_angle": (0.0, 180.0),
        "tilt_angle": (0.0, 90.0),
        "max_linear_speed": (0.0, 20.0),
        "max_angular_speed": (0.0, 720.0),
        "time_step": (0.0, 10.0),
        "max_distance": (0.0, 100.0),
        "max_actions": (0.0, 1000.0),
        "budget": (0.0, 100.0),
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
            self._check_known(name)
            _check_limits(name, value)
        for name, (low, high) in self.bounds.items():
            self._check_known(name)
            if name not in self.params:
                raise make_refusal(f"bounds {name!r}, which is no parameter of {self.name!r}")
            if not low <= self.params[name] <= high:
                raise make_refusal(f"bounds {name} to [{low}, {high}], but its value is {self.params[name]}")
            _check_limits(name, low)
            _check_limits(name, high)
        return self

    def _check_known(self, name: str) -> None:
        allowed = BUILT_IN_ACTIONS.get(self.name)
        if allowed is not None and name not in allowed:
            takes = ", ".join(allowed) or "no parameters"
            raise make_refusal(
                f"gives {self.name!r} the parameter {name!r}.{suggest_close_match(name, allowed)} It takes {takes}."
            )

    def override_params(self, args: Mapping[str, float]) -> dict[str, float]:
        """The parameters with an agent's `args`; raises `ValueError` for what the bounds do not allow."""
        for name, value in args.items():
            if name not in self.bounds:
                may = ", ".join(self.bounds) or "none"
                raise ValueError(f"{self.name} does not take the argument {name!r}; it takes: {may}.")
            low, high = self.bounds[name]
            if not low <= value <= high:
                raise ValueError(f"{self.name}: {name} = {value} is outside [{low}, {high}].")
        return {**self.params, **args}


def _check_limits(name: str, value: float) -> None:
    low, high = LIMITS.get(name, (float("-inf"), float("inf")))
    if not low < value <= high:
        raise make_refusal(f"has {name} = {value}; it must be greater than {low:g} and at most {high:g}")


MetricName = Annotated[str, Field(min_length=1, max_length=100), require_registered("metrics")]


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
            raise make_refusal(
                f"has ranking weights that add up to {math.fsum(self.ranking.values()):g}; they must give 1"
            )
        return self


ANSWERED = ("localization", "sqa3d_qa")  #: tasks that are answered rather than walked


class TaskConfig(ConfigModel):
    """A task: what an agent may do and sense, and how it is measured."""

    type: Annotated[Name, require_registered("tasks")]
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
        check_unique((action.name for action in self.actions), what="action")
        check_unique(self.metric_names, what="metric")
        if self.actions and "stop" not in {action.name for action in self.actions}:
            raise make_refusal("has actions but no 'stop'; without it no agent can say that it has arrived")
        if not self.actions and self.type not in ANSWERED:
            raise make_refusal("has no actions; give at least 'stop'")
        if self.scoring.ranking is not None:
            unmeasured = [name for name in self.scoring.ranking if name not in self.metric_names]
            if unmeasured:
                raise make_refusal(f"ranks by {unmeasured[0]!r}, which is not among its metrics")
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
        return action.override_params(args)
