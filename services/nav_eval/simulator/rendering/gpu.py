"""A prepared scene in GPU memory, and the canvases that it is drawn on."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import Texture, Wrap
from nav_eval.simulator.rendering.prepared import VERTEX, Batch, PreparedScene
from nav_eval.simulator.rendering.shaders import COLOR, METRES, SURFACE, ProgramKind, fragment_source, vertex_source

_FORMATS = {"position": "3f4", "uv": "2f4", "tint": "4f1", "surface": "1u4"}
_ATTACHMENTS = {COLOR: (4, "f1"), METRES: (1, "f4"), SURFACE: (1, "u4")}


class Run(NamedTuple):
    """A stretch of the index buffer that one draw call draws."""

    batch: int
    start: int
    """In triangles."""
    length: int


class _Brush(NamedTuple):
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
        self._vertices = context.buffer(_bytes(prepared.vertices))
        self._indices = context.buffer(reserve=max(prepared.chunks.triangles.nbytes, 4), dynamic=True)
        self._pictures = prepared.textures
        self._trilinear = trilinear
        self._textures: dict[int, moderngl.Texture] = {}
        self._view = context.buffer(reserve=64, dynamic=True)
        self._brushes: dict[tuple[tuple[str, ...], int], _Brush] = {}
        self._programs: dict[ProgramKind, tuple[moderngl.Program, moderngl.VertexArray]] = {}

    def write_triangles(self, triangles: NDArray[np.uint32]) -> None:
        if len(triangles):
            self._indices.write(triangles)

    def set_view(self, world_to_clip: NDArray[np.float64]) -> None:
        """The matrix that all programs use from now on."""
        self._view.write(np.ascontiguousarray(world_to_clip.T, dtype=np.float32))
        self._view.bind_to_uniform_block(0)

    def draw(self, runs: Sequence[Run], outputs: tuple[str, ...]) -> None:
        """Draw stretches of the index buffer, in this order."""
        for batch, start, length in runs:
            brush = self._brushes.get((outputs, batch)) or self._brush(outputs, batch)
            if brush.cutoff is not None:
                brush.program["cutoff"] = brush.cutoff
            if brush.texture is not None:
                brush.texture.use(0)
            brush.vertex_array.render(moderngl.TRIANGLES, vertices=3 * length, first=3 * start)

    def _brush(self, outputs: tuple[str, ...], batch_number: int) -> "_Brush":
        batch = self._batches[batch_number]
        kind = _kind(batch, outputs)
        program, vertex_array = self._program(kind)
        texture = self._texture(batch.texture) if batch.texture is not None and "uv" in kind.attributes else None
        brush = _Brush(program, vertex_array, texture, batch.alpha_cutoff if kind.masked else None)
        self._brushes[outputs, batch_number] = brush
        return brush

    def _texture(self, index: int) -> moderngl.Texture:
        """Uploaded when it is first seen: many scenes have more textures than a walk shows."""
        if index not in self._textures:
            self._textures[index] = _upload(self._context, self._pictures[index], trilinear=self._trilinear)
        return self._textures[index]

    def _program(self, kind: ProgramKind) -> tuple[moderngl.Program, moderngl.VertexArray]:
        if kind not in self._programs:
            program = self._context.program(vertex_shader=vertex_source(kind), fragment_shader=fragment_source(kind))
            program["View"].binding = 0  # type: ignore[union-attr]
            layout = (self._vertices, *_layout(kind.attributes))
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


class Canvas:
    """A framebuffer for one picture size and one set of outputs."""

    def __init__(self, context: moderngl.Context, size: tuple[int, int], outputs: tuple[str, ...]) -> None:
        self.outputs = outputs
        attachments = []
        for output in outputs:
            components, dtype = _ATTACHMENTS[output]
            attachments.append(context.renderbuffer(size, components, dtype=dtype))
        self._attachments = attachments
        self._depth = context.depth_renderbuffer(size)
        self._framebuffer = context.framebuffer(attachments, self._depth)

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


def _kind(batch: Batch, outputs: tuple[str, ...]) -> ProgramKind:
    return ProgramKind(
        outputs=outputs,
        textured=batch.texture is not None,
        tinted=batch.tinted,
        masked=batch.alpha_cutoff > 0.0,
    )


def _layout(attributes: tuple[str, ...]) -> tuple[str, ...]:
    """moderngl's buffer format: the attributes that a program reads, padding for the others."""
    names = VERTEX.names or ()
    used = ("position", *attributes)
    formats = [_FORMATS[name] if name in used else f"{VERTEX[name].itemsize}x" for name in names]
    return (" ".join(formats), *(name for name in names if name in used))


def _upload(context: moderngl.Context, texture: Texture, *, trilinear: bool) -> moderngl.Texture:
    height, width = texture.pixels.shape[:2]
    uploaded = context.texture((width, height), 4, np.ascontiguousarray(texture.pixels))
    uploaded.build_mipmaps()
    minified = moderngl.LINEAR_MIPMAP_LINEAR if trilinear else moderngl.LINEAR_MIPMAP_NEAREST
    uploaded.filter = (minified, moderngl.NEAREST if texture.nearest else moderngl.LINEAR)
    uploaded.repeat_x = texture.wrap_u is not Wrap.CLAMP
    uploaded.repeat_y = texture.wrap_v is not Wrap.CLAMP
    return uploaded


def _bytes(array: NDArray[np.void]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).view(np.uint8) if len(array) else np.zeros(4, dtype=np.uint8)
