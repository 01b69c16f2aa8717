"""Cameras, bodies and motions as the evaluator states them, so that no agent hard-codes a field of view or a turn.

Metres, degrees where a name says so; right-handed, Y up, −Z ahead; quaternions x, y, z, w.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True)
class DepthRange:
    """What the numbers of a depth picture mean; it is measured along the optical axis."""

    minimum: float = 0.0  #: metres; what is closer reads as this, and so does nothing at all
    maximum: float = 0.0  #: metres; what is farther reads as this
    normalized: bool = False  #: readings are (metres − minimum) / (maximum − minimum)

    def to_metres(self, reading: Matrix) -> Matrix:
        """A picture in metres, however it was sent."""
        return self.minimum + reading * (self.maximum - self.minimum) if self.normalized else reading


@dataclass(frozen=True)
class Camera:
    """Lens and place of a camera; domain randomisation may move it a little in an episode."""

    width: int
    height: int
    hfov_degrees: float
    fx: float  #: pixels
    fy: float
    cx: float  #: pixels; the centre of the first pixel is (0.5, 0.5), so that this is width / 2
    cy: float
    position: tuple[float, ...] = (0.0, 0.0, 0.0)  #: metres from the middle of the body's foot: x right, y up, −z ahead
    rotation: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)  #: before any look_up or look_down; it looks along its own −z
    near: float = 0.0  #: metres
    far: float = 0.0
    depth: DepthRange | None = None  #: depth cameras only

    def make_intrinsics(self, *, pixel_centers: str = "half") -> Matrix:
        """The 3 × 3 matrix; with "whole" the centre of the first pixel is (0, 0), and cx = (width − 1) / 2."""
        if pixel_centers not in ("half", "whole"):
            raise ValueError(f"pixel_centers is {pixel_centers!r}; it is 'half' or 'whole'.")
        shift = 0.5 if pixel_centers == "whole" else 0.0
        return np.array([[self.fx, 0.0, self.cx - shift], [0.0, self.fy, self.cy - shift], [0.0, 0.0, 1.0]])

    def make_pose(self) -> Matrix:
        """The 4 × 4 matrix that takes points of the camera's frame into the body's."""
        x, y, z, w = self.rotation
        pose = np.eye(4)
        pose[:3, :3] = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        pose[:3, 3] = self.position
        return pose


@dataclass(frozen=True)
class Motion:
    """What one action does to the body when no argument says otherwise, walls aside."""

    forward_metres: float = 0.0
    left_degrees: float = 0.0  #: negative to the right
    up_degrees: float = 0.0  #: of the cameras; negative down
    seconds: float = 0.0  #: simulated, that a velocity is held


@dataclass(frozen=True)
class Body:
    """What moves, as collisions see it: an upright cylinder."""

    radius: float = 0.0  #: metres
    height: float = 0.0
    slides: bool = False  #: along a wall, instead of stopping at it
    max_tilt_degrees: float = 0.0  #: that look_up and look_down may add up to


def decode_camera(document: Mapping[str, Any]) -> Camera:
    """A camera as REST and WebSocket write it."""
    lens, pose, depth = document["intrinsics"], document["pose"], document.get("depth")
    return Camera(
        width=int(document["width"]),
        height=int(document["height"]),
        hfov_degrees=float(document["hfov_degrees"]),
        fx=float(lens["fx"]),
        fy=float(lens["fy"]),
        cx=float(lens["cx"]),
        cy=float(lens["cy"]),
        position=tuple(map(float, pose["position"])),
        rotation=tuple(map(float, pose["rotation"])),
        near=float(document["near"]),
        far=float(document["far"]),
        depth=None
        if depth is None
        else DepthRange(float(depth["min"]), float(depth["max"]), bool(depth["normalized"])),
    )


def encode_camera(camera: Camera) -> dict[str, Any]:
    depth = camera.depth
    told = (
        {} if depth is None else {"depth": {"min": depth.minimum, "max": depth.maximum, "normalized": depth.normalized}}
    )
    return {
        "width": camera.width,
        "height": camera.height,
        "hfov_degrees": camera.hfov_degrees,
        "intrinsics": {"fx": camera.fx, "fy": camera.fy, "cx": camera.cx, "cy": camera.cy, "pixel_centers": "half"},
        "pose": {"position": list(camera.position), "rotation": list(camera.rotation)},
        "near": camera.near,
        "far": camera.far,
        **told,
    }
