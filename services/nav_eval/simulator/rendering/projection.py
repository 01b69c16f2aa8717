"""Triangles on the window: the arithmetic that culling and occlusion share.

Window coordinates are pixels with y down, so a front face is clockwise and its doubled area negative.
A chunk is projected at once, 64 lanes of plain arithmetic that compile to vector instructions.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.simulator.rendering.camera import Camera
from nav_eval.simulator.rendering.chunks import CHUNK_TRIANGLES as LANES
from nav_eval.simulator.rendering.jit import compiled

SLACK = 1.0 / 32.0
"""Pixels. OpenGL snaps vertices to 1/256 of a pixel; this is far more."""
GRID = 1.0 / 256.0
"""Pixels. OpenGL's own grid. A thinner triangle would be drawn at a depth that rounding decides: it is left out."""
GUARD = 0.3
"""Metres. A triangle that comes closer to the eye plane is never rejected by arithmetic."""

SLIVER, MISSES, HITS, NEAR = np.uint8(0), np.uint8(1), np.uint8(2), np.uint8(3)
"""What becomes of a triangle: never drawn; surely touches no pixel; may touch pixels; too near to tell."""


class View(NamedTuple):
    """A camera as the kernels want it."""

    matrix: NDArray[np.float64]
    """World to window: rows give x·w and y·w in pixels, and w in metres."""
    planes: NDArray[np.float64]
    """6 × 4, pointing inwards."""
    eye: NDArray[np.float64]
    width: int
    height: int
    rounding: float
    """Pixels, for a vertex 1 m away: how far single precision in the vertex shader can move it."""
    relative: float
    """The same for depths: the relative error 1 m away."""
    depth_step: float
    """What one step of a 24-bit depth buffer is worth in 1/w."""

    @classmethod
    def of(cls, camera: Camera, scene_size: float) -> "View":
        clip = camera.world_to_clip
        half_width, half_height = camera.width / 2, camera.height / 2
        to_window = np.array([[half_width, 0, half_width], [0, half_height, half_height], [0, 0, 1]])
        error = (scene_size + max(map(abs, camera.position))) * 2.0**-21
        return cls(
            matrix=to_window @ clip[[0, 1, 3]],
            planes=np.array([clip[3] + sign * clip[axis] for axis in range(3) for sign in (1, -1)]),
            eye=np.asarray(camera.position, dtype=np.float64),
            width=camera.width,
            height=camera.height,
            rounding=camera.focal_length * error,
            relative=2 * error,
            depth_step=(1 / camera.near - 1 / camera.far) * 2.0**-24,
        )


class Window(NamedTuple):
    """A chunk after projection. Flat arrays with constant offsets: otherwise LLVM does not vectorise."""

    points: NDArray[np.float64]
    """9 · 64: x, y in pixels and q = 1/w, which is linear across the window; corner after corner, each 64 lanes."""
    fate: NDArray[np.uint8]
    """64, one of SLIVER, MISSES, HITS, NEAR."""


@compiled
def new_window() -> Window:
    return Window(np.empty(9 * LANES), np.empty(LANES, dtype=np.uint8))


@compiled
def project(block: NDArray[np.float32], count: int, view: View, spread: float, window: Window) -> None:
    """Fill `window` for the first `count` lanes; `spread` widens every triangle by that many pixels.

    A sliver is a triangle whose smallest height is below OpenGL's grid. What is not a sliver covers no
    pixel centre farther outside itself than that height, so its depth there is wrong by no more than its
    own depth range; that is what lets `occlusion` prove it hidden.
    """
    m = view.matrix
    m00, m01, m02, m03 = m[0, 0], m[0, 1], m[0, 2], m[0, 3]
    m10, m11, m12, m13 = m[1, 0], m[1, 1], m[1, 2], m[1, 3]
    m20, m21, m22, m23 = m[2, 0], m[2, 1], m[2, 2], m[2, 3]
    points, fate = window.points, window.fate
    width, height, rounding = float(view.width), float(view.height), view.rounding
    for i in range(count):
        ax, ay, az = block[i], block[1 * LANES + i], block[2 * LANES + i]
        bx, by, bz = block[3 * LANES + i], block[4 * LANES + i], block[5 * LANES + i]
        cx, cy, cz = block[6 * LANES + i], block[7 * LANES + i], block[8 * LANES + i]
        aw = m20 * ax + m21 * ay + m22 * az + m23
        bw = m20 * bx + m21 * by + m22 * bz + m23
        cw = m20 * cx + m21 * cy + m22 * cz + m23
        nearest = aw if aw < bw else bw
        nearest = nearest if nearest < cw else cw
        is_near = nearest <= GUARD
        aq = 1.0 / (1.0 if is_near else aw)
        bq = 1.0 / (1.0 if is_near else bw)
        cq = 1.0 / (1.0 if is_near else cw)
        apx = (m00 * ax + m01 * ay + m02 * az + m03) * aq
        bpx = (m00 * bx + m01 * by + m02 * bz + m03) * bq
        cpx = (m00 * cx + m01 * cy + m02 * cz + m03) * cq
        apy = (m10 * ax + m11 * ay + m12 * az + m13) * aq
        bpy = (m10 * bx + m11 * by + m12 * bz + m13) * bq
        cpy = (m10 * cx + m11 * cy + m12 * cz + m13) * cq
        wobble = rounding / (1.0 if is_near else nearest)
        slack = SLACK + spread + wobble

        left = apx if apx < bpx else bpx
        left = (left if left < cpx else cpx) - slack
        right = apx if apx > bpx else bpx
        right = (right if right > cpx else cpx) + slack
        top = apy if apy < bpy else bpy
        top = (top if top < cpy else cpy) - slack
        bottom = apy if apy > bpy else bpy
        bottom = (bottom if bottom > cpy else cpy) + slack

        abx, aby, acx, acy = bpx - apx, bpy - apy, cpx - apx, cpy - apy
        bcx, bcy = cpx - bpx, cpy - bpy
        area = abx * acy - aby * acx
        ab, ac, bc = abx * abx + aby * aby, acx * acx + acy * acy, bcx * bcx + bcy * bcy
        longest = ab if ab > ac else ac
        longest = longest if longest > bc else bc

        is_sliver = area * area < (GRID + wobble) ** 2 * longest
        is_outside = (right < 0.0) | (left > width) | (bottom < 0.0) | (top > height)
        is_between = (np.ceil(left - 0.5) > np.floor(right - 0.5)) | (np.ceil(top - 0.5) > np.floor(bottom - 0.5))
        is_turned_away = area > slack * (right - left + bottom - top)
        drawable = MISSES if (is_outside | is_between | is_turned_away) else HITS
        fate[i] = NEAR if is_near else (SLIVER if is_sliver else drawable)
        points[i], points[LANES + i], points[2 * LANES + i] = apx, apy, aq
        points[3 * LANES + i], points[4 * LANES + i], points[5 * LANES + i] = bpx, bpy, bq
        points[6 * LANES + i], points[7 * LANES + i], points[8 * LANES + i] = cpx, cpy, cq


@compiled
def is_outside(block: NDArray[np.float32], lane: int, planes: NDArray[np.float64]) -> bool:
    """True if all three corners lie beyond one plane of the view, with room to spare."""
    for k in range(6):
        beyond = True
        for corner in range(3):
            reach = planes[k, 3]
            for axis in range(3):
                reach += planes[k, axis] * block[(3 * corner + axis) * LANES + lane]
            beyond &= reach < -1e-2
        if beyond:
            return True
    return False
