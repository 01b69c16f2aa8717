"""Where a picture is taken from, what it delivers, and the one place where the projection is written down.

World: metres, right-handed, Y up. A camera looks along its own −Z, +X is right, +Y is up; yaw is
positive to the left, pitch is positive upwards. `hfov` is horizontal, pixels are square, the optical
axis meets the image in its middle: pixel (row r, column c) has its centre at (c + ½, r + ½). A frame holds one
array per channel that was asked for.

Culling and occlusion share `project_chunk`: 64 lanes of plain single-precision arithmetic, relative to the eye, that
compile to vector instructions. Window coordinates have y down, so a front face is clockwise, its doubled area negative.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_inline, compile_nogil_kernel
from nav_eval.errors import BadCamera
from nav_eval.records.geometry import (
    IDENTITY_ROTATION,
    Quaternion,
    Vec3,
    make_rotation,
    rotate_vector,
)
from nav_eval.sensors import Channel
from nav_eval.simulator.rendering.prepared_scene import CHUNK_TRIANGLES as LANES

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
    def from_angles(
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
        rotation = make_rotation(yaw, pitch, roll)
        return cls(position=position, rotation=rotation, width=width, height=height, hfov=hfov)

    @property
    def focal_length(self) -> float:
        """In pixels; the same for both axes."""
        return 0.5 * self.width / math.tan(math.radians(self.hfov) / 2)

    @cached_property
    def world_to_clip(self) -> NDArray[np.float64]:
        """4 × 4, for column vectors. y points down the image, so that the first row read is the top one."""
        clip: NDArray[np.float64] = KernelCameras.of([self], 0.0).clip[0]
        return clip

    def find_point(self, u: float, v: float, *, depth: float) -> Vec3 | None:
        """The place in the world that a pixel shows at this depth; None for a depth of 0, which is nothing."""
        if not depth > 0.0:
            return None
        across, down = (u - self.width / 2) / self.focal_length, (v - self.height / 2) / self.focal_length
        x, y, z = rotate_vector(self.rotation, (across * depth, -down * depth, -depth))
        return (self.position[0] + x, self.position[1] + y, self.position[2] + z)


ALL_CHANNELS = frozenset(Channel)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Frame:
    """One picture. Channels that were not asked for are None; the first row is the top of the image."""

    rgb: NDArray[np.uint8] | None = None
    depth: NDArray[np.float32] | None = None
    semantic: NDArray[np.int32] | None = None
    instance: NDArray[np.uint32] | None = None

    @classmethod
    def empty(cls, width: int, height: int, channels: Iterable[Channel]) -> Self:
        """Fresh arrays, not yet filled."""
        return cls(**{str(channel): np.empty(channel.shape(width, height), channel.dtype) for channel in channels})

    def split(self, count: int) -> list[Self]:
        """The pictures that lie below each other in this one, all of the same height."""
        channels = {name: array for name in map(str, Channel) if (array := getattr(self, name)) is not None}
        parts = {name: array.reshape(count, -1, *array.shape[1:]) for name, array in channels.items()}
        return [type(self)(**{name: array[number] for name, array in parts.items()}) for number in range(count)]

    def check(self, width: int, height: int, channels: Iterable[Channel]) -> None:
        """Refuse arrays that a picture of this size cannot be written into."""
        for channel in channels:
            array = getattr(self, channel)
            shape, dtype = channel.shape(width, height), channel.dtype
            if array is None or array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
                found = "nothing" if array is None else f"{array.dtype}{array.shape}"
                raise BadCamera(f"{channel} needs a C-contiguous {dtype}{shape} array, got {found}.")


F = TypeVar("F", bound=np.floating[Any])

SLACK = 1.0 / 32.0
"""Pixels. OpenGL snaps vertices to 1/256 of a pixel; this is far more."""
GRID = 1.0 / 256.0
"""Pixels. OpenGL's own grid. A thinner triangle would be drawn at a depth that rounding decides: it is left out."""
GUARD = 0.3
"""Metres. The window coordinates of a triangle that comes closer to the eye plane reject nothing,"""
REACH = 8192.0
"""nor do those of one that reaches that many pixels far."""
BESIDE = 0.01
"""Metres. Such a triangle is rejected if all its corners lie that far beyond one side of the view, in clip space."""

