"""A prepared scene in GPU memory, the framebuffers, and the way of their pixels into arrays."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from nav_eval.cache import drop_pages
from nav_eval.compilation import compile_nogil_kernel
from nav_eval.scene.model import Texture, Wrap
from nav_eval.sensors import Channel
from nav_eval.simulator.rendering.camera import Camera, Frame
from nav_eval.simulator.rendering.device import upload_levels
from nav_eval.simulator.rendering.mipmaps import split_mipmaps
from nav_eval.simulator.rendering.occlusion import DepthPicture, convert_depth_buffer
from nav_eval.simulator.rendering.prepared_scene import VERTEX, PreparedScene
from nav_eval.simulator.rendering.shaders import (
    COLOR,
    METRES,
    SURFACE,
    ProgramKind,
    make_fragment_source,
    make_vertex_source,
)

_FORMATS = {"position": "3f4", "uv": "2f4", "tint": "4f1", "surface": "1u4"}
_ATTACHMENTS = {COLOR: (4, "f1"), METRES: (1, "f4"), SURFACE: (1, "u4")}


class DrawRange(NamedTuple):
    """A stretch of the index buffer that one draw call draws."""

    batch: int
    start: int  #: in triangles
    length: int


class _DrawState(NamedTuple):
    """All that drawing one batch onto one kind of canvas needs."""

    program: moderngl.Program
    vertex_array: moderngl.VertexArray
    texture: moderngl.Texture | None
    cutoff: float | None


class SceneOnGpu:
    """Vertices and textures, uploaded once; which triangles to draw is written anew for every picture."""

    def __init__(self, context: moderngl.Context, prepared: PreparedScene, *, trilinear: bool) -> None:
        self._context = context
        self._batches = prepared.batches
        self._vertices = context.buffer(_as_bytes(prepared.vertices))
        self._indices = context.buffer(reserve=max(prepared.chunks.triangles.nbytes, 4), dynamic=True)
        self._pictures = prepared.textures
        self._mipmaps = prepared.mipmaps
        self._trilinear = trilinear
        self._textures: dict[int, moderngl.Texture] = {}
        self._view = context.buffer(reserve=64, dynamic=True)
        self._brushes: dict[tuple[tuple[str, ...], int], _DrawState] = {}
        self._programs: dict[ProgramKind, tuple[moderngl.Program, moderngl.VertexArray]] = {}

    def write_triangles(self, triangles: NDArray[np.uint32]) -> None:
        if len(triangles):
            self._indices.write(triangles)

    def set_view(self, world_to_clip: NDArray[np.float64]) -> None:
        """The matrix that all programs use from now on."""
        self._view.write(np.ascontiguousarray(world_to_clip.T, dtype=np.float32))
        self._view.bind_to_uniform_block(0)

    def draw(self, runs: Sequence[DrawRange], outputs: tuple[str, ...]) -> None:
        """Draw stretches of the index buffer, in this order."""
        for batch, start, length in runs:
            brush = self._brushes.get((outputs, batch)) or self._get_draw_state(outputs, batch)
            if brush.cutoff is not None:
                brush.program["cutoff"] = brush.cutoff
            if brush.texture is not None:
                brush.texture.use(0)
            brush.vertex_array.render(moderngl.TRIANGLES, vertices=3 * length, first=3 * start)

    def _get_draw_state(self, outputs: tuple[str, ...], batch_number: int) -> "_DrawState":
        batch = self._batches[batch_number]
        textured, masked = batch.texture is not None, batch.alpha_cutoff > 0.0
        kind = ProgramKind(outputs=outputs, textured=textured, tinted=batch.tinted, masked=masked)
        program, vertex_array = self._get_program(kind)
        texture = self._get_texture(batch.texture) if batch.texture is not None and "uv" in kind.attributes else None
        brush = _DrawState(program, vertex_array, texture, batch.alpha_cutoff if kind.masked else None)
        self._brushes[outputs, batch_number] = brush
        return brush

    def _get_texture(self, index: int) -> moderngl.Texture:
        """Uploaded when it is first seen: many scenes have more textures than a walk shows."""
        if index not in self._textures:
            picture, smaller = self._pictures[index], self._mipmaps[index]
            levels = split_mipmaps(picture.pixels, smaller)
            self._textures[index] = _upload(self._context, picture, levels, trilinear=self._trilinear)
            for array in (picture.pixels, smaller):
                drop_pages(array)
        return self._textures[index]

    def _get_program(self, kind: ProgramKind) -> tuple[moderngl.Program, moderngl.VertexArray]:
        if kind not in self._programs:
            program = self._context.program(
                vertex_shader=make_vertex_source(kind), fragment_shader=make_fragment_source(kind)
            )
            program["View"].binding = 0  # type: ignore[union-attr]
            layout = (self._vertices, *_make_layout(kind.attributes))
            self._programs[kind] = program, self._context.vertex_array(program, [layout], self._indices)
        return self._programs[kind]

    def release(self) -> None:
        for program, vertex_array in self._programs.values():
            vertex_array.release()
            program.release()
        for texture in self._textures.values():
            texture.release()
        self._view.release()
        self._indices.release()
        self._vertices.release()


class Framebuffer:
    """A framebuffer for one picture size and one set of outputs."""

    def __init__(self, context: moderngl.Context, size: tuple[int, int], outputs: tuple[str, ...]) -> None:
        self.outputs = outputs
        kinds = [_ATTACHMENTS[output] for output in outputs]
        self._attachments = [context.renderbuffer(size, components, dtype=dtype) for components, dtype in kinds]
        self._depth = context.depth_renderbuffer(size)
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

    def read_depth_buffer(self, into: NDArray[np.uint32]) -> None:
        """The raw depth buffer as 32-bit fractions: cheaper than floats."""
        self._framebuffer.read_into(into, attachment=-1, components=1, dtype="u4")

    def release(self) -> None:
        self._framebuffer.release()
        for attachment in (*self._attachments, self._depth):
            attachment.release()


def _make_layout(attributes: tuple[str, ...]) -> tuple[str, ...]:
    """moderngl's buffer format: the attributes that a program reads, padding for the others."""
    names = VERTEX.names or ()
    used = ("position", *attributes)
    formats = [_FORMATS[name] if name in used else f"{VERTEX[name].itemsize}x" for name in names]
    return (" ".join(formats), *(name for name in names if name in used))


