"""An agent: a node with sensors on it, the actions it may take, and its state."""

from typing import Any

import attr
import numpy as np
import quaternion as qt
from numpy.typing import NDArray

import magnum as mn
from habitat_sim.agent.controls import ActuationSpec, ObjectControls
from habitat_sim.errors import InvalidAttachedObject
from habitat_sim.registry import registry
from habitat_sim.scene_graph import SceneNode, SceneNodeType, SensorView, normalize
from habitat_sim.sensor import SensorFactory
from habitat_sim.utils.validators import all_is_finite, is_unit_length, value_is_validated
from magnum.quaternions import Numbers, multiply, rotate
from nav_eval_habitat.points import to_position


@attr.s(auto_attribs=True)
class ActionSpec:
    """Which control, and how much."""

    name: str
    actuation: Any = None


def _make_action_space() -> dict[Any, ActionSpec]:
    amounts = {"move_forward": 0.25, "turn_left": 10.0, "turn_right": 10.0}
    return {name: ActionSpec(name, ActuationSpec(amount=amount)) for name, amount in amounts.items()}


def _make_origin() -> NDArray[np.float64]:
    return np.zeros(3)


def _make_unturned() -> qt.quaternion:
    return qt.quaternion(1, 0, 0, 0)


@attr.s(auto_attribs=True, slots=True)
class SixDOFPose:
    position: Any = attr.ib(factory=_make_origin, validator=all_is_finite)
    rotation: Any = attr.ib(factory=_make_unturned, validator=is_unit_length)


@attr.s(auto_attribs=True, slots=True)
class AgentState:
    """Where the body is, and each of its sensors in the world."""

    position: Any = attr.ib(factory=_make_origin, validator=all_is_finite)
    rotation: Any = attr.ib(factory=_make_unturned, validator=is_unit_length)
    sensor_states: dict[str, SixDOFPose] = attr.ib(
        factory=dict,
        validator=attr.validators.deep_mapping(
            key_validator=attr.validators.instance_of(str),
            value_validator=value_is_validated,
            mapping_validator=attr.validators.instance_of(dict),
        ),
    )


@attr.s(auto_attribs=True, slots=True)
class AgentConfiguration:
    """The body, its sensors, and what it can do. Fields after `body_type` are of 0.1.7 and unused."""

    height: float = 1.5
    radius: float = 0.1
    sensor_specifications: list[Any] = attr.Factory(list)
    action_space: dict[Any, ActionSpec] = attr.Factory(_make_action_space)
    body_type: str = "cylinder"
    mass: float = 32.0
    linear_acceleration: float = 20.0
    angular_acceleration: float = 4 * np.pi
    linear_friction: float = 0.5
    angular_friction: float = 1.0
    coefficient_of_restitution: float = 0.0


class Agent:
    """A body in the scene graph."""

    def __init__(
        self,
        scene_node: SceneNode,
        agent_config: AgentConfiguration | None = None,
        controls: ObjectControls | None = None,
    ) -> None:
        self.agent_config = agent_config or AgentConfiguration()
        self.controls = controls or ObjectControls()
        self.body = mn.scenegraph.AbstractFeature3D(scene_node)
        self.initial_state: AgentState | None = None
        scene_node.type = SceneNodeType.AGENT
        self.reconfigure(self.agent_config)

    @property
    def scene_node(self) -> SceneNode:
        node: SceneNode | None = self.body.object
        if node is None:
            raise InvalidAttachedObject
        return node

    @property
    def sensors(self) -> SensorView:
        """The sensors that hang on the body, whoever hung them there."""
        return self.scene_node.subtree_sensors

    _sensors = sensors

    def reconfigure(self, agent_config: AgentConfiguration, reconfigure_sensors: bool = True) -> None:
        node = self.scene_node
        self.agent_config = agent_config
        if reconfigure_sensors:
            for sensor in list(self.sensors.values()):
                SensorFactory.delete_sensor(sensor)
            SensorFactory.create_sensors(node, agent_config.sensor_specifications)

    def act(self, action_id: Any) -> bool:
        """Take an action; true if the body collided."""
        action = self.agent_config.action_space.get(action_id)
        assert action is not None, f"There is no action {action_id!r} in the action space"
        control = registry.get_move_fn(action.name)
        assert control is not None, f"No control is registered under the name {action.name!r}"
        if control.body_action:  # type: ignore[attr-defined]
            return self.controls.action(self.scene_node, action.name, action.actuation, True)
        for sensor in self.sensors.values():
            self.controls.action(sensor.node, action.name, action.actuation, False)
        return False

    def get_state(self) -> AgentState:
        return self.make_state(self.scene_node.find_pose())

    def make_state(self, pose: tuple[Any, Numbers]) -> AgentState:
        """The state of an agent that stands there."""
        place, turn = pose
        state = AgentState.__new__(AgentState)
        state.position = np.array(place, dtype=np.float32)
        state.rotation = _make_quaternion(turn)
        state.sensor_states = {uuid: _make_pose(place, turn, sensor.node) for uuid, sensor in self.sensors.items()}
        return state

    def set_state(
        self,
        state: AgentState,
        reset_sensors: bool = True,
        infer_sensor_states: bool = True,
        is_initial: bool = False,
    ) -> None:
        """Put the body somewhere; sensors go along unless the state says where they are."""
        attr.validate(state)
        node = self.scene_node
        node.place, node.turn = to_position(state.position), normalize(_to_numbers(state.rotation))
        if reset_sensors:
            for sensor in self.sensors.values():
                sensor.set_transformation_from_spec()
        if not infer_sensor_states:
            self._put_sensors(state)
        if is_initial:
            self.initial_state = state

    def _put_sensors(self, state: AgentState) -> None:
        sensors, node = self.sensors, self.scene_node
        x, y, z, w = node.turn
        back = (-x, -y, -z, w)
        for uuid, pose in state.sensor_states.items():
            assert uuid in sensors, f"The agent has no sensor {uuid!r}"
            offset = np.asarray(to_position(pose.position)) - node.place
            sensors[uuid].node.place = rotate(back, offset)
            sensors[uuid].node.turn = multiply(back, _to_numbers(pose.rotation))

    @property
    def state(self) -> AgentState:
        return self.get_state()

    @state.setter
    def state(self, state: AgentState) -> None:
        self.set_state(state, reset_sensors=True, infer_sensor_states=True, is_initial=False)

    def close(self) -> None:
        """Take the agent out of the scene graph."""
        if self.body.object is not None:
            self.body.object.remove()


def _make_quaternion(turn: Numbers) -> qt.quaternion:
    x, y, z, w = np.array(turn, dtype=np.float32).tolist()
    return qt.quaternion(w, x, y, z)


def _make_pose(place: Any, turn: Numbers, node: SceneNode) -> SixDOFPose:
    pose = SixDOFPose.__new__(SixDOFPose)
    offset = rotate(turn, node.place)
    pose.position = np.array([a + b for a, b in zip(place, offset, strict=True)], dtype=np.float32)
    pose.rotation = _make_quaternion(multiply(turn, node.turn))
    return pose


def _to_numbers(rotation: Any) -> Numbers:
    """x, y, z, w of a rotation in any of the forms that Habitat takes."""
    if isinstance(rotation, mn.Quaternion):
        return rotation.numbers
    if isinstance(rotation, qt.quaternion):
        return (rotation.x, rotation.y, rotation.z, rotation.w)
    x, y, z, w = (float(number) for number in rotation)
    return (x, y, z, w)


__all__ = ["ActionSpec", "Agent", "AgentConfiguration", "AgentState", "SixDOFPose"]
