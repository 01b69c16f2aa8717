"""Lenses that a pinhole cannot be: all around (equirectangular), and fisheye by the double-sphere model.

Six pinhole pictures around the eye are drawn and looked up pixel by pixel. Each is a little wider than a quarter, so
that no pixel needs two of them. Colour is interpolated; depth is interpolated where the four pixels around are one
surface, by its inverse, which is exact on planes; ids are those of the nearest pixel. Depth is metres along the ray of
a pixel, as there is no common axis; 0 where there is nothing. Where a fisheye sees nothing at all, everything is 0.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.records.geometry import make_rotation, multiply_rotations, to_rotation_matrix
from nav_eval.sensors import Channel, LensConfig
from nav_eval.simulator.rendering import Camera, Frame, Renderer

FINENESS = 1.5  #: pixels of a face per pixel of the picture, where the picture is finest
SAME_SURFACE = 0.05  #: share by which the depths of neighbouring pixels of one surface may differ
MOST_FACE_PIXELS = 4096

_QUARTER = math.pi / 2
#: yaw and pitch of the six faces
_FACES = ((0.0, 0.0), (_QUARTER, 0.0), (2 * _QUARTER, 0.0), (-_QUARTER, 0.0), (0.0, _QUARTER), (0.0, -_QUARTER))


class FaceLookup(NamedTuple):
    """Where each pixel of a wide picture is on the six faces."""

    face: NDArray[np.int64]  #: 0 to 5, −1 where the lens sees nothing
    row: NDArray[np.float64]  #: pixels; the centre of the first is 0
    column: NDArray[np.float64]
    stretch: NDArray[np.float64]  #: metres along the ray per metre along the axis of the face
    size: int  #: pixels along a side of a face

    @property
    def used(self) -> list[int]:
        return [int(face) for face in np.unique(self.face) if face >= 0]


@dataclass(frozen=True, kw_only=True, slots=True)
class WideLens:
    """A lens and the picture that it makes."""

    settings: LensConfig
    width: int
    height: int

    def compute_rays(self) -> NDArray[np.float64]:
        """Unit vectors, height × width × 3 (x right, y up, −z ahead); zeros where nothing is seen."""
        columns, rows = np.meshgrid(np.arange(self.width) + 0.5, np.arange(self.height) + 0.5)
        if self.settings.model == "equirectangular":
            return _compute_sphere(columns / self.width, rows / self.height)
        return self._compute_double_sphere(columns, rows)

    def _compute_double_sphere(self, columns: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Usenko, Demmel and Cremers: The Double Sphere Camera Model (2018), unprojection."""
        lens = self.settings
        focal_x, focal_y = lens.focal_length
        center_x, center_y = lens.principal_point or (self.width / 2, self.height / 2)
        x, y = (columns - center_x) / focal_x, (rows - center_y) / focal_y
        squared, alpha, xi = x * x + y * y, lens.alpha, lens.xi
        inner = 1.0 - (2.0 * alpha - 1.0) * squared
        z = (1.0 - alpha * alpha * squared) / (alpha * np.sqrt(np.maximum(inner, 0.0)) + 1.0 - alpha)
        outer = z * z + (1.0 - xi * xi) * squared
        scale = (z * xi + np.sqrt(np.maximum(outer, 0.0))) / np.maximum(z * z + squared, 1e-12)
        rays = np.stack([scale * x, -scale * y, -(scale * z - xi)], axis=-1)
        seen = (inner >= 0.0) & (outer >= 0.0)
        unit: NDArray[np.float64] = rays / np.maximum(np.linalg.norm(rays, axis=-1, keepdims=True), 1e-12)
        return np.where(seen[..., None], unit, 0.0)

    @property
    def face_pixels(self) -> int:
        """How many pixels a face needs along its side, so that it is nowhere coarser than the picture."""
        if self.settings.model == "equirectangular":
            per_radian = max(self.width / (2 * math.pi), self.height / math.pi)
        else:
            per_radian = max(self.settings.focal_length) * (1.0 + abs(self.settings.xi))
        return int(min(MOST_FACE_PIXELS, max(16, math.ceil(2.0 * FINENESS * per_radian) + 2)))


def _compute_sphere(across: NDArray[np.float64], down: NDArray[np.float64]) -> NDArray[np.float64]:
    """The middle of the picture is straight ahead, its left and right edges are behind."""
    right, up = (across - 0.5) * 2.0 * np.pi, (0.5 - down) * np.pi
    return np.stack([np.cos(up) * np.sin(right), np.sin(up), -np.cos(up) * np.cos(right)], axis=-1)


