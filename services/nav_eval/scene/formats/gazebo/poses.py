"""Where things are in SDF: poses of six or seven numbers, relative to their parent or to a frame beside them."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.formats.gazebo.xml_tree import XmlNode, parse_numbers

Matrix = NDArray[np.float64]

#: SDF is Z up; ours is Y up: (x, y, z) becomes (x, z, −y), as for every Z-up scene.
TO_OURS: Matrix = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
#: "The model itself" and its parent, in the words of SDF.
OWN_FRAMES = ("", "__model__", "world")


def read_pose(node: XmlNode | None, *, source: str) -> Matrix:
    """The pose that an element holds; none is the identity."""
    if node is None or not node.text:
        return np.eye(4)
    numbers = parse_numbers(node.text, what="<pose>", source=source)
    matrix = np.eye(4)
    matrix[:3, 3] = numbers[:3] if len(numbers) >= 3 else np.nan
    if node.attributes.get("rotation_format") == "quat_xyzw" and len(numbers) == 7:
        matrix[:3, :3] = _rotate_by_quaternion(numbers[3:])
    elif len(numbers) == 6:
        in_degrees = node.attributes.get("degrees", "").lower() in ("1", "true")
        roll, pitch, yaw = np.radians(numbers[3:]) if in_degrees else numbers[3:]
        matrix[:3, :3] = _turn(2, yaw) @ _turn(1, pitch) @ _turn(0, roll)
    else:
        raise SceneError(f"{source}: <pose> is {node.text[:60]!r}; it must be x y z roll pitch yaw.")
    return matrix


class FrameTable:
    """The frames within one model or world: its links, models and named frames."""

    def __init__(self, owner: XmlNode, *, source: str) -> None:
        self._source = source
        self._members = {child.label: child for child in owner.iterate("link", "model", "include", "frame", "joint")}
        for include in owner.iterate("include"):
            self._members[include.read_text("name")] = include
        self._members.pop("", None)

    def place(self, node: XmlNode) -> Matrix:
        """Where an element of the owner is, in the owner's frame."""
        return self._place(node, set())

    def _place(self, node: XmlNode, visited: set[str]) -> Matrix:
        pose = node.find("pose")
        frame = pose.attributes.get("relative_to", "") if pose is not None else ""
        if not frame and node.name in ("frame", "joint"):
            frame = node.attributes.get("attached_to", "") or node.read_text("child")
        return self._find(frame, visited) @ read_pose(pose, source=self._source)

    def _find(self, name: str, visited: set[str]) -> Matrix:
        if name in OWN_FRAMES:
            return np.eye(4)
        if name not in self._members:
            raise SceneError(f"{self._source}: a pose is relative to {name[:60]!r}, which is not there.")
        if name in visited:
            raise SceneError(f"{self._source}: the pose of {name[:60]!r} is cyclic: it is relative to itself.")
        return self._place(self._members[name], visited | {name})


def compose(matrices: Iterable[Matrix]) -> Matrix:
    """One after another, the outermost first."""
    whole = np.eye(4)
    for matrix in matrices:
        whole = whole @ matrix
    return whole


def make_scaling(factors: NDArray[np.float64]) -> Matrix:
    return np.diag([*factors, 1.0])


def _turn(axis: int, angle: float) -> NDArray[np.float64]:
    matrix = np.eye(3)
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix[first, first] = matrix[second, second] = np.cos(angle)
    matrix[second, first], matrix[first, second] = np.sin(angle), -np.sin(angle)
    return matrix


def _rotate_by_quaternion(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    length = float(np.linalg.norm(numbers))
    x, y, z, w = numbers / length if length > 1e-9 else (0.0, 0.0, 0.0, 1.0)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
