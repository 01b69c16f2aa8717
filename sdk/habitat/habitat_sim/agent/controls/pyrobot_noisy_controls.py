"""Motion as measured on two robots of the PyRobot project (https://pyrobot.org): what was asked for, plus noise.

Numbers are the published means and variances; every draw is cut off at three standard deviations. Draws come from
numpy's global generator, through scipy.
"""

from collections.abc import Sequence
from typing import Any

import attr
import numpy as np
from numpy.typing import NDArray

import magnum as mn
from habitat_sim.agent.controls.controls import ActuationSpec, SceneNodeControl
from habitat_sim.registry import registry
from habitat_sim.scene_graph import SceneNode

_SIGMAS = 3.0
_LEAST_SHARE = 0.95  #: of what was asked for, that noise may take away


class TruncatedGaussian:
    """Independent along each axis."""

    def __init__(self, mean: Sequence[float], variance: Sequence[float]) -> None:
        self.mean, self.cov = np.array(mean), np.diag(np.array(variance))

    def sample(self, lowest: float | None = None) -> NDArray[np.float64]:
        """A draw whose first number is above `lowest`."""
        from scipy.stats import truncnorm

        deviations = np.sqrt(np.diagonal(self.cov))
        drawn = np.array(self.mean, dtype=np.float64)
        for axis, (mean, deviation) in enumerate(zip(self.mean, deviations, strict=True)):
            if deviation == 0.0:
                continue
            from_below = -_SIGMAS
            if lowest is not None and axis == 0:
                from_below = max((lowest - mean) / deviation, from_below)
            drawn[axis] = truncnorm.rvs(from_below, _SIGMAS, mean, deviation)
        return drawn


@attr.s(auto_attribs=True, slots=True)
class MotionNoiseModel:
    linear: TruncatedGaussian  #: metres: along, across
    rotation: TruncatedGaussian  #: radians


@attr.s(auto_attribs=True, slots=True)
class ControllerNoiseModel:
    linear_motion: MotionNoiseModel
    rotational_motion: MotionNoiseModel


@attr.s(auto_attribs=True, slots=True)
class RobotNoiseModel:
    ILQR: ControllerNoiseModel
    Proportional: ControllerNoiseModel
    Movebase: ControllerNoiseModel

    def __getitem__(self, controller: str) -> ControllerNoiseModel:
        model: ControllerNoiseModel = getattr(self, controller)
        return model


#: robot → controller → for steps and for turns: mean and variance of (along, across), then of the angle
_MEASURED: dict[str, dict[str, tuple[tuple[tuple[float, ...], ...], ...]]] = {
    "LoCoBot": {
        "ILQR": (
            ((0.014, 0.009), (0.006, 0.005), (0.008,), (0.004,)),
            ((0.003, 0.003), (0.002, 0.003), (0.023,), (0.012,)),
        ),
        "Proportional": (
            ((0.017, 0.042), (0.007, 0.023), (0.031,), (0.026,)),
            ((0.001, 0.005), (0.001, 0.004), (0.043,), (0.017,)),
        ),
        "Movebase": (
            ((0.074, 0.036), (0.019, 0.033), (0.189,), (0.038,)),
            ((0.002, 0.003), (0.0, 0.002), (0.219,), (0.019,)),
        ),
    },
    "LoCoBot-Lite": {
        "ILQR": (
            ((0.142, 0.023), (0.008, 0.008), (0.031,), (0.028,)),
            ((0.002, 0.002), (0.001, 0.002), (0.122,), (0.03,)),
        ),
        "Proportional": (
            ((0.135, 0.043), (0.007, 0.009), (0.049,), (0.009,)),
            ((0.002, 0.002), (0.002, 0.001), (0.054,), (0.061,)),
        ),
        "Movebase": (
            ((0.192, 0.117), (0.055, 0.144), (0.128,), (0.143,)),
            ((0.002, 0.001), (0.001, 0.001), (0.173,), (0.025,)),
        ),
    },
}


def _make_motion(row: tuple[tuple[float, ...], ...]) -> MotionNoiseModel:
    return MotionNoiseModel(TruncatedGaussian(row[0], row[1]), TruncatedGaussian(row[2], row[3]))


pyrobot_noise_models = {
    robot: RobotNoiseModel(
        **{name: ControllerNoiseModel(*(_make_motion(row) for row in rows)) for name, rows in controllers.items()}
    )
    for robot, controllers in _MEASURED.items()
}


@attr.s(auto_attribs=True)
class PyRobotNoisyActuationSpec(ActuationSpec):
    robot: str = attr.ib(default="LoCoBot")
    controller: str = attr.ib(default="ILQR")
    noise_multiplier: float = 1.0

    def __attrs_post_init__(self) -> None:
        assert self.robot in _MEASURED, f"There is no robot {self.robot!r}; there are {', '.join(_MEASURED)}"
        controllers = _MEASURED[self.robot]
        assert self.controller in controllers, f"{self.controller!r} is not one of {', '.join(controllers)}"


def _get_model(spec: Any, *, turns: bool) -> MotionNoiseModel:
    assert isinstance(spec, PyRobotNoisyActuationSpec), f"{spec} is not a PyRobotNoisyActuationSpec"
    controller = pyrobot_noise_models[spec.robot][spec.controller]
    return controller.rotational_motion if turns else controller.linear_motion


def _get_sign(amount: float) -> float:
    return -1.0 if amount < 0 else 1.0


def _move(node: SceneNode, spec: Any, metres: float) -> None:
    model = _get_model(spec, turns=False)
    shift = spec.noise_multiplier * model.linear.sample(-_LEAST_SHARE * abs(metres)) * _get_sign(metres)
    angle = spec.noise_multiplier * model.rotation.sample()
    _apply(node, metres, 0.0, shift, angle)


def _turn(node: SceneNode, spec: Any, degrees: float) -> None:
    model = _get_model(spec, turns=True)
    shift = spec.noise_multiplier * model.linear.sample()
    least = -_LEAST_SHARE * abs(np.deg2rad(degrees))
    angle = spec.noise_multiplier * model.rotation.sample(least) * _get_sign(degrees)
    _apply(node, 0.0, degrees, shift, angle)


def _apply(node: SceneNode, metres: float, degrees: float, shift: Any, angle: Any) -> None:
    axes = np.asarray(node.transformation, dtype=np.float64)
    node.translate_local(-axes[:3, 2] * (metres + shift[0]) + axes[:3, 0] * shift[1])
    node.rotate_y_local(mn.Deg(degrees) + mn.Rad(float(angle[0])))
    node.rotation = node.rotation.normalized()


@registry.register_move_fn(body_action=True)
class PyrobotNoisyMoveBackward(SceneNodeControl):
    def __call__(self, scene_node: Any, actuation_spec: Any) -> None:
        _move(scene_node, actuation_spec, -actuation_spec.amount)


@registry.register_move_fn(body_action=True)
class PyrobotNoisyMoveForward(SceneNodeControl):
    def __call__(self, scene_node: Any, actuation_spec: Any) -> None:
        _move(scene_node, actuation_spec, actuation_spec.amount)


@registry.register_move_fn(body_action=True)
class PyrobotNoisyTurnLeft(SceneNodeControl):
    def __call__(self, scene_node: Any, actuation_spec: Any) -> None:
        _turn(scene_node, actuation_spec, actuation_spec.amount)


@registry.register_move_fn(body_action=True)
class PyrobotNoisyTurnRight(SceneNodeControl):
    def __call__(self, scene_node: Any, actuation_spec: Any) -> None:
        _turn(scene_node, actuation_spec, -actuation_spec.amount)
