"""Controls and noise models by name."""

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any, ClassVar

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _camel_to_snake(name: str) -> str:
    return _WORD_START.sub("_", name).lower()


class _Registry:
    _mapping: ClassVar[defaultdict[str, dict[str, Any]]] = defaultdict(dict)

    @classmethod
    def register_move_fn(
        cls, controller: Any = None, *, name: str | None = None, body_action: bool | None = None
    ) -> Any:
        """Make a control available to action specs, under its own name in snake case unless another is given."""
        assert body_action is not None, "body_action must be given: does the control move the body or the sensors?"
        from habitat_sim.agent.controls.controls import SceneNodeControl

        def add(control: Any) -> Any:
            assert issubclass(control, SceneNodeControl), f"{control} must inherit from habitat_sim.SceneNodeControl"
            cls._mapping["move_fn"][name or _camel_to_snake(control.__name__)] = control(body_action)
            return control

        return add if controller is None else add(controller)

    @classmethod
    def register_noise_model(cls, noise_model: Any = None, *, name: str | None = None) -> Any:
        """Make a noise model available to sensor specs, under its class name unless another is given."""
        from habitat_sim.sensors.noise_models.sensor_noise_model import SensorNoiseModel

        def add(model: Any) -> Any:
            assert issubclass(model, SensorNoiseModel), f"{model} must inherit from SensorNoiseModel"
            cls._mapping["sensor_noise_model"][name or model.__name__] = model
            return model

        return add if noise_model is None else add(noise_model)

    @classmethod
    def register_pose_extractor(cls, pose_extractor: Any = None, *, name: str | None = None) -> Any:
        def add(extractor: Any) -> Any:
            cls._mapping["pose_extractor"][name or extractor.__name__] = extractor
            return extractor

        return add if pose_extractor is None else add(pose_extractor)

    @classmethod
    def _get_impl(cls, kind: str, name: str) -> Any:
        return cls._mapping[kind].get(name)

    @classmethod
    def get_move_fn(cls, name: str) -> Callable[..., None] | None:
        found: Callable[..., None] | None = cls._mapping["move_fn"].get(name)
        return found

    @classmethod
    def get_noise_model(cls, name: str) -> Any:
        return cls._get_impl("sensor_noise_model", name)

    @classmethod
    def get_pose_extractor(cls, name: str) -> Any:
        return cls._get_impl("pose_extractor", name)


registry = _Registry()
