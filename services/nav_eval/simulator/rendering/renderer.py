"""Pictures of a prepared scene.

One pass per camera writes every channel that was asked for; small pictures of several cameras are drawn together.
How they are painted is `painter`'s business.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import BadCamera
from nav_eval.scene.model import Scene
from nav_eval.scene.splats import SplatCloud
from nav_eval.sensors import Channel
from nav_eval.simulator.rendering.camera import Camera, Frame
from nav_eval.simulator.rendering.culling import OPEN_CELLS
from nav_eval.simulator.rendering.device import Device
from nav_eval.simulator.rendering.gpu_scene import SceneOnGpu
from nav_eval.simulator.rendering.painter import Painter
from nav_eval.simulator.rendering.pixel_copy import PendingFrames
from nav_eval.simulator.rendering.preparation import prepare_scene
from nav_eval.simulator.rendering.prepared_scene import PreparedScene
from nav_eval.simulator.rendering.render_target import RenderTarget
from nav_eval.simulator.rendering.splat_painter import paint_splats
from nav_eval.simulator.rendering.splat_quads import SplatsOnGpu

MOST_LAYERS = OPEN_CELLS
"""Pictures of one submission,"""
MOST_PIXELS_IN_SOFTWARE, MOST_PIXELS = 1 << 17, 1 << 24
"""and pixels of all of them. In software more of them leave the processor's cache, which costs more than it saves."""
KEPT_ATLASES = 4
"""Of different sizes; the one that was not used for longest goes first."""


