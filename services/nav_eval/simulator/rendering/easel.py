"""A canvas with the arrays that pictures of its size and channels pass through."""

import moderngl
import numpy as np
from numpy.typing import NDArray

from nav_eval.simulator.rendering.camera import Camera
from nav_eval.simulator.rendering.frame import Channel, Frame
from nav_eval.simulator.rendering.gpu import Canvas
from nav_eval.simulator.rendering.occlusion import DepthPicture, metres_from_depth_buffer
from nav_eval.simulator.rendering.pixels import look_up, without_alpha
from nav_eval.simulator.rendering.shaders import COLOR, METRES, SURFACE


class Easel:
    def __init__(self, context: moderngl.Context, width: int, height: int, channels: frozenset[Channel]) -> None:
        self._channels = channels
        self.canvas = Canvas(context, (width, height), _outputs(channels))
        self.depth = DepthPicture.over(np.empty((height, width), dtype=np.float32))
        self._rgba = np.empty((height, width, 4), dtype=np.uint8)
        self._raw = np.empty((height, width), dtype=np.uint32)

    def read_metres(self, camera: Camera, into: NDArray[np.float32]) -> None:
        """The depth picture: from its own output if there is one, else from the depth buffer."""
        if METRES in self.canvas.outputs:
            self.canvas.read(METRES, into)
        else:
            self.canvas.read_depth_buffer(self._raw)
            metres_from_depth_buffer(self._raw, camera.near, camera.far, into)

    def deliver(self, frame: Frame, surfaces: NDArray[np.int64], *, depth_is_there: bool) -> None:
        """Read what was painted into the frame's arrays."""
        if frame.rgb is not None and Channel.RGB in self._channels:
            self.canvas.read(COLOR, self._rgba)
            without_alpha(self._rgba, frame.rgb)
        if frame.depth is not None and Channel.DEPTH in self._channels and not depth_is_there:
            self.canvas.read(METRES, frame.depth)
        if SURFACE in self.canvas.outputs:
            self.canvas.read(SURFACE, self._raw)
        if frame.semantic is not None and Channel.SEMANTIC in self._channels:
            look_up(self._raw, surfaces, 0, frame.semantic)
        if frame.instance is not None and Channel.INSTANCE in self._channels:
            look_up(self._raw, surfaces, 1, frame.instance)


def _outputs(channels: frozenset[Channel]) -> tuple[str, ...]:
    wanted = {
        COLOR: Channel.RGB in channels,
        METRES: Channel.DEPTH in channels,
        SURFACE: not channels.isdisjoint({Channel.SEMANTIC, Channel.INSTANCE}),
    }
    return tuple(output for output, is_wanted in wanted.items() if is_wanted)
