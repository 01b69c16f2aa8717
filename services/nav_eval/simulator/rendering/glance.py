"""Looking around without OpenGL, on every core: the outlooks of a scene.

From each place four small depth pictures are drawn here, and every triangle that they do not hide belongs to the
outlook. They are good for guesses only: masks are holes, and edges fall where this rasteriser puts them. So
time bounds them, not completeness: places are taken from coarse to fine while there is time.
"""

import math
import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import local
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.cache import lock_maker
from nav_eval.compilation import compile_nogil_inline, compile_nogil_kernel
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import AlphaMode
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.simulator.rendering.camera import (
    HITS,
    UNCLEAR,
    Camera,
    KernelCamera,
    ProjectedChunk,
    make_projected_chunk,
    project_chunk,
)
from nav_eval.simulator.rendering.culling import find_chunks_in_view
from nav_eval.simulator.rendering.occlusion import DepthPicture, find_unhidden, summarize_depth
from nav_eval.simulator.rendering.outlooks import (
    CELL_METRES,
    NO_OUTLOOKS,
    Outlooks,
    SparseWords,
    load_outlooks,
    save_outlooks,
)
from nav_eval.simulator.rendering.prepared_scene import CHUNK_TRIANGLES as LANES
from nav_eval.simulator.rendering.prepared_scene import Chunks, PreparedScene

LOOK_SECONDS = 8.0
"""CPU time that looking around may take, of all cores together,"""
LOOK_SECONDS_PER_TRIANGLE = 2e-5
"""and less in a small scene, which is prepared in no time and drawn fast anyway."""
EYE_HEIGHT = 1.25
"""Metres above the ground."""
WIDTH, HEIGHT = 128, 152
"""Pixels per quarter turn, and up and down: 50° above and below the horizon."""
SPREAD = 1.5
"""Pixels. What is that close to being seen is seen from nearby; with more, needless triangles cost what is gained."""
NEAR = 0.05
"""Metres. What comes closer to the eye plane is cut off there."""


def look_around(scene: PreparedScene, mesh: NavigationMesh, path: Path) -> PreparedScene:
    """The scene with the outlooks from where one can stand: from the file, or found now and kept there.

    Where they cannot be kept they are not looked for: every process would have to do it again.
    """
    outlooks = load_outlooks(path, scene=scene.digest)
    if outlooks is None and os.access(path.parent, os.W_OK):
        with lock_maker(path):
            outlooks = load_outlooks(path, scene=scene.digest)
            outlooks = _look_and_keep(scene, mesh, path) if outlooks is None else outlooks
    return replace(scene, outlooks=outlooks or NO_OUTLOOKS)


def _look_and_keep(scene: PreparedScene, mesh: NavigationMesh, path: Path) -> Outlooks:
    seconds = min(LOOK_SECONDS, LOOK_SECONDS_PER_TRIANGLE * scene.triangle_count)
    outlooks = find_outlooks(scene, list_eyes(mesh), seconds=seconds)
    with suppress(OSError):
        save_outlooks(outlooks, path, scene=scene.digest)
    return outlooks


def list_eyes(mesh: NavigationMesh) -> NDArray[np.float64]:
    """Where eyes are to look from: above the middle of every square metre that can be walked on, or beside it."""
    surface = mesh.surface
    nodes = np.flatnonzero(surface.island >= 0)
    lattice = np.stack([surface.i[nodes], surface.j[nodes]], axis=1)
    across = (lattice + 0.5) * surface.tiling.spacing
    eyes = np.stack([across[:, 0], surface.height[nodes] + EYE_HEIGHT, across[:, 1]], axis=1)
    aside = np.abs(across - np.floor(across) - 0.5).max(axis=1)
    order = np.argsort(aside, kind="stable")
    _, first = np.unique(_find_places(eyes[order]), axis=0, return_index=True)
    return eyes[order][first]