@lru_cache(maxsize=16)
def make_lookup(lens: WideLens) -> FaceLookup:
    """Which pixel of which face each pixel of the picture shows."""
    rays, size = lens.compute_rays(), lens.face_pixels
    focal_length = (size - 2) / 2.0  # a pixel more than a quarter on every side
    turned = np.stack([rays @ to_rotation_matrix(make_rotation(yaw, pitch)) for yaw, pitch in _FACES])
    ahead = -turned[..., 2]
    face = np.argmax(ahead, axis=0)
    x, y, z = (np.take_along_axis(turned[..., axis], face[None], axis=0)[0] for axis in range(3))
    seen = z < 0.0
    depth = np.where(seen, -z, 1.0)
    return FaceLookup(
        face=np.where(seen, face, -1),
        row=-y / depth * focal_length + size / 2 - 0.5,
        column=x / depth * focal_length + size / 2 - 0.5,
        stretch=1.0 / depth,
        size=size,
    )


def draw_wide_picture(
    renderer: Renderer, camera: Camera, lens: LensConfig, channels: Iterable[Channel], out: Frame | None = None
) -> Frame:
    """What a wide lens sees from where a camera is, in fresh arrays or in those of `out`."""
    wanted = frozenset(channels)
    frame = out or Frame.empty(camera.width, camera.height, wanted)
    frame.check(camera.width, camera.height, wanted)
    lookup = make_lookup(WideLens(settings=lens, width=camera.width, height=camera.height))
    for channel in wanted:
        getattr(frame, channel)[...] = 0
    for face in lookup.used:
        view = _make_face_camera(camera, lookup.size, *_FACES[face])
        drawn, here = renderer.render(view, wanted), lookup.face == face
        for channel in wanted:
            getattr(frame, channel)[here] = _sample(channel, getattr(drawn, channel), lookup, here)
    return frame


def _make_face_camera(camera: Camera, size: int, yaw: float, pitch: float) -> Camera:
    hfov = 2.0 * math.degrees(math.atan(size / (size - 2)))
    rotation = multiply_rotations(camera.rotation, make_rotation(yaw, pitch))
    return replace(camera, width=size, height=size, hfov=hfov, rotation=rotation)


def _sample(channel: Channel, picture: NDArray[Any], lookup: FaceLookup, here: NDArray[np.bool_]) -> NDArray[Any]:
    row, column = lookup.row[here], lookup.column[here]
    if channel is Channel.RGB:
        return np.rint(_interpolate(picture.astype(np.float64), row, column)).astype(np.uint8)
    nearest: NDArray[Any] = picture[np.rint(row).astype(np.int64), np.rint(column).astype(np.int64)]
    if channel is Channel.DEPTH:
        return _sample_depth(picture, nearest, (row, column), lookup.stretch[here])
    return nearest


def _sample_depth(
    picture: NDArray[np.float32],
    nearest: NDArray[np.float32],
    place: tuple[NDArray[np.float64], NDArray[np.float64]],
    stretch: NDArray[np.float64],
) -> NDArray[np.float32]:
    corners = _get_corners(picture.astype(np.float64), *place)
    least, most = np.min(corners, axis=0), np.max(corners, axis=0)
    smooth = (least > 0.0) & (most - least <= SAME_SURFACE * most)
    inverse = _interpolate(1.0 / np.where(picture > 0.0, picture, 1.0).astype(np.float64), *place)
    return (np.where(smooth, 1.0 / inverse, nearest) * stretch).astype(np.float32)


def _get_corners(picture: NDArray[np.float64], row: NDArray[np.float64], column: NDArray[np.float64]) -> list[Any]:
    top, left = np.floor(row).astype(np.int64), np.floor(column).astype(np.int64)
    last = len(picture) - 1
    return [
        picture[np.clip(top + down, 0, last), np.clip(left + across, 0, last)] for down in (0, 1) for across in (0, 1)
    ]


def _interpolate(
    picture: NDArray[np.float64], row: NDArray[np.float64], column: NDArray[np.float64]
) -> NDArray[np.float64]:
    down, across = row - np.floor(row), column - np.floor(column)
    if picture.ndim == 3:
        down, across = down[:, None], across[:, None]
    a, b, c, d = _get_corners(picture, row, column)
    blended: NDArray[np.float64] = (a * (1 - across) + b * across) * (1 - down) + (c * (1 - across) + d * across) * down
    return blended
