"""Painting views of a prepared scene onto a target: exact, and as cheap as what they show.

In software each picture is made of a guessed set of triangles (`VisibilitySets`), checked against the depth that it
produced, and completed where the check fails; see docs/rendering.md for why the result equals drawing everything.
Several views are painted together: one list of draw calls, one depth to read, one look at what is missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import moderngl
import numpy as np
from numpy.typing import NDArray

from nav_eval.simulator.rendering.camera import Camera, Frame, KernelCameras
from nav_eval.simulator.rendering.culling import InView, VisibilitySets, find_chunks, get_cell, get_direction
from nav_eval.simulator.rendering.device import Device
from nav_eval.simulator.rendering.draw_list import (
    DrawList,
    Gathering,
    count_blended,
    gather_blended,
    gather_solid,
    list_keys,
    reverse_order,
)
from nav_eval.simulator.rendering.gpu_scene import SceneOnGpu
from nav_eval.simulator.rendering.occlusion import (
    DepthPicture,
    FoundTriangles,
    KnownTriangles,
    add_found,
    find_unhidden_blended,
    find_unhidden_solid,
    summarize_depths,
)
from nav_eval.simulator.rendering.outlooks import Cell
from nav_eval.simulator.rendering.pixel_copy import PendingFrames
from nav_eval.simulator.rendering.prepared_scene import PreparedScene
from nav_eval.simulator.rendering.render_target import Pixels, RenderTarget

LEARNING_SPREAD = 0.5
"""Pixels. What is that close to being seen will be seen from the next step."""

Indices = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class _Shot:
    """Pictures in the making."""

    cameras: Sequence[Camera]
    views: KernelCameras
    target: RenderTarget
    depth: DepthPicture  #: of what had been drawn when it was read
    in_view: InView
    depth_is_current: bool = False

    @property
    def every_view(self) -> Indices:
        return np.arange(len(self.cameras))


class Painter:
    """Paints one scene. What it learns about what shows from where changes no picture, only their cost."""

    def __init__(self, device: Device, prepared: PreparedScene, gpu: SceneOnGpu, *, culling: bool) -> None:
        self._context = device.context
        self._prepared = prepared
        self._gpu = gpu
        self._culling = culling
        self._occlusion = culling and device.is_software
        self._ties = device.context.query(samples=True)
        self._size = prepared.size
        self._first_blended = prepared.first_blended_chunk
        self._chunk_count = len(prepared.chunks.batch)
        self._sets = VisibilitySets(self._chunk_count, prepared.outlooks)
        self._everything = np.full((1, self._chunk_count), ~np.uint64(0))
        self._make_room(1)

    def _make_room(self, views: int) -> None:
        """For this many views at once."""
        self._in_view = InView.over(views=views, chunks=self._chunk_count)
        self._found = np.zeros((views, self._chunk_count), dtype=np.uint64)
        self._drawable = np.zeros_like(self._found)
        self._counts = np.zeros(views, dtype=np.int64)
        stretches = views * len(self._prepared.batches)
        self._gathering = Gathering.over(views=views, keys=views * self._chunk_count, stretches=stretches)

    def repaint(self, prepared: PreparedScene) -> None:
        """From now on, another look of the same canvas."""
        self._prepared = prepared

    def paint(self, cameras: Sequence[Camera], target: RenderTarget, frames: Sequence[Frame]) -> None:
        """A picture per camera and layer of the target, into a frame each or, one below the other, into one."""
        shot = self._paint(cameras, target, frames)
        self._deliver(shot, frames, self._prepared, target.canvas)

    def submit(self, cameras: Sequence[Camera], target: RenderTarget, frames: Sequence[Frame]) -> PendingFrames:
        """The same, but nobody waits for the pixels before they are collected."""
        shot, prepared = self._paint(cameras, target, frames), self._prepared
        shot.depth_is_current = False  # by then: the next pictures are read into the same room
        copy = target.copy_pixels()

        def fetch() -> None:
            with self._context:
                self._deliver(shot, frames, prepared, copy)
            target.give_back(copy)

        return PendingFrames(frames, fetch)

    def _paint(self, cameras: Sequence[Camera], target: RenderTarget, frames: Sequence[Frame]) -> _Shot:
        shot = self._start(cameras, target, frames)
        context = self._context
        context.enable_only(moderngl.DEPTH_TEST | moderngl.CULL_FACE)
        context.front_face = "cw"  # the projection turns y around
        context.depth_func = "<"
        self._gpu.set_views(shot.views)
        target.canvas.begin(self._prepared.background)
        if self._occlusion:
            self._paint_what_shows(shot)
        else:
            self._draw(shot, shot.every_view, np.zeros(len(cameras), dtype=np.int64), self._everything)
        if (shot.in_view.ends > shot.in_view.solid).any():
            self._blend(shot)
        return shot

    def _deliver(self, shot: _Shot, frames: Sequence[Frame], prepared: PreparedScene, pixels: Pixels) -> None:
        if not shot.depth_is_current and shot.target.delivers_depth:
            shot.target.read_metres(shot.cameras, shot.depth.metres, pixels)
        shot.target.deliver(frames, prepared.surfaces, shot.depth.metres, pixels)

    def _start(self, cameras: Sequence[Camera], target: RenderTarget, frames: Sequence[Frame]) -> _Shot:
        count = len(cameras)
        if count > len(self._counts):
            self._make_room(count)
        views = KernelCameras.of(cameras, self._size)
        in_view = self._in_view.take(count)
        if self._culling:
            find_chunks(self._prepared.chunks, views, self._first_blended, in_view)
        else:
            in_view.chunks[:] = np.arange(self._chunk_count)
            in_view.solid[:], in_view.ends[:] = self._first_blended, self._chunk_count
        return _Shot(cameras, views, target, target.choose_depth(frames), in_view)

    def _paint_what_shows(self, shot: _Shot) -> None:
        """Draw what is believed visible, then whatever the resulting depth does not prove hidden."""
        cells = [get_cell(camera.position) for camera in shot.cameras]
        axes = shot.views.matrix[:, 2, :3].tolist()
        directions = list(map(get_direction, axes))
        rows = np.array(self._sets.enter(cells))
        self._sets.words[rows, : self._prepared.moving_chunks] = ~np.uint64(0)  # they may be anywhere by now
        known = np.array([self._sets.knows(*each) for each in zip(cells, directions, strict=True)])
        drawn = rows if known.all() else self._choose_guesses(cells, rows, known)
        views = shot.every_view
        self._draw(shot, views, drawn, self._sets.words)
        self._read_depth(shot)
        self._find_unhidden(shot, views, drawn)
        late = views[self._counts[: len(views)] > 0]
        if len(late):
            self._complete(shot, late, drawn)
            learned = late[known[late]]
            add_found(learned, shot.in_view, rows, self._found, self._sets.words)
        if not known.all():
            self._learn(shot, views[~known], rows)
            for cell, direction in zip(cells, directions, strict=True):
                self._sets.remember(cell, direction)

    def _choose_guesses(self, cells: Sequence[Cell], rows: Indices, known: NDArray[np.bool_]) -> Indices:
        """Where a cell has not looked into a direction yet, what the cells around it know is worth a try."""
        chosen = rows.copy()
        for view in np.flatnonzero(~known).tolist():
            chosen[view] = self._sets.with_neighbours(cells[view])
        return chosen

    def _complete(self, shot: _Shot, late: Indices, drawn: Indices) -> None:
        """Add the found triangles to pictures of the drawn ones.

        Of two equally deep triangles the first in order wins, whichever of the two sets it is in. So
        where a late one ties with what is there, everything is drawn once more onto these depths, in reverse: the
        first in order comes last. Only then does the first of the two passes below draw anything, in whatever
        colours; asking after both lets OpenGL do them in one go.
        """
        context, canvas, layered = self._context, shot.target.canvas, shot.target.layers > 1
        plan = self._load(shot, late, shot.every_view, self._found)
        context.depth_func = "=="
        with self._ties:
            self._gpu.draw_depths(plan, layered=layered)
        context.depth_func = "<"
        self._gpu.draw(plan, canvas.outputs, layered=layered)
        shot.depth_is_current = False
        if self._ties.samples:
            words = self._sets.words[drawn]
            add_found(late, shot.in_view, shot.every_view, self._found, words)
            context.depth_func = "<="
            self._gpu.draw(
                self._load(shot, late, shot.every_view, words, backwards=True), canvas.outputs, layered=layered
            )
            context.depth_func = "<"

    def _learn(self, shot: _Shot, views: Indices, rows: Indices) -> None:
        """Add everything that shows in the finished pictures, or nearly does, to the sets of their cells."""
        self._settle_depth(shot)
        self._find_unhidden(shot, views, rows, spread=LEARNING_SPREAD)
        add_found(views, shot.in_view, rows, self._found, self._sets.words)

    def _find_unhidden(self, shot: _Shot, views: Indices, rows: Indices, *, spread: float = 0.0) -> None:
        """Put the triangles outside the rows of these views that may show into `_found`, how many into `_counts`."""
        if spread:
            self._drawable[views] = ~np.uint64(0)  # what was loaded was looked at as it is
        known = KnownTriangles(self._sets.words, rows, self._drawable)
        found = FoundTriangles(self._found, self._counts)
        find_unhidden_solid(views, self._prepared.chunks, shot.in_view, known, shot.views, shot.depth, spread, found)

    def _draw(self, shot: _Shot, views: Indices, rows: Indices, words: NDArray[np.uint64]) -> None:
        plan = self._load(shot, views, rows, words)
        self._gpu.draw(plan, shot.target.canvas.outputs, layered=shot.target.layers > 1)

    def _load(
        self, shot: _Shot, views: Indices, rows: Indices, words: NDArray[np.uint64], *, backwards: bool = False
    ) -> DrawList:
        """Send the triangles in the rows of these views to the GPU."""
        chunks, room = self._prepared.chunks, self._gathering
        most = list_keys(views, chunks, shot.views, shot.in_view, rows, words, room, self._drawable)
        start = 0
        for end in room.ends[: len(views)].tolist():
            room.keys[start:end].sort()
            start = end
        self._gathering = room = room.reserve(triangles=most)
        count, stretches = gather_solid(views, chunks, shot.views, rows, words, self._culling, room, self._drawable)
        if backwards:
            reverse_order(room.triangles[:count], room.stretches[:stretches])
        return self._send(shot, count, stretches)

    def _send(self, shot: _Shot, triangles: int, stretches: int) -> DrawList:
        room = self._gathering
        self._gpu.write_triangles(room.triangles[:triangles])
        make = DrawList.for_layers if shot.target.layers > 1 else DrawList.for_one_view
        return make(room.stretches[:stretches])

    def _blend(self, shot: _Shot) -> None:
        """Draw see-through triangles over the finished solid pictures, the farthest first."""
        chunks, in_view = self._prepared.chunks, shot.in_view
        found = self._found[: len(shot.cameras)]
        if self._occlusion:
            self._settle_depth(shot)
            find_unhidden_blended(in_view, chunks, shot.views, shot.depth, found)
        else:
            found[:] = ~np.uint64(0)
        most = count_blended(chunks, in_view)
        self._gathering = room = self._gathering.reserve(triangles=most, stretches=most)
        plan = self._send(shot, *gather_blended(chunks, shot.views, in_view, found, room))
        self._context.enable(moderngl.BLEND)
        self._gpu.draw(plan, shot.target.canvas.outputs, layered=shot.target.layers > 1)
        if plan.runs:
            shot.depth_is_current = False

    def _settle_depth(self, shot: _Shot) -> None:
        if not shot.depth_is_current:
            self._read_depth(shot)

    def _read_depth(self, shot: _Shot) -> None:
        shot.target.read_metres(shot.cameras, shot.depth.metres)
        summarize_depths(shot.depth)
        shot.depth_is_current = True
