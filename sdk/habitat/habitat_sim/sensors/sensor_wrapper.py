"""A sensor as the simulator knows it: where it is, what it should see, and its noise."""

from typing import Any

from habitat_sim.errors import InvalidAttachedObject
from habitat_sim.scene_graph import SceneNode
from habitat_sim.sensor import Sensor as SensorObject
from habitat_sim.sensor_specs import SensorSpec
from habitat_sim.sensors.noise_models import make_sensor_noise_model
from nav_eval_habitat.scope import OutOfScope


class Sensor:
    """What `sim.sensors` holds."""

    def __init__(self, sim: Any, sensor_object: SensorObject) -> None:
        self._sim, self._sensor_object, self._spec = sim, sensor_object, sensor_object.specification()
        if getattr(self._spec, "gpu2gpu_transfer", False):
            raise OutOfScope("gpu2gpu_transfer")
        settings = {"gpu_device_id": 0, **dict(self._spec.noise_model_kwargs)}
        self._noise_model = make_sensor_noise_model(self._spec.noise_model, settings)
        assert self._noise_model.is_valid_sensor_type(self._spec.sensor_type), (
            f"The noise model {self._spec.noise_model!r} is not for {self._spec.sensor_type.name} sensors"
        )

    @property
    def uuid(self) -> str:
        return self._spec.uuid

    @property
    def node(self) -> SceneNode:
        return self._sensor_object.node

    @property
    def object(self) -> Any:
        return self._sensor_object.object

    @property
    def sensor_object(self) -> SensorObject:
        return self._sensor_object

    @property
    def spec(self) -> SensorSpec:
        return self._spec

    def specification(self) -> SensorSpec:
        return self._spec

    def draw_observation(self) -> None:
        """Pictures are drawn when they are read."""

    def get_observation(self) -> Any:
        if not self._sensor_object.object:
            raise InvalidAttachedObject
        return self._sim.render_sensors([self])[self.uuid]

    def apply_noise(self, picture: Any) -> Any:
        return self._noise_model(picture)

    def close(self) -> None:
        """Nothing to give back: pictures belong to who read them."""