SLIVER, MISSES, HITS, UNCLEAR = np.uint8(0), np.uint8(1), np.uint8(2), np.uint8(3)
"""What becomes of a triangle: never drawn; surely touches no pixel; may touch pixels; too near to tell. The last two
are those with the second bit."""

TOLERANCE = 2e-5
"""Relative, for depths in single precision."""

_SURE = np.float32(1.0 - TOLERANCE)
_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
_GUARD, _REACH, _GRID = np.float32(GUARD), np.float32(REACH), np.float32(GRID)
_BESIDE = np.float32(BESIDE)


class KernelCamera(NamedTuple):
    """A camera as the kernels want it."""

    matrix: NDArray[np.float64]  #: world to window: rows give x·w and y·w in pixels, and w in metres
    turn: NDArray[np.float32]  #: the same without the translation, for points relative to the eye
    planes: NDArray[np.float64]  #: 6 × 4, pointing inwards; the near plane first, as it rejects most
    eye: NDArray[np.float64]
    width: int
    height: int
    rounding: float  #: pixels, for a vertex 1 m away: how far single precision in the vertex shader can move it
    relative: float  #: the same for depths: the relative error 1 m away
    depth_step: float  #: what one step of a 24-bit depth buffer is worth in 1/w

    @classmethod
    def of(cls, camera: Camera, scene_size: float) -> "KernelCamera":
        return get_view(KernelCameras.of([camera], scene_size), 0)


class KernelCameras(NamedTuple):
    """Cameras whose pictures have one size; each is a row, see `KernelCamera`."""

    clip: NDArray[np.float64]  #: N × 4 × 4, world to clip space, for column vectors
    matrix: NDArray[np.float64]
    turn: NDArray[np.float32]
    planes: NDArray[np.float64]
    eye: NDArray[np.float64]
    width: int
    height: int
    margins: NDArray[np.float64]  #: N × 3: `rounding`, `relative` and `depth_step`

    @classmethod
    def of(cls, cameras: Sequence[Camera], scene_size: float) -> "KernelCameras":
        """`scene_size` is the largest coordinate of what they look at."""
        count, first = len(cameras), cameras[0]
        lenses = [(*each.position, *each.rotation, each.focal_length, each.near, each.far) for each in cameras]
        made = cls(
            clip=np.zeros((count, 4, 4)),
            matrix=np.empty((count, 3, 4)),
            turn=np.empty((count, 3, 3), dtype=np.float32),
            planes=np.empty((count, 6, 4)),
            eye=np.empty((count, 3)),
            width=first.width,
            height=first.height,
            margins=np.empty((count, 3)),
        )
        _place_cameras(np.array(lenses), scene_size, made)
        return made


@compile_nogil_kernel
def _place_cameras(lenses: NDArray[np.float64], scene_size: float, out: KernelCameras) -> None:
    """From positions, rotations, focal lengths, near and far planes; here the projection is written down."""
    axes = np.empty((3, 4))
    for i in range(len(lenses)):
        focal, near, far = lenses[i, 7], lenses[i, 8], lenses[i, 9]
        out.eye[i] = lenses[i, :3]
        _fill_axes(lenses[i], axes)
        clip = out.clip[i]
        clip[0] = axes[0] * (2 * focal / out.width)
        clip[1] = axes[1] * (-2 * focal / out.height)
        clip[2] = axes[2] * (-(far + near) / (far - near))
        clip[2, 3] -= 2 * far * near / (far - near)
        clip[3] = -axes[2]
        _fill_windows(clip, out, i)
        error = (scene_size + np.abs(out.eye[i]).max()) * 2.0**-21
        out.margins[i, 0], out.margins[i, 1] = focal * error, 2 * error
        out.margins[i, 2] = (1 / near - 1 / far) * 2.0**-24


@compile_nogil_inline
def _fill_axes(lens: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """3 × 4, from the world to the camera's right, up and back."""
    length = np.sqrt(lens[3] * lens[3] + lens[4] * lens[4] + lens[5] * lens[5] + lens[6] * lens[6])
    x, y, z, w = lens[3] / length, lens[4] / length, lens[5] / length, lens[6] / length
    out[0, 0], out[0, 1], out[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)
    out[1, 0], out[1, 1], out[1, 2] = 2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)
    out[2, 0], out[2, 1], out[2, 2] = 2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)
    for row in range(3):
        out[row, 3] = -(out[row, 0] * lens[0] + out[row, 1] * lens[1] + out[row, 2] * lens[2])


