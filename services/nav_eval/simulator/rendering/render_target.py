"""Framebuffers, and the way of their pixels into arrays.

One picture has a framebuffer of its own. Pictures that are drawn together share an atlas: a framebuffer with a layer
for each. Layers, and not tiles side by side: OpenGL rounds where a picture begins, so every picture has to begin at
0, 0 to have the same bits wherever it is drawn.
"""

import ctypes
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import moderngl
import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_kernel
from nav_eval.sensors import Channel
from nav_eval.simulator.rendering.camera import Camera, Frame
from nav_eval.simulator.rendering.device import call_gl
from nav_eval.simulator.rendering.occlusion import DepthPicture, convert_depth_buffer
from nav_eval.simulator.rendering.pixel_copy import PixelCopy
from nav_eval.simulator.rendering.shaders import COLOR, METRES, SURFACE

_ATTACHMENTS = {COLOR: (4, "f1"), METRES: (1, "f4"), SURFACE: (1, "u4")}


class Pixels(Protocol):
    """What was drawn."""

    def read(self, output: str, into: NDArray[np.generic]) -> None:
        """Of all layers."""


class Canvas(Pixels, Protocol):
    """What is drawn onto."""

    outputs: tuple[str, ...]  #: of COLOR, METRES, SURFACE

    def begin(self, background: tuple[int, int, int]) -> None:
        """Draw here from now on; nothing is there yet."""

    def copy(self, output: str, into: moderngl.Buffer) -> None:
        """The same into a buffer of OpenGL's, for which nobody waits."""

    def read_depth_buffer(self, into: NDArray[np.uint32]) -> None:
        """The raw depth buffer as 32-bit fractions: cheaper than floats."""

    def release(self) -> None: ...


class Framebuffer:
    """A framebuffer for one picture size and one set of outputs."""

    def __init__(self, context: moderngl.Context, size: tuple[int, int], outputs: tuple[str, ...]) -> None:
        self.outputs = outputs
        kinds = [_ATTACHMENTS[output] for output in outputs]
        self._attachments = [context.renderbuffer(size, components, dtype=dtype) for components, dtype in kinds]
        self._depth = context.depth_renderbuffer(size)
        call_gl("glBindRenderbuffer", _RENDERBUFFER, self._depth.glo)
        call_gl("glRenderbufferStorage", _RENDERBUFFER, _DEPTH, *size)  # ModernGL knows one of 24 bits alone
        self._framebuffer = context.framebuffer(self._attachments, self._depth)

    def begin(self, background: tuple[int, int, int]) -> None:
        self._framebuffer.use()
        self._framebuffer.clear()
        if any(background) and COLOR in self.outputs:
            red, green, blue = (value / 255 for value in background)
            self._write_only(COLOR)
            self._framebuffer.clear(red, green, blue)
            self._write_only(*self.outputs)

    def _write_only(self, *outputs: str) -> None:
        masks: Any = [(output in outputs,) * 4 for output in self.outputs]
        self._framebuffer.color_mask = masks if len(masks) > 1 else masks[0]

    def read(self, output: str, into: NDArray[np.generic]) -> None:
        components, dtype = _ATTACHMENTS[output]
        index = self.outputs.index(output)
        self._framebuffer.read_into(into, attachment=index, components=components, dtype=dtype)

    def copy(self, output: str, into: moderngl.Buffer) -> None:
        components, dtype = _ATTACHMENTS[output]
        index = self.outputs.index(output)
        self._framebuffer.read_into(into, attachment=index, components=components, dtype=dtype)

    def read_depth_buffer(self, into: NDArray[np.uint32]) -> None:
        self._framebuffer.read_into(into, attachment=-1, components=1, dtype="u4")

    def release(self) -> None:
        self._framebuffer.release()
        for attachment in (*self._attachments, self._depth):
            attachment.release()