def find_outlooks(scene: PreparedScene, eyes: NDArray[np.float64], *, seconds: float) -> Outlooks:
    """What shows from these places, or from as many as these CPU seconds suffice for."""
    glances = _Glances(scene)
    places = _find_places(eyes)
    order = np.argsort((places[:, [0, 2]] % 2).any(axis=1), kind="stable")  # first every other one in x and z
    glances.look_from(np.zeros(3))  # compiles what is not compiled yet: not a part of the time
    glances.deadline = time.process_time() + seconds
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = list(pool.map(glances.look_from, eyes[order].tolist()))
    kept = [number for number, words in enumerate(found) if words is not None]
    return Outlooks(places[order[kept]], [words for words in found if words is not None])


def _find_places(eyes: NDArray[np.float64]) -> NDArray[np.int32]:
    return np.floor(eyes / (2 * CELL_METRES, CELL_METRES, 2 * CELL_METRES)).astype(np.int32)


class _Glances:
    """Looks around in one scene from several threads."""

    def __init__(self, scene: PreparedScene) -> None:
        self.deadline = math.inf  #: of `time.process_time`
        self._scene, self._size = scene, scene.size
        opaque = sum(batch.alpha_mode is AlphaMode.OPAQUE for batch in scene.batches)
        self._solid = int(np.searchsorted(scene.chunks.batch, opaque))
        self._drawn = scene.first_blended_chunk
        self._room = local()

    def look_from(self, eye: Iterable[float]) -> SparseWords | None:
        """The outlook from here; None if it is too late."""
        if time.process_time() > self.deadline:
            return None
        chunks = self._scene.chunks
        if not hasattr(self._room, "sketch"):
            self._room.sketch = _make_sketch(len(chunks.batch))
        x, y, z = eye
        words = np.zeros(len(chunks.batch), dtype=np.uint64)
        for quarter in range(4):
            view = self._make_view((x, y, z), yaw=quarter * math.pi / 2)
            find_visible(chunks, view, self._solid, self._drawn, SPREAD, self._room.sketch, words)
        shown = np.flatnonzero(words).astype(np.int32)
        return shown, words[shown]

    def _make_view(self, eye: Vec3, *, yaw: float) -> KernelCamera:
        return KernelCamera.of(Camera.from_angles(eye, yaw=yaw, width=WIDTH, height=HEIGHT, hfov=90.0), self._size)


Corner = tuple[float, float, float]


class Sketch(NamedTuple):
    """Room for one glance."""

    picture: DepthPicture
    nearness: NDArray[np.float32]  #: 1 / metres per pixel
    indices: NDArray[np.int32]
    found: NDArray[np.uint64]
    everything: NDArray[np.uint64]  #: all triangles of all chunks


def _make_sketch(chunk_count: int) -> Sketch:
    return Sketch(
        DepthPicture.over(np.empty((HEIGHT, WIDTH), dtype=np.float32)),
        np.empty((HEIGHT, WIDTH), dtype=np.float32),
        np.empty(chunk_count, dtype=np.int32),
        np.empty(chunk_count, dtype=np.uint64),
        np.full(chunk_count, ~np.uint64(0)),
    )


@compile_nogil_kernel
def find_visible(
    chunks: Chunks, view: KernelCamera, solid: int, drawn: int, spread: float, sketch: Sketch, out: NDArray[np.uint64]
) -> None:
    """Add to `out` what shows in one direction: of the first `drawn` chunks, hidden by the first `solid` ones."""
    count = find_chunks_in_view(chunks, view, sketch.indices)
    indices = sketch.indices[:count]
    hiding, shown = np.searchsorted(indices, solid), np.searchsorted(indices, drawn)
    _sketch_depth(indices[:hiding], chunks, view, sketch)
    summarize_depth(sketch.picture)
    find_unhidden(indices[:shown], out, sketch.everything, chunks, view, sketch.picture, spread, sketch.found)
    for i in range(shown):
        out[indices[i]] |= sketch.found[indices[i]]