@compile_nogil_inline
def _fill_windows(clip: NDArray[np.float64], out: KernelCameras, i: int) -> None:
    """What follows from the projection alone."""
    for k in range(4):
        out.matrix[i, 0, k] = 0.5 * out.width * (clip[0, k] + clip[3, k])
        out.matrix[i, 1, k] = 0.5 * out.height * (clip[1, k] + clip[3, k])
        out.matrix[i, 2, k] = clip[3, k]
        for row in range(3):
            out.planes[i, row, k] = clip[3, k] + clip[2 - row, k]
            out.planes[i, row + 3, k] = clip[3, k] - clip[2 - row, k]
    for row in range(3):
        for k in range(3):
            out.turn[i, row, k] = out.matrix[i, row, k]


@compile_nogil_inline
def get_view(cameras: KernelCameras, index: int) -> KernelCamera:
    """One of several."""
    return KernelCamera(
        cameras.matrix[index],
        cameras.turn[index],
        cameras.planes[index],
        cameras.eye[index],
        cameras.width,
        cameras.height,
        cameras.margins[index, 0],
        cameras.margins[index, 1],
        cameras.margins[index, 2],
    )


class ProjectedChunk(NamedTuple):
    """A chunk after projection. Flat arrays with constant offsets: otherwise LLVM does not vectorise."""

    points: NDArray[np.float32]
    """9 · 64: x, y in pixels and q = 1/w, which is linear across the window; corner after corner, each 64 lanes."""
    spans: NDArray[np.float32]
    """5 · 64: left, right, top and bottom of what a triangle may cover, and the distance of whatever hides it."""
    fate: NDArray[np.uint8]  #: 64, one of SLIVER, MISSES, HITS, UNCLEAR


@compile_nogil_kernel
def make_projected_chunk() -> ProjectedChunk:
    points, spans = np.empty(9 * LANES, dtype=np.float32), np.empty(5 * LANES, dtype=np.float32)
    return ProjectedChunk(points, spans, np.empty(LANES, dtype=np.uint8))


_LOW_BITS, _GATHER_BITS = np.uint64(0x0101010101010101), np.uint64(0x0102040810204080)