class Atlas:
    """The same with a layer for each of several pictures. ModernGL has no such framebuffers."""

    def __init__(self, size: tuple[int, int], layers: int, outputs: tuple[str, ...]) -> None:
        self.outputs = outputs
        self._size = size
        kinds = [*(_LAYERS[output] for output in outputs), _DEPTH_LAYERS]
        self._textures = (ctypes.c_uint * len(kinds))()
        self._framebuffer = (ctypes.c_uint * 1)()
        call_gl("glGenTextures", len(kinds), ctypes.addressof(self._textures))
        call_gl("glGenFramebuffers", 1, ctypes.addressof(self._framebuffer))
        call_gl("glBindFramebuffer", _FRAMEBUFFER, self._framebuffer[0])
        points = [_COLOR_ATTACHMENT + number for number in range(len(outputs))]
        for texture, kind, point in zip(self._textures, kinds, [*points, _DEPTH_ATTACHMENT], strict=True):
            call_gl("glBindTexture", _TEXTURE_ARRAY, texture)
            call_gl("glTexStorage3D", _TEXTURE_ARRAY, 1, kind[0], *size, layers)
            call_gl("glFramebufferTexture", _FRAMEBUFFER, point, texture, 0)
        names = (ctypes.c_uint * len(points))(*points)
        call_gl("glDrawBuffers", len(points), ctypes.addressof(names))

    def begin(self, background: tuple[int, int, int]) -> None:
        call_gl("glBindFramebuffer", _FRAMEBUFFER, self._framebuffer[0])
        call_gl("glViewport", 0, 0, *self._size)
        for number, output in enumerate(self.outputs):
            if output == SURFACE:
                call_gl("glClearBufferuiv", _CLEAR_COLOR, number, ctypes.addressof(_NO_SURFACE))
            else:
                shade = (ctypes.c_float * 4)(*(value / 255 for value in background)) if output == COLOR else _NOTHING
                call_gl("glClearBufferfv", _CLEAR_COLOR, number, ctypes.addressof(shade))
        call_gl("glClearBufferfv", _CLEAR_DEPTH, 0, ctypes.addressof(_FARTHEST))

    def read(self, output: str, into: NDArray[np.generic]) -> None:
        self._read(self._textures[self.outputs.index(output)], _LAYERS[output], into.ctypes.data)

    def copy(self, output: str, into: moderngl.Buffer) -> None:
        call_gl("glBindBuffer", _PIXEL_PACK_BUFFER, into.glo)
        self._read(self._textures[self.outputs.index(output)], _LAYERS[output], 0)
        call_gl("glBindBuffer", _PIXEL_PACK_BUFFER, 0)

    def read_depth_buffer(self, into: NDArray[np.uint32]) -> None:
        self._read(self._textures[len(self.outputs)], _DEPTH_LAYERS, into.ctypes.data)

    def _read(self, texture: int, kind: tuple[int, int, int], address: int) -> None:
        """To this address, in a buffer if one is bound."""
        _, layout, number = kind
        call_gl("glBindTexture", _TEXTURE_ARRAY, texture)
        call_gl("glGetTexImage", _TEXTURE_ARRAY, 0, layout, number, address)

    def release(self) -> None:
        call_gl("glDeleteFramebuffers", 1, ctypes.addressof(self._framebuffer))
        call_gl("glDeleteTextures", len(self._textures), ctypes.addressof(self._textures))


_FRAMEBUFFER, _COLOR_ATTACHMENT, _DEPTH_ATTACHMENT = 0x8D40, 0x8CE0, 0x8D00
_TEXTURE_ARRAY, _CLEAR_COLOR, _CLEAR_DEPTH, _PIXEL_PACK_BUFFER = 0x8C1A, 0x1800, 0x1801, 0x88EB
_LAYERS = {
    COLOR: (0x8058, 0x1908, 0x1401),  # RGBA8, read as RGBA bytes
    METRES: (0x822E, 0x1903, 0x1406),  # R32F, read as red floats
    SURFACE: (0x8236, 0x8D94, 0x1405),  # R32UI, read as red integers
}
"""What OpenGL calls an output: how it is kept, and what of it is read as which type."""
_RENDERBUFFER, _DEPTH = 0x8D41, 0x81A7
"""32 bits, which software need not mask nor widen; as depths are computed, they are no finer than with 24."""
_DEPTH_LAYERS = (_DEPTH, 0x1902, 0x1405)  # read as 32-bit fractions
_NOTHING, _FARTHEST, _NO_SURFACE = (ctypes.c_float * 4)(), (ctypes.c_float * 1)(1.0), (ctypes.c_uint * 4)()


