"""Nodes that carry agents and sensors: where each is, relative to its parent.

Numbers are kept in double precision and read in single precision, so that long walks do not drift apart from those of
nav-eval's own tasks. Everything that is read is a copy.
"""

import itertools
import math
from collections.abc import Iterator
from enum import Enum
from typing import Any

import numpy as np

import magnum as mn
from magnum.angles import to_radians
from magnum.quaternions import Numbers, multiply, rotate
from nav_eval_habitat.points import to_position

Place = tuple[float, float, float]

_STILL: Place = (0.0, 0.0, 0.0)
_UNTURNED: Numbers = (0.0, 0.0, 0.0, 1.0)
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_numbers_of_nodes = itertools.count()


class SceneNodeType(Enum):
    EMPTY = 0
    SENSOR = 1
    AGENT = 2
    CAMERA = 3
    OBJECT = 4


class SceneNode:
    """A place in the scene graph."""

    def __init__(self, parent: "SceneNode | None" = None) -> None:
        self.place: Place = _STILL  #: relative to the parent
        self.turn: Numbers = _UNTURNED  #: relative to the parent
        self.scaling = mn.Vector3(1.0)
        self.children: list[SceneNode] = []
        self.sensor: Any = None  #: the sensor that hangs on this node
        self.type = SceneNodeType.EMPTY
        self.semantic_id = self.object_semantic_id = self.drawable_semantic_id = 0
        self.id = next(_numbers_of_nodes)
        self.mesh_bb = self.cumulative_bb = mn.Range3D()
        self.is_alive = True
        self._parent: SceneNode | None = None
        self.parent = parent

    @property
    def parent(self) -> "SceneNode | None":
        return self._parent

    @parent.setter
    def parent(self, parent: "SceneNode | None") -> None:
        if self._parent is not None:
            self._parent.children.remove(self)
        self._parent = parent
        if parent is not None:
            parent.children.append(self)

    def create_child(self) -> "SceneNode":
        return SceneNode(self)

    def remove(self) -> None:
        """Take the node and all below it out of the graph."""
        self.parent = None
        for node in self.walk():
            node.is_alive = False

    def walk(self) -> "Iterator[SceneNode]":
        """This node and all below it."""
        yield self
        for child in list(self.children):
            yield from child.walk()

    def find_pose(self) -> tuple[Place, Numbers]:
        """Where the node is in the world, in double precision."""
        place, turn, above = self.place, self.turn, self._parent
        while above is not None:
            if above.turn is not _UNTURNED or above.place is not _STILL:
                place = _add(above.place, rotate(above.turn, place))
                turn = multiply(above.turn, turn)
            above = above._parent
        return place, turn

    @property
    def translation(self) -> mn.Vector3:
        return mn.Vector3(*self.place)

    @translation.setter
    def translation(self, vector: Any) -> None:
        self.place = to_position(vector)

    @property
    def rotation(self) -> mn.Quaternion:
        return mn.Quaternion.from_numbers(self.turn)

    @rotation.setter
    def rotation(self, rotation: mn.Quaternion) -> None:
        self.turn = rotation.numbers

    @property
    def transformation(self) -> mn.Matrix4:
        return mn.Matrix4.from_(self.rotation.to_matrix(), self.place)

    @transformation.setter
    def transformation(self, matrix: mn.Matrix4) -> None:
        self.place = to_position(matrix.translation)
        self.turn = mn.Quaternion.from_matrix(matrix.rotation_shear()).numbers

    @property
    def absolute_translation(self) -> mn.Vector3:
        return mn.Vector3(*self.find_pose()[0])

    def absolute_position(self) -> mn.Vector3:
        """The name of `absolute_translation` in old versions."""
        return self.absolute_translation

    def absolute_transformation(self) -> mn.Matrix4:
        place, turn = self.find_pose()
        return mn.Matrix4.from_(mn.Quaternion.from_numbers(turn).to_matrix(), place)

    def absolute_transformation_matrix(self) -> mn.Matrix4:
        return self.absolute_transformation()

    def translate(self, vector: Any) -> None:
        self.place = _add(self.place, to_position(vector))

    translate_local = translate

    def rotate(self, angle: Any, axis: Any) -> None:
        """About an axis of the parent."""
        self.turn = multiply(_make_turn(angle, axis), self.turn)

    def rotate_local(self, angle: Any, axis: Any) -> None:
        """About an axis of its own."""
        self.turn = multiply(self.turn, _make_turn(angle, axis))

    def rotate_x(self, angle: Any) -> None:
        self.rotate(angle, _AXES["x"])

    def rotate_y(self, angle: Any) -> None:
        self.rotate(angle, _AXES["y"])

    def rotate_z(self, angle: Any) -> None:
        self.rotate(angle, _AXES["z"])

    def rotate_x_local(self, angle: Any) -> None:
        self.rotate_local(angle, _AXES["x"])

    def rotate_y_local(self, angle: Any) -> None:
        self.rotate_local(angle, _AXES["y"])

    def rotate_z_local(self, angle: Any) -> None:
        self.rotate_local(angle, _AXES["z"])

    def reset_transformation(self) -> None:
        self.place, self.turn = _STILL, _UNTURNED

    def compute_cumulative_bb(self) -> mn.Range3D:
        return self.cumulative_bb

    @property
    def node_sensors(self) -> "SensorView":
        return SensorView() if self.sensor is None else SensorView({self.sensor.uuid: self.sensor})

    @property
    def subtree_sensors(self) -> "SensorView":
        """All sensors on this node and below, by uuid."""
        if not self.children and self.sensor is None:
            return SensorView()
        return SensorView({node.sensor.uuid: node.sensor for node in self.walk() if node.sensor is not None})

    node_sensor_suite, subtree_sensor_suite = node_sensors, subtree_sensors


class SensorView(dict[str, Any]):
    """The sensors of a part of the graph; to delete one here is to take it off its node.

    Up to 0.3.3 agents kept a dictionary of their own, from which users deleted what the factory had deleted already.
    """

    def __delitem__(self, uuid: str) -> None:
        self.pop(uuid, None)

    def pop(self, uuid: str, *default: Any) -> Any:
        if uuid in self:
            self[uuid].node.remove()
        return super().pop(uuid, *default)


class SceneGraph:
    """A tree of nodes."""

    def __init__(self) -> None:
        self._root = SceneNode()

    def get_root_node(self) -> SceneNode:
        return self._root


def _add(first: Place, second: Place) -> Place:
    return (first[0] + second[0], first[1] + second[1], first[2] + second[2])


def _make_turn(angle: Any, axis: Any) -> Numbers:
    half = to_radians(angle) / 2
    sine = math.sin(half)
    return (float(axis[0]) * sine, float(axis[1]) * sine, float(axis[2]) * sine, math.cos(half))


def normalize(turn: Numbers) -> Numbers:
    """Of unit length again."""
    x, y, z, w = turn
    length = math.sqrt(x * x + y * y + z * z + w * w)
    return (x / length, y / length, z / length, w / length)


def round_turn(turn: Numbers) -> Numbers:
    """In single precision."""
    x, y, z, w = np.array(turn, dtype=np.float32).tolist()
    return (x, y, z, w)