@compile_nogil_kernel
def _sketch_depth(indices: NDArray[np.int32], chunks: Chunks, view: KernelCamera, sketch: Sketch) -> None:
    nearness, metres = sketch.nearness, sketch.picture.metres
    nearness[:] = np.float32(0.0)
    window = make_projected_chunk()
    for i in range(len(indices)):
        chunk = indices[i]
        block = chunks.corners[chunk]
        count = chunks.first[chunk + 1] - chunks.first[chunk]
        project_chunk(block, count, view, 0.0, window)
        for lane in range(count):
            if window.fate[lane] == HITS:
                _fill(
                    _get_corner(window, lane, 0), _get_corner(window, lane, 1), _get_corner(window, lane, 2), nearness
                )
            elif window.fate[lane] == UNCLEAR:
                _fill_near(block, lane, view, nearness)
    height, width = metres.shape
    for y in range(height):
        for x in range(width):
            near = nearness[y, x]
            metres[y, x] = np.float32(1.0) / near if near > 0 else np.float32(0.0)


@compile_nogil_inline
def _get_corner(window: ProjectedChunk, lane: int, corner: int) -> Corner:
    at = 3 * corner * LANES + lane
    return float(window.points[at]), float(window.points[at + LANES]), float(window.points[at + 2 * LANES])


@compile_nogil_kernel
def _fill(a: Corner, b: Corner, c: Corner, nearness: NDArray[np.float32]) -> None:
    """Draw a triangle that faces the eye; corners are pixels and 1 / metres."""
    height, width = nearness.shape
    left, right = max(min(a[0], b[0], c[0]), 0.0), min(max(a[0], b[0], c[0]), float(width))
    top, bottom = max(min(a[1], b[1], c[1]), 0.0), min(max(a[1], b[1], c[1]), float(height))
    area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    if not area < 0.0 or left >= right or top >= bottom:  # clockwise: turned away
        return
    to_b_x, to_b_y, to_c_x, to_c_y = b[0] - a[0], b[1] - a[1], c[0] - a[0], c[1] - a[1]
    along_x = ((b[2] - a[2]) * to_c_y - (c[2] - a[2]) * to_b_y) / area
    along_y = ((c[2] - a[2]) * to_b_x - (b[2] - a[2]) * to_c_x) / area
    for row in range(int(np.ceil(top - 0.5)), int(np.floor(bottom - 0.5)) + 1):
        y = row + 0.5
        for column in range(int(np.ceil(left - 0.5)), int(np.floor(right - 0.5)) + 1):
            x = column + 0.5
            if (
                to_b_x * (y - a[1]) - to_b_y * (x - a[0]) <= 0.0
                and (c[0] - b[0]) * (y - b[1]) - (c[1] - b[1]) * (x - b[0]) <= 0.0
                and to_c_y * (x - c[0]) - to_c_x * (y - c[1]) <= 0.0
            ):
                near = np.float32(a[2] + along_x * (x - a[0]) + along_y * (y - a[1]))
                nearness[row, column] = max(nearness[row, column], near)


@compile_nogil_kernel
def _fill_near(block: NDArray[np.float32], lane: int, view: KernelCamera, nearness: NDArray[np.float32]) -> None:
    """Draw a triangle that may reach behind the eye: what lies before `NEAR` of it."""
    corners = np.empty((3, 3))
    for corner in range(3):
        for row in range(3):
            corners[corner, row] = view.matrix[row, 3]
            for axis in range(3):
                corners[corner, row] += view.matrix[row, axis] * block[(3 * corner + axis) * LANES + lane]
    kept = np.empty((4, 3))
    count = 0
    for corner in range(3):
        here, there = corners[corner], corners[(corner + 1) % 3]
        if here[2] >= NEAR:
            kept[count] = here
            count += 1
        if (here[2] >= NEAR) != (there[2] >= NEAR):
            kept[count] = here + (there - here) * ((NEAR - here[2]) / (there[2] - here[2]))
            count += 1
    for third in range(2, count):
        _fill(_project(kept[0]), _project(kept[third - 1]), _project(kept[third]), nearness)


@compile_nogil_inline
def _project(corner: NDArray[np.float64]) -> Corner:
    return corner[0] / corner[2], corner[1] / corner[2], 1.0 / corner[2]