class Renderer:
    """Takes pictures of one scene. Not thread-safe; pictures of two renderers of one scene are equal."""

    def __init__(
        self,
        scene: Scene | PreparedScene,
        *,
        device: Device | None = None,
        trilinear: bool | None = None,
        culling: bool = True,
    ) -> None:
        """`trilinear` blends two mipmaps where textures are minified; by default on a GPU only, where it is free.

        `culling=False` draws the whole scene for every picture: the yardstick that tests compare with.
        """
        self.device = device or Device.open()
        self.prepared = scene if isinstance(scene, PreparedScene) else prepare_scene(scene)
        blends = not self.device.is_software if trilinear is None else trilinear
        with self.device.context:
            self._gpu = SceneOnGpu(self.device.context, self.prepared, trilinear=blends)
            self._painter = Painter(self.device, self.prepared, self._gpu, culling=culling)
            self._quads = self._open_quads()
        self._targets: dict[_TargetKey, RenderTarget] = {}
        self._draws_layers = culling and self.device.draws_layers and self.prepared.splats is None

    def _open_quads(self) -> SplatsOnGpu | None:
        splats, context = self.prepared.splats, self.device.context
        if splats is None or self.device.is_software or not SplatsOnGpu.fits(context, splats):
            return None
        return SplatsOnGpu(context, splats)

    def render(self, camera: Camera, channels: Iterable[Channel], out: Frame | None = None) -> Frame:
        """One picture, in fresh arrays or in those of `out`."""
        wanted = frozenset(channels)
        frame = out or Frame.empty(camera.width, camera.height, wanted)
        frame.check(camera.width, camera.height, wanted)
        if self.prepared.splats is not None and Channel.RGB in wanted:
            self._render_splats(self.prepared.splats, camera, wanted, frame)
        else:
            self._render_triangles(camera, wanted, frame)
        return frame

    def _render_triangles(self, camera: Camera, wanted: frozenset[Channel], frame: Frame) -> None:
        self._paint([camera], wanted, [frame])

    def _paint(self, cameras: Sequence[Camera], wanted: frozenset[Channel], frames: Sequence[Frame]) -> None:
        with self.device.context:
            target = self._get_target(cameras[0], wanted, layers=len(cameras))
            self._painter.paint(cameras, target, frames)

    def _render_splats(self, splats: SplatCloud, camera: Camera, wanted: frozenset[Channel], frame: Frame) -> None:
        """Colour from splats, with what was put into the scene among them; everything else from triangles."""
        picture = frame.rgb
        assert picture is not None
        placed = self.prepared.surfaces[:, 1].max(initial=0) > splats.last_object
        drawn = wanted | {Channel.DEPTH, Channel.INSTANCE} if placed else wanted - {Channel.RGB}
        if not drawn:
            picture[:] = self.prepared.background
            self._paint_splats(splats, camera, picture)
            return
        fresh = Frame.empty(camera.width, camera.height, drawn - wanted)
        whole = replace(fresh, **{str(channel): getattr(frame, channel) for channel in drawn & wanted})
        self._render_triangles(camera, drawn, whole)
        if whole.depth is None or whole.instance is None or not placed:
            picture[:] = self.prepared.background
            self._paint_splats(splats, camera, picture)
            return
        is_placed = whole.instance > splats.last_object
        picture[~is_placed] = self.prepared.background
        self._paint_splats(splats, camera, picture, nearest=np.where(is_placed, whole.depth, np.float32(0)))

    def _paint_splats(
        self,
        splats: SplatCloud,
        camera: Camera,
        picture: NDArray[np.uint8],
        *,
        nearest: NDArray[np.float32] | None = None,
    ) -> None:
        """On a GPU as quads; in software the processor itself is faster than a driver that pretends to be one."""
        if self._quads is None:
            paint_splats(splats, camera, picture, nearest=nearest)
            return
        with self.device.context:
            self._quads.paint(camera, picture, nearest=nearest)

    def render_views(self, cameras: Iterable[Camera], channels: Iterable[Channel]) -> list[Frame]:
        """One picture per camera, one after the other."""
        wanted = frozenset(channels)
        return [self.render(camera, wanted) for camera in cameras]

    def render_batch(
        self, cameras: Sequence[Camera], channels: Iterable[Channel], out: Sequence[Frame] | None = None
    ) -> list[Frame]:
        """One picture per camera, the same bits as by `render`; those of one size are drawn and read together.

        Small pictures cost less this way. Without `out`, pictures that were drawn together are stretches of one array.
        """
        wanted = frozenset(channels)
        if out is not None and len(out) != len(cameras):
            raise BadCamera(f"{len(cameras)} cameras and {len(out)} frames: give one frame per camera.")
        frames: dict[int, Frame] = {}
        for numbers in _group_by_size(cameras, layers=self._count_layers):
            together = [cameras[number] for number in numbers]
            places = None if out is None else [out[number] for number in numbers]
            frames.update(zip(numbers, self._render_together(together, wanted, places), strict=True))
        return [frames[number] for number in range(len(cameras))]

    def submit(
        self, cameras: Sequence[Camera], channels: Iterable[Channel], out: Sequence[Frame]
    ) -> list[PendingFrames]:
        """Have pictures drawn that are collected later: a graphics card draws while somebody does something else.

        In software, and of splats, they are drawn at once.
        """
        wanted = frozenset(channels)
        if self.device.is_software or self.prepared.splats is not None:
            frames = self.render_batch(cameras, wanted, out)
            return [PendingFrames(frames, lambda: None)]
        pending = []
        for numbers in _group_by_size(cameras, layers=self._count_layers):
            together, places = [cameras[n] for n in numbers], [out[n] for n in numbers]
            for camera, frame in zip(together, places, strict=True):
                frame.check(camera.width, camera.height, wanted)
            with self.device.context:
                target = self._get_target(together[0], wanted, layers=len(together))
                pending.append(self._painter.submit(together, target, places))
        return pending

    def _count_layers(self, camera: Camera) -> int:
        """How many pictures of this size are drawn together."""
        if not self._draws_layers:
            return 1
        most = MOST_PIXELS_IN_SOFTWARE if self.device.is_software else MOST_PIXELS
        return max(1, min(MOST_LAYERS, most // (camera.width * camera.height)))

    def _render_together(
        self, cameras: Sequence[Camera], wanted: frozenset[Channel], out: Sequence[Frame] | None
    ) -> Sequence[Frame]:
        if len(cameras) == 1:
            return [self.render(cameras[0], wanted, None if out is None else out[0])]
        width, height = cameras[0].width, cameras[0].height
        if out is not None:
            for frame in out:
                frame.check(width, height, wanted)
            self._paint(cameras, wanted, out)
            return out
        column = Frame.empty(width, height * len(cameras), wanted)
        self._paint(cameras, wanted, [column])
        return column.split(len(cameras))

    def _get_target(self, camera: Camera, channels: frozenset[Channel], *, layers: int) -> RenderTarget:
        key = (camera.width, camera.height, channels, layers)
        target = self._targets.pop(key, None)
        if target is None:
            self._forget_atlas()
            target = RenderTarget(self.device.context, camera.width, camera.height, channels, layers=layers)
        self._targets[key] = target  # the last one is the one that was used last
        return target

    def _forget_atlas(self) -> None:
        atlases = [key for key, target in self._targets.items() if target.layers > 1]
        if len(atlases) >= KEPT_ATLASES:
            self._targets.pop(atlases[0]).release()

    def can_repaint(self, scene: Scene | PreparedScene) -> TypeGuard[PreparedScene]:
        """Whether it is another look of the canvas that is shown."""
        return isinstance(scene, PreparedScene) and bool(scene.moving_chunks) and scene.digest == self.prepared.digest

    def repaint(self, scene: PreparedScene) -> None:
        """From now on, another look of the same canvas; what was learned about where things show still holds."""
        self.prepared = scene
        self._painter.repaint(scene)
        with self.device.context:
            self._gpu.repaint(scene)

    def release(self) -> None:
        """Give the memory back; the renderer cannot be used afterwards."""
        with self.device.context:
            for target in self._targets.values():
                target.release()
            self._gpu.release()
            if self._quads is not None:
                self._quads.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


_TargetKey = tuple[int, int, frozenset[Channel], int]


def _group_by_size(cameras: Sequence[Camera], *, layers: Callable[[Camera], int]) -> Iterator[list[int]]:
    """Numbers of cameras whose pictures have one size, as many at a time as `layers` allows."""
    sizes: dict[tuple[int, int], list[int]] = {}
    for number, camera in enumerate(cameras):
        sizes.setdefault((camera.width, camera.height), []).append(number)
    for numbers in sizes.values():
        most = layers(cameras[numbers[0]])
        for start in range(0, len(numbers), most):
            yield numbers[start : start + most]