@compile_nogil_kernel
def drop_alpha(rgba: NDArray[np.uint8], rgb: NDArray[np.uint8]) -> None:
    """Four pixels at a time: sixteen bytes in, three words out."""
    pixels = rgba.reshape(-1).view(np.uint32)
    words = rgb.reshape(-1)[: len(pixels) // 4 * 12].view(np.uint32)
    low, middle, high = np.uint32(0xFF), np.uint32(0xFFFF), np.uint32(0xFFFFFF)
    for i in range(len(pixels) // 4):
        a, b, c, d = pixels[4 * i], pixels[4 * i + 1], pixels[4 * i + 2], pixels[4 * i + 3]
        words[3 * i] = (a & high) | ((b & low) << np.uint32(24))
        words[3 * i + 1] = ((b >> np.uint32(8)) & middle) | ((c & middle) << np.uint32(16))
        words[3 * i + 2] = ((c >> np.uint32(16)) & low) | ((d & high) << np.uint32(8))
    source, target = rgba.reshape(-1, 4), rgb.reshape(-1, 3)
    for i in range(len(pixels) // 4 * 4, len(pixels)):
        for k in range(3):
            target[i, k] = source[i, k]


@compile_nogil_kernel
def look_up(rows: NDArray[np.uint32], table: NDArray[np.int64], column: int, out: NDArray[np.generic]) -> None:
    """out = table[rows, column], for tables that are small and pictures that are not."""
    height, width = rows.shape
    for y in range(height):
        for x in range(width):
            out[y, x] = table[rows[y, x], column]


class RenderTarget:
    """Where pictures of one size and with the same channels are drawn together."""

    def __init__(
        self, context: moderngl.Context, width: int, height: int, channels: frozenset[Channel], *, layers: int
    ) -> None:
        self._channels = channels
        outputs = _choose_outputs(channels)
        self.layers = layers
        self.canvas: Canvas = (
            Framebuffer(context, (width, height), outputs) if layers == 1 else Atlas((width, height), layers, outputs)
        )
        self.depth = DepthPicture.over(np.empty((layers, height, width), dtype=np.float32))
        self._shape = (layers, height, width)
        self._context = context
        self._copies: list[PixelCopy] = []  #: that nobody needs now

    @property
    def delivers_depth(self) -> bool:
        return Channel.DEPTH in self._channels

    @cached_property
    def _rgba(self) -> NDArray[np.uint8]:
        return np.empty((*self._shape, 4), dtype=np.uint8)

    @cached_property
    def _raw(self) -> NDArray[np.uint32]:
        return np.empty(self._shape, dtype=np.uint32)

    def copy_pixels(self) -> PixelCopy:
        """What is drawn so far: something else may be drawn before somebody reads it."""
        copy = self._copies.pop() if self._copies else self._make_copy()
        for output, buffer in copy.buffers.items():
            self.canvas.copy(output, buffer)
        return copy

    def _make_copy(self) -> PixelCopy:
        size = 4 * math.prod(self._shape)  # every output has four bytes per pixel
        return PixelCopy({output: self._context.buffer(reserve=size) for output in self.canvas.outputs})

    def give_back(self, copy: PixelCopy) -> None:
        self._copies.append(copy)

    def release(self) -> None:
        self.canvas.release()
        for copy in self._copies:
            copy.release()

    def read_metres(self, cameras: Sequence[Camera], into: NDArray[np.float32], pixels: Pixels | None = None) -> None:
        """The depth pictures: from their own output if there is one, else from the depth buffer."""
        if METRES in self.canvas.outputs:
            (pixels or self.canvas).read(METRES, into)
        else:
            self.canvas.read_depth_buffer(self._raw)
            near, far = np.array([(camera.near, camera.far) for camera in cameras]).T
            convert_depth_buffer(self._raw, near, far, into)

    def deliver(
        self, frames: Sequence[Frame], surfaces: NDArray[np.int64], metres: NDArray[np.float32], pixels: Pixels
    ) -> None:
        """Put what was painted, and the depth that was read, into a frame each, or below each other into one."""
        colored = Channel.RGB in self._channels
        if colored:
            pixels.read(COLOR, self._rgba)
        if SURFACE in self.canvas.outputs:
            pixels.read(SURFACE, self._raw)
        rows, width = self._shape[0] * self._shape[1] // len(frames), self._shape[2]
        for number, frame in enumerate(frames):
            part = slice(number * rows, (number + 1) * rows)
            if colored and frame.rgb is not None:
                drop_alpha(self._rgba.reshape(-1, width, 4)[part], frame.rgb)
            if Channel.DEPTH in self._channels and frame.depth is not None and metres is self.depth.metres:
                frame.depth[:] = metres.reshape(-1, width)[part]
            if Channel.SEMANTIC in self._channels and frame.semantic is not None:
                look_up(self._raw.reshape(-1, width)[part], surfaces, 0, frame.semantic)
            if Channel.INSTANCE in self._channels and frame.instance is not None:
                look_up(self._raw.reshape(-1, width)[part], surfaces, 1, frame.instance)

    def choose_depth(self, frames: Sequence[Frame]) -> DepthPicture:
        """Room for the depth pictures: in the frame itself where there is only one."""
        if len(frames) == 1 and frames[0].depth is not None and Channel.DEPTH in self._channels:
            return self.depth._replace(metres=frames[0].depth.reshape(self._shape))
        return self.depth


def _choose_outputs(channels: frozenset[Channel]) -> tuple[str, ...]:
    wanted = {
        COLOR: Channel.RGB in channels,
        METRES: Channel.DEPTH in channels,
        SURFACE: not channels.isdisjoint({Channel.SEMANTIC, Channel.INSTANCE}),
    }
    return tuple(output for output, is_wanted in wanted.items() if is_wanted)
