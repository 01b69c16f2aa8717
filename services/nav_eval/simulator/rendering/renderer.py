"""Pictures of a prepared scene: exact, and as cheap as what they show.

One pass per camera writes every channel that was asked for. In software each picture is made of a
guessed set of triangles (`VisibilitySets`), checked against the depth it produced, and completed where
the check fails; see docs/rendering.md for why the result equals drawing everything.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import moderngl
import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import Scene
from nav_eval.sensors import Channel
from nav_eval.simulator.rendering.camera import Camera, Frame, KernelCamera
from nav_eval.simulator.rendering.culling import (
    VisibilitySets,
    find_chunks_in_view,
    gather_blended,
    gather_triangles,
    get_cell,
    get_direction,
    make_order_keys,
)
from nav_eval.simulator.rendering.device import Device
from nav_eval.simulator.rendering.gpu_scene import DrawRange, RenderTarget, SceneOnGpu
from nav_eval.simulator.rendering.occlusion import DepthPicture, find_unhidden, summarize_depth
from nav_eval.simulator.rendering.preparation import prepare_scene
from nav_eval.simulator.rendering.prepared_scene import PreparedScene

LEARNING_SPREAD = 0.5
"""Pixels. What is that close to being seen will be seen from the next step."""


class Renderer:
    """Takes pictures of one scene. Not thread-safe; pictures of two renderers of one scene are equal."""

    def __init__(
        self,
        scene: Scene | PreparedScene,
        *,
        device: Device | None = None,
        trilinear: bool = True,
        culling: bool = True,
    ) -> None:
        """`culling=False` draws the whole scene for every picture: the yardstick that tests compare with."""
        self.device = device or Device.open()
        self.prepared = scene if isinstance(scene, PreparedScene) else prepare_scene(scene)
        self._culling = culling
        self._occlusion = culling and self.device.is_software
        with self.device.context:
            self._gpu = SceneOnGpu(self.device.context, self.prepared, trilinear=trilinear)
            self._ties = self.device.context.query(samples=True)
        self._targets: dict[tuple[int, int, frozenset[Channel]], RenderTarget] = {}
        self._size = self.prepared.size
        self._first_blended = self.prepared.first_blended_chunk
        chunk_count = len(self.prepared.chunks.batch)
        self._sets = VisibilitySets(chunk_count, self.prepared.outlooks)
        self._every_word = np.full(chunk_count, ~np.uint64(0))
        self._no_word = np.zeros(chunk_count, dtype=np.uint64)
        self._found_words = np.zeros(chunk_count, dtype=np.uint64)
        self._every_chunk = np.arange(chunk_count, dtype=np.int32)
        self._in_view = np.empty(chunk_count, dtype=np.int32)
        self._triangles = np.empty_like(self.prepared.chunks.triangles)
        self._per_batch = np.zeros(len(self.prepared.batches), dtype=np.int64)

    def render(self, camera: Camera, channels: Iterable[Channel], out: Frame | None = None) -> Frame:
        """One picture, in fresh arrays or in those of `out`."""
        wanted = frozenset(channels)
        frame = out or Frame.empty(camera.width, camera.height, wanted)
        frame.check(camera.width, camera.height, wanted)
        with self.device.context:
            shot = self._start_shot(camera, wanted, frame)
            self._paint(shot)
            shot.target.deliver(frame, self.prepared.surfaces, depth_is_there=shot.depth_is_current)
        return frame

    def render_views(self, cameras: Iterable[Camera], channels: Iterable[Channel]) -> list[Frame]:
        """One picture per camera. Each has its own framebuffer: sharing one was slower and changed pixels."""
        wanted = frozenset(channels)
        return [self.render(camera, wanted) for camera in cameras]

    def release(self) -> None:
        """Give the memory back; the renderer cannot be used afterwards."""
        with self.device.context:
            for target in self._targets.values():
                target.canvas.release()
            self._gpu.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _start_shot(self, camera: Camera, channels: frozenset[Channel], frame: Frame) -> "_Shot":
        key = (camera.width, camera.height, channels)
        if key not in self._targets:
            self._targets[key] = RenderTarget(self.device.context, camera.width, camera.height, channels)
        target = self._targets[key]
        depth = target.depth
        if frame.depth is not None and Channel.DEPTH in channels:
            depth = depth._replace(metres=frame.depth)
        return _Shot(camera, KernelCamera.of(camera, self._size), target, depth)

    def _paint(self, shot: "_Shot") -> None:
        context = self.device.context
        context.enable_only(moderngl.DEPTH_TEST | moderngl.CULL_FACE)
        context.front_face = "cw"  # the projection turns y around
        context.depth_func = "<"
        self._gpu.set_view(shot.camera.world_to_clip)
        in_view = self._find_chunks(shot.view)
        split = int(np.searchsorted(in_view, self._first_blended))
        solid, blended = in_view[:split], in_view[split:]
        shot.target.canvas.begin(self.prepared.background)
        if self._occlusion:
            self._draw_what_shows(shot, solid)
        else:
            self._draw(shot, solid, self._every_word)
        if len(blended):
            self._blend(shot, blended)

    def _find_chunks(self, view: KernelCamera) -> NDArray[np.int32]:
        if not self._culling:
            return self._every_chunk
        return self._in_view[: find_chunks_in_view(self.prepared.chunks, view, self._in_view)]

    def _draw_what_shows(self, shot: "_Shot", chunks: NDArray[np.int32]) -> None:
        """Draw what is believed visible, then whatever the resulting depth does not prove hidden."""
        cell, direction = get_cell(shot.camera.position), get_direction(shot.view)
        self._sets.enter(cell)
        is_known = self._sets.knows(cell, direction)
        words = self._sets.words if is_known else self._sets.with_neighbours()
        self._draw(shot, chunks, words)
        self._read_depth(shot)
        if self._find_unhidden(shot, chunks, words):
            self._complete(shot, chunks, words)
            shot.depth_is_current = False
            if is_known:
                self._sets.words[chunks] |= self._found_words[chunks]
        if not is_known:
            self._learn(shot, chunks)
            self._sets.remember(cell, direction)

    def _complete(self, shot: "_Shot", chunks: NDArray[np.int32], drawn: NDArray[np.uint64]) -> None:
        """Add the found triangles to a picture of the drawn ones.

        Of two equally deep triangles the first in order wins, whichever of the two sets it is in. So
        where a late one ties with what is there, the whole picture is drawn again in order. Only then does
        the first of the two passes below draw anything; asking after both lets OpenGL do them in one go.
        """
        context, outputs = self.device.context, shot.target.canvas.outputs
        late = self._load(shot, chunks, self._found_words)
        context.depth_func = "=="
        with self._ties:
            self._gpu.draw(late, outputs)
        context.depth_func = "<"
        self._gpu.draw(late, outputs)
        if self._ties.samples:
            shot.target.canvas.begin(self.prepared.background)
            self._draw(shot, chunks, drawn | self._found_words)

    def _learn(self, shot: "_Shot", chunks: NDArray[np.int32]) -> None:
        """Add everything that shows in the finished picture, or nearly does, to the set of the cell."""
        self._settle_depth(shot)
        self._find_unhidden(shot, chunks, self._sets.words, spread=LEARNING_SPREAD)
        self._sets.words[chunks] |= self._found_words[chunks]

    def _find_unhidden(
        self, shot: "_Shot", chunks: NDArray[np.int32], known: NDArray[np.uint64], *, spread: float = 0.0
    ) -> int:
        """Put the triangles outside `known` that may show into `_found_words`."""
        return find_unhidden(chunks, known, self.prepared.chunks, shot.view, shot.depth, spread, self._found_words)

    def _draw(self, shot: "_Shot", chunks: NDArray[np.int32], words: NDArray[np.uint64]) -> None:
        self._gpu.draw(self._load(shot, chunks, words), shot.target.canvas.outputs)

    def _load(self, shot: "_Shot", chunks: NDArray[np.int32], words: NDArray[np.uint64]) -> list[DrawRange]:
        """Send the triangles in `words` to the GPU: batch by batch, chunks front to back."""
        scene, per_batch = self.prepared.chunks, self._per_batch
        keys = np.sort(make_order_keys(chunks[words[chunks] != 0], scene, shot.view.eye))
        count = gather_triangles(keys, words, scene, shot.view, self._culling, self._triangles, per_batch)
        self._gpu.write_triangles(self._triangles[:count])
        ends = per_batch.cumsum()
        return [DrawRange(int(b), int(ends[b] - per_batch[b]), int(per_batch[b])) for b in per_batch.nonzero()[0]]

    def _blend(self, shot: "_Shot", chunks: NDArray[np.int32]) -> None:
        """Draw see-through triangles over the finished solid picture, the farthest first."""
        words = self._every_word
        if self._occlusion:
            self._settle_depth(shot)
            self._find_unhidden(shot, chunks, self._no_word)
            words = self._found_words
        scene = self.prepared.chunks
        room = 64 * len(chunks)
        triangles, batches, distances = np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room)
        count = gather_blended(chunks, words, scene, shot.view, triangles, batches, distances)
        order = np.argsort(-distances[:count], kind="stable")
        self._gpu.write_triangles(scene.triangles[triangles[order]])
        self.device.context.enable(moderngl.BLEND)
        self.device.context.blend_func = moderngl.SRC_ALPHA, moderngl.ONE_MINUS_SRC_ALPHA
        self._gpu.draw(_find_runs(batches[order]), shot.target.canvas.outputs)
        shot.depth_is_current = False

    def _settle_depth(self, shot: "_Shot") -> None:
        if not shot.depth_is_current:
            self._read_depth(shot)

    def _read_depth(self, shot: "_Shot") -> None:
        shot.target.read_metres(shot.camera, shot.depth.metres)
        summarize_depth(shot.depth)
        shot.depth_is_current = True


@dataclass(slots=True, eq=False)
class _Shot:
    """One picture in the making."""

    camera: Camera
    view: KernelCamera
    target: RenderTarget
    depth: DepthPicture  #: of what had been drawn when it was read
    depth_is_current: bool = False


def _find_runs(batches: NDArray[np.int32]) -> list[DrawRange]:
    starts = np.flatnonzero(np.diff(batches, prepend=-1))
    lengths = np.diff(np.append(starts, len(batches)))
    return [
        DrawRange(int(batches[start]), int(start), int(length)) for start, length in zip(starts, lengths, strict=True)
    ]
