"""A rig: which cameras a body carries and how far its actions go, as a published model was trained with them."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, FieldSerializationInfo, field_serializer

from nav_eval.config.schema.scenario import ScenarioConfig
from nav_eval.config.schema.task import ActionConfig, Sensors, TaskConfig
from nav_eval.config_model import ConfigModel, Name, NonNegative, Positive, Text
from nav_eval.sensors import CameraSensor, Sensor

_PICTURES = ("rgb", "depth")  #: kinds of cameras that a rig decides about
_LENS = ("width", "height", "hfov", "position", "yaw", "pitch", "roll")
_AMOUNTS = {
    "step_size": ("move_forward",),
    "turn_angle": ("turn_left", "turn_right"),
    "tilt_angle": ("look_up", "look_down"),
}


class RigConfig(ConfigModel):
    """Cameras and motion that replace the task's own."""

    name: Name
    description: Text | None = None
    sensors: Sensors = Field(default_factory=dict)
    """Every colour and depth camera; the task's own are taken away. Ids are seen through the first of these lenses."""
    camera_height: NonNegative | None = None
    """Metres above the base; as the robot has it when not given."""
    step_size: Positive | None = None
    """Metres of `move_forward`; as the task has it when not given."""
    turn_angle: Positive | None = None
    """Degrees of `turn_left` and `turn_right`."""
    tilt_angle: Positive | None = None
    """Degrees of `look_up` and `look_down`, which the rig adds where the task lacks them."""

    @field_serializer("sensors")
    def _only_what_is_said(self, sensors: dict[str, Sensor], info: FieldSerializationInfo) -> dict[str, Any]:
        return {name: sensor.model_dump(mode=info.mode, exclude_unset=True) for name, sensor in sensors.items()}

    def apply_to_task(self, task: TaskConfig) -> TaskConfig:
        """The task as this rig lets one see and move."""
        actions = tuple(self._refine_action(action) for action in (*task.actions, *self._list_missing(task)))
        return task.model_copy(update={"sensors": self._choose_sensors(task.sensors), "actions": actions})

    def apply_to_scenario(self, scenario: ScenarioConfig) -> ScenarioConfig:
        """The scenario whose robots carry their cameras as high as the rig says."""
        if self.camera_height is None:
            return scenario
        height = {"camera_height": self.camera_height}
        return scenario.model_copy(update={"robots": tuple(r.model_copy(update=height) for r in scenario.robots)})

    def _choose_sensors(self, of_task: Mapping[str, Sensor]) -> dict[str, Sensor]:
        kept = {name: sensor for name, sensor in of_task.items() if sensor.kind not in _PICTURES}
        lens = next((sensor for sensor in self.sensors.values() if isinstance(sensor, CameraSensor)), None)
        same = {} if lens is None else {key: getattr(lens, key) for key in _LENS}
        fitted = {
            name: sensor.model_copy(update=same) if isinstance(sensor, CameraSensor) else sensor
            for name, sensor in kept.items()
        }
        return {**self.sensors, **fitted} if self.sensors else dict(of_task)

    def _refine_action(self, action: ActionConfig) -> ActionConfig:
        said = {
            amount: getattr(self, amount)
            for amount, names in _AMOUNTS.items()
            if action.name in names and getattr(self, amount) is not None
        }
        return action.model_copy(update={"params": {**action.params, **said}}) if said else action

    def _list_missing(self, task: TaskConfig) -> Iterator[ActionConfig]:
        """Looks that the task lacks; a task without actions is answered, not walked."""
        if self.tilt_angle is not None and task.actions:
            for name in _AMOUNTS["tilt_angle"]:
                if task.action(name) is None:
                    yield ActionConfig(name=name)