@compile_nogil_inline
def list_drawable(window: ProjectedChunk, count: int, reject: bool) -> np.uint64:
    """A bit for each of the first `count` triangles that is no sliver and (`reject`) does not surely miss all pixels.

    Eight fates at a time: the product brings one bit of each byte together in the highest byte.
    """
    drawable = np.uint64(0)
    fates = window.fate.view(np.uint64)
    for k in range(LANES // 8):
        kept = fates[k] >> np.uint64(1) if reject else fates[k] | fates[k] >> np.uint64(1)
        drawable |= ((kept & _LOW_BITS) * _GATHER_BITS) >> np.uint64(56) << np.uint64(8 * k)
    return drawable & (~np.uint64(0) >> np.uint64(LANES - count))


@compile_nogil_inline
def _find_least(a: F, b: F, c: F) -> F:
    """min() would spend instructions on what is not a number."""
    d = a if a < b else b
    return d if d < c else c


@compile_nogil_inline
def _find_most(a: F, b: F, c: F) -> F:
    d = a if a > b else b
    return d if d > c else c


@compile_nogil_inline
def project_chunk(
    block: NDArray[np.float32], count: int, view: KernelCamera, spread: float, window: ProjectedChunk
) -> None:
    """Fill `window` for the first `count` lanes; `spread` widens every triangle by that many pixels.

    A sliver is a triangle whose smallest height is below OpenGL's grid. What is not a sliver covers no
    pixel centre farther outside itself than that height, so its depth there is wrong by no more than its
    own depth range. So a pixel nearer than `spans[4]` hides it, whatever rounding does.
    """
    m = view.turn
    m00, m01, m02 = m[0, 0], m[0, 1], m[0, 2]
    m10, m11, m12 = m[1, 0], m[1, 1], m[1, 2]
    m20, m21, m22 = m[2, 0], m[2, 1], m[2, 2]
    ex, ey, ez = np.float32(view.eye[0]), np.float32(view.eye[1]), np.float32(view.eye[2])
    width, height, rounding = np.float32(view.width), np.float32(view.height), np.float32(view.rounding)
    least_slack = np.float32(SLACK + spread)
    beside_x, beside_y = _HALF * width * _BESIDE + rounding, _HALF * height * _BESIDE + rounding
    relative, step = np.float32(view.relative), np.float32(4 * view.depth_step)
    points, spans, fate = window.points, window.spans, window.fate
    for i in range(count):
        ax, ay, az = block[i] - ex, block[LANES + i] - ey, block[2 * LANES + i] - ez
        bx, by, bz = block[3 * LANES + i] - ex, block[4 * LANES + i] - ey, block[5 * LANES + i] - ez
        cx, cy, cz = block[6 * LANES + i] - ex, block[7 * LANES + i] - ey, block[8 * LANES + i] - ez
        aw = m20 * ax + m21 * ay + m22 * az
        bw = m20 * bx + m21 * by + m22 * bz
        cw = m20 * cx + m21 * cy + m22 * cz
        is_near = _find_least(aw, bw, cw) <= _GUARD
        aq = _ONE / (_ONE if is_near else aw)
        bq = _ONE / (_ONE if is_near else bw)
        cq = _ONE / (_ONE if is_near else cw)
        axw, ayw = m00 * ax + m01 * ay + m02 * az, m10 * ax + m11 * ay + m12 * az
        bxw, byw = m00 * bx + m01 * by + m02 * bz, m10 * bx + m11 * by + m12 * bz
        cxw, cyw = m00 * cx + m01 * cy + m02 * cz, m10 * cx + m11 * cy + m12 * cz
        is_outside = (
            (_find_most(aw, bw, cw) < -_BESIDE)
            | (_find_most(axw, bxw, cxw) < -beside_x)
            | (_find_most(ayw, byw, cyw) < -beside_y)
            | (_find_least(axw - width * aw, bxw - width * bw, cxw - width * cw) > beside_x)
            | (_find_least(ayw - height * aw, byw - height * bw, cyw - height * cw) > beside_y)
        )
        apx, apy, bpx, bpy, cpx, cpy = axw * aq, ayw * aq, bxw * bq, byw * bq, cxw * cq, cyw * cq
        most, least = _find_most(aq, bq, cq), _find_least(aq, bq, cq)
        wobble = rounding * most
        slack = least_slack + wobble

        left, right = _find_least(apx, bpx, cpx) - slack, _find_most(apx, bpx, cpx) + slack
        top, bottom = _find_least(apy, bpy, cpy) - slack, _find_most(apy, bpy, cpy) + slack

        abx, aby, acx, acy = bpx - apx, bpy - apy, cpx - apx, cpy - apy
        bcx, bcy = cpx - bpx, cpy - bpy
        area = abx * acy - aby * acx
        longest = _find_most(abx * abx + aby * aby, acx * acx + acy * acy, bcx * bcx + bcy * bcy)

        is_unclear = is_near | (left < -_REACH) | (right > _REACH) | (top < -_REACH) | (bottom > _REACH)
        is_sliver = area * area < (_GRID + wobble) * (_GRID + wobble) * longest
        is_beside = (right < _ZERO) | (left > width) | (bottom < _ZERO) | (top > height)
        is_between = (np.ceil(left - _HALF) > np.floor(right - _HALF)) | (
            np.ceil(top - _HALF) > np.floor(bottom - _HALF)
        )
        is_turned_away = area > slack * (right - left + bottom - top)
        drawable = MISSES if (is_beside | is_between | is_turned_away) else HITS
        near_fate = MISSES if is_outside else UNCLEAR
        fate[i] = near_fate if is_unclear else (SLIVER if is_sliver else drawable)
        points[i], points[LANES + i], points[2 * LANES + i] = apx, apy, aq
        points[3 * LANES + i], points[4 * LANES + i], points[5 * LANES + i] = bpx, bpy, bq
        points[6 * LANES + i], points[7 * LANES + i], points[8 * LANES + i] = cpx, cpy, cq
        spans[i], spans[LANES + i], spans[2 * LANES + i], spans[3 * LANES + i] = left, right, top, bottom
        spans[4 * LANES + i] = (_SURE - relative * most) / (most + most - least + step)
