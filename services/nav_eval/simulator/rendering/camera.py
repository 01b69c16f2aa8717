"""Where a picture is taken from, and the one place where the projection is written down.

World: metres, right-handed, Y up. A camera looks along its own −Z, +X is right, +Y is up; yaw is
positive to the left, pitch is positive upwards. `hfov` is horizontal, pixels are square, the optical
axis meets the image in its middle: pixel (row r, column c) has its centre at (c + ½, r + ½).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import IDENTITY_ROTATION, Quaternion, Vec3
from nav_eval.simulator.rendering.errors import BadCamera

MAX_PIXELS_PER_SIDE = 8192


@dataclass(frozen=True, kw_only=True)
class Camera:
    """One view: a lens and a pose."""

    position: Vec3  #: metres
    rotation: Quaternion = IDENTITY_ROTATION  #: x, y, z, w; camera to world
    width: int = 640
    height: int = 480
    hfov: float = 90.0  #: degrees, horizontal
    near: float = 0.05  #: metres; nothing closer is seen
    far: float = 200.0  #: metres; nothing farther is seen

    def __post_init__(self) -> None:
        if not (1 <= self.width <= MAX_PIXELS_PER_SIDE and 1 <= self.height <= MAX_PIXELS_PER_SIDE):
            raise BadCamera(f"A picture of {self.width}×{self.height}: use 1 to {MAX_PIXELS_PER_SIDE} pixels per side.")
        if not 1.0 <= self.hfov <= 170.0:
            raise BadCamera(f"hfov is {self.hfov}: use 1 to 170 degrees.")
        if not 0.0 < self.near < self.far < math.inf:
            raise BadCamera(f"near {self.near} and far {self.far}: 0 < near < far is needed.")
        if not all(map(math.isfinite, (*self.position, *self.rotation))) or not any(self.rotation):
            raise BadCamera(f"Position {self.position} or rotation {self.rotation} is not a pose.")

    @classmethod
    def looking(
        cls,
        position: Vec3,
        *,
        yaw: float = 0.0,
        pitch: float = 0.0,
        roll: float = 0.0,
        width: int = 640,
        height: int = 480,
        hfov: float = 90.0,
    ) -> Self:
        """A camera by its angles in radians: yaw turns left, pitch looks up, roll leans to the left."""
        rotation = rotation_from_angles(yaw, pitch, roll)
        return cls(position=position, rotation=rotation, width=width, height=height, hfov=hfov)

    @property
    def focal_length(self) -> float:
        """In pixels; the same for both axes."""
        return 0.5 * self.width / math.tan(math.radians(self.hfov) / 2)

    @cached_property
    def world_to_clip(self) -> NDArray[np.float64]:
        """4 × 4, for column vectors. y points down the image, so that the first row read is the top one."""
        projection = np.zeros((4, 4))
        projection[0, 0] = 2 * self.focal_length / self.width
        projection[1, 1] = -2 * self.focal_length / self.height
        projection[2, 2] = -(self.far + self.near) / (self.far - self.near)
        projection[2, 3] = -2 * self.far * self.near / (self.far - self.near)
        projection[3, 2] = -1
        return projection @ self._world_to_camera()

    def _world_to_camera(self) -> NDArray[np.float64]:
        view = np.eye(4)
        view[:3, :3] = rotation_matrix(self.rotation).T
        view[:3, 3] = -view[:3, :3] @ np.asarray(self.position, dtype=np.float64)
        return view


def rotation_from_angles(yaw: float, pitch: float = 0.0, roll: float = 0.0) -> Quaternion:
    """Yaw about world Y, then pitch about the camera's X, then roll about its Z."""
    around_y = (0.0, math.sin(yaw / 2), 0.0, math.cos(yaw / 2))
    around_x = (math.sin(pitch / 2), 0.0, 0.0, math.cos(pitch / 2))
    around_z = (0.0, 0.0, math.sin(roll / 2), math.cos(roll / 2))
    return _product(_product(around_y, around_x), around_z)


def rotation_matrix(rotation: Quaternion) -> NDArray[np.float64]:
    """3 × 3; its columns are the camera's right, up and backward directions in the world."""
    x, y, z, w = np.asarray(rotation, dtype=np.float64) / math.hypot(*rotation)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def _product(p: Quaternion, q: Quaternion) -> Quaternion:
    (px, py, pz, pw), (qx, qy, qz, qw) = p, q
    return (
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
        pw * qw - px * qx - py * qy - pz * qz,
    )