def _upload(
    context: moderngl.Context, texture: Texture, levels: Sequence[NDArray[np.uint8]], *, trilinear: bool
) -> moderngl.Texture:
    """All levels of a texture; the filter comes first, as it tells the driver that there will be several."""
    uploaded = context.texture((1, 1), 4)
    minified = moderngl.LINEAR_MIPMAP_LINEAR if trilinear else moderngl.LINEAR_MIPMAP_NEAREST
    uploaded.filter = (minified, moderngl.NEAREST if texture.nearest else moderngl.LINEAR)
    uploaded.repeat_x = texture.wrap_u is not Wrap.CLAMP
    uploaded.repeat_y = texture.wrap_v is not Wrap.CLAMP
    upload_levels(uploaded.glo, levels)
    return uploaded


def _as_bytes(array: NDArray[np.void]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).view(np.uint8) if len(array) else np.zeros(4, dtype=np.uint8)


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
    def __init__(self, context: moderngl.Context, width: int, height: int, channels: frozenset[Channel]) -> None:
        self._channels = channels
        self.canvas = Framebuffer(context, (width, height), _choose_outputs(channels))
        self.depth = DepthPicture.over(np.empty((height, width), dtype=np.float32))
        self._rgba = np.empty((height, width, 4), dtype=np.uint8)
        self._raw = np.empty((height, width), dtype=np.uint32)

    def read_metres(self, camera: Camera, into: NDArray[np.float32]) -> None:
        """The depth picture: from its own output if there is one, else from the depth buffer."""
        if METRES in self.canvas.outputs:
            self.canvas.read(METRES, into)
        else:
            self.canvas.read_depth_buffer(self._raw)
            convert_depth_buffer(self._raw, camera.near, camera.far, into)

    def deliver(self, frame: Frame, surfaces: NDArray[np.int64], *, depth_is_there: bool) -> None:
        """Read what was painted into the frame's arrays."""
        if frame.rgb is not None and Channel.RGB in self._channels:
            self.canvas.read(COLOR, self._rgba)
            drop_alpha(self._rgba, frame.rgb)
        if frame.depth is not None and Channel.DEPTH in self._channels and not depth_is_there:
            self.canvas.read(METRES, frame.depth)
        if SURFACE in self.canvas.outputs:
            self.canvas.read(SURFACE, self._raw)
        if frame.semantic is not None and Channel.SEMANTIC in self._channels:
            look_up(self._raw, surfaces, 0, frame.semantic)
        if frame.instance is not None and Channel.INSTANCE in self._channels:
            look_up(self._raw, surfaces, 1, frame.instance)


def _choose_outputs(channels: frozenset[Channel]) -> tuple[str, ...]:
    wanted = {
        COLOR: Channel.RGB in channels,
        METRES: Channel.DEPTH in channels,
        SURFACE: not channels.isdisjoint({Channel.SEMANTIC, Channel.INSTANCE}),
    }
    return tuple(output for output, is_wanted in wanted.items() if is_wanted)
