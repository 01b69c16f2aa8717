"""A prepared scene in GPU memory, and how its triangles are drawn."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import MAPS, AlphaMode, Material, Texture, Wrap
from nav_eval.simulator.rendering.camera import KernelCameras
from nav_eval.simulator.rendering.device import upload_levels
from nav_eval.simulator.rendering.draw_list import DrawList, DrawRun
from nav_eval.simulator.rendering.lighting import Lighting
from nav_eval.simulator.rendering.mipmaps import make_mipmaps, split_mipmaps
from nav_eval.simulator.rendering.prepared_scene import VERTEX, Batch, PreparedScene
from nav_eval.simulator.rendering.shaders import COLOR, ProgramKind, make_fragment_source, make_vertex_source
from nav_eval.simulator.rendering.surface_shader import EMISSION, ShadingKind
from nav_eval.simulator.rendering.texel_files import StoredTexture, TexelFiles, drop_levels, find_plain_color

_FORMATS = {"position": "3f4", "uv": "2f4", "tint": "4f1", "surface": "1u4"}
_PLAIN_BLEND = (moderngl.SRC_ALPHA, moderngl.ONE_MINUS_SRC_ALPHA)
_ADDED_BLEND = (moderngl.ONE, moderngl.ONE_MINUS_SRC_ALPHA)
"""Of shaded surfaces: highlights are on top of glass, however clear it is."""
_MOST_TEXTURES = 512
"""Uploaded at once, where looks of a canvas come and go."""
_SHADED = -1
"""In place of a texture: what is shaded."""
_VIEW_BYTES = 80
"""Of a view on the GPU: its matrix, the eye and the number of its layer."""


class _DrawState(NamedTuple):
    """All that drawing one batch onto one kind of canvas needs."""

    program: moderngl.Program
    vertex_array: moderngl.VertexArray
    texture: moderngl.Texture | None
    cutoff: float | None
    uniforms: tuple[tuple[moderngl.Uniform, bytes], ...] = ()  #: of a shaded batch, or of one with one colour
    maps: tuple[moderngl.Texture, ...] = ()  #: from the second texture unit on
    blend: tuple[int, int] | None = None  #: factors of what is drawn and of what is there


_CanvasKind = tuple[tuple[str, ...], bool]
"""Outputs of the framebuffer, and whether there are several layers."""


class SceneOnGpu:
    """Vertices and textures, uploaded once; which triangles to draw is written anew for every picture."""

    def __init__(self, context: moderngl.Context, prepared: PreparedScene, *, trilinear: bool) -> None:
        self._context = context
        self._prepared = prepared
        self._batches = prepared.batches
        self._vertices = context.buffer(_as_bytes(prepared.vertices))
        self._tints = None if prepared.tints is None else context.buffer(_as_bytes(prepared.tints))
        self._indices = context.buffer(reserve=4, dynamic=True)
        self._trilinear = trilinear
        self._texels = TexelFiles(context)
        self._stored = dict(prepared.stored) | _list_stored(prepared)
        self._plain_colors = {number: (known.texture, known.plain) for number, known in prepared.stored.items()}
        self._textures: dict[tuple[int, bool], tuple[Texture, moderngl.Texture]] = {}  #: by identity of the picture
        self._views = context.buffer(reserve=_VIEW_BYTES, dynamic=True)
        self._commands = context.buffer(reserve=20, dynamic=True)
        self._normals = context.buffer(_as_bytes(prepared.normals)) if len(prepared.normals) else None
        self._lighting = context.buffer(_pack_lighting(prepared.lighting)) if self._normals else None
        self._brushes: dict[_CanvasKind, dict[int, _DrawState]] = {}  #: by number of the batch
        self._stale: dict[tuple[_CanvasKind, int], _DrawState] = {}  #: shaded ones of the look before
        self._alike: dict[Hashable, tuple[Texture | None, _DrawState]] = {}  #: all that looks had, not shaded ones
        self._changing = _list_changing(prepared)
        self._programs: dict[ProgramKind, tuple[moderngl.Program, moderngl.VertexArray]] = {}

    def repaint(self, prepared: PreparedScene) -> None:
        """Show another look of the same canvas; textures that it shares with those before are there already."""
        pairs = enumerate(zip(self._prepared.textures, prepared.textures, strict=True))
        changed = {number for number, (old, new) in pairs if old is not new}
        shaded_alike = _count_lamps(self._prepared.lighting) == _count_lamps(prepared.lighting)
        self._prepared = prepared
        if self._tints is None or prepared.tints is None:
            self._vertices.write(_as_bytes(prepared.vertices))
        else:  # nothing else changes but what stands in the room: a tenth of all bytes
            self._tints.write(_as_bytes(prepared.tints))
            still = len(prepared.vertices) - prepared.moving_vertices
            if prepared.placed_vertices:
                placed = prepared.vertices[still : still + prepared.placed_vertices]
                self._vertices.write(_as_bytes(placed), offset=still * VERTEX.itemsize)
        if self._normals is not None and self._lighting is not None:
            self._normals.write(_as_bytes(prepared.normals))
            self._lighting.write(_pack_lighting(prepared.lighting))
        if shaded_alike:
            self._put_aside([number for texture in changed for number in self._changing.get(texture, ())])
        else:
            self._brushes.clear()
            self._stale.clear()
        if len(self._textures) > _MOST_TEXTURES:
            self._drop_textures()

    def _put_aside(self, batches: Sequence[int]) -> None:
        """Brushes of these batches, and of all that are shaded: they may look different now."""
        for kind, brushes in self._brushes.items():
            for number in batches:
                brushes.pop(number, None)
            for number in self._changing.get(_SHADED, ()):
                if number in brushes:
                    self._stale[kind, number] = brushes.pop(number)

    def _drop_textures(self) -> None:
        """Those that the look does not have; brushes hold no others."""
        self._stale.clear()
        self._alike.clear()
        shown = {id(picture) for picture in self._prepared.textures}
        for key in [key for key in self._textures if key[0] not in shown]:
            self._textures.pop(key)[1].release()
        for number in self._plain_colors.keys() - shown - self._prepared.stored.keys():
            del self._plain_colors[number]

    def write_triangles(self, triangles: NDArray[np.uint32]) -> None:
        if len(triangles):
            _write(self._indices, triangles)

    def set_views(self, cameras: KernelCameras) -> None:
        """The cameras that everything is drawn for from now on; the first of them is layer 0."""
        views = np.empty((len(cameras.eye), _VIEW_BYTES // 4), dtype=np.float32)
        views[:, :16] = cameras.clip.transpose(0, 2, 1).reshape(-1, 16)
        views[:, 16:19] = cameras.eye
        views.view(np.int32)[:, 19] = np.arange(len(views))
        _write(self._views, views)
        self._views.bind_to_uniform_block(0)
        if self._lighting is not None:
            self._lighting.bind_to_uniform_block(1)

    def draw(self, plan: DrawList, outputs: tuple[str, ...], *, layered: bool) -> None:
        """Draw the triangles that were written, in the order of the list."""
        if layered and len(plan.commands):
            _write(self._commands, plan.commands)
        for brush, start, length in self._join_runs(plan.runs, outputs, layered=layered):
            if brush.cutoff is not None:
                brush.program["cutoff"] = brush.cutoff
            if brush.texture is not None:
                brush.texture.use(0)
            if brush.uniforms:
                _load_look(brush)
            if brush.blend is not None:
                self._context.blend_func = brush.blend
            if layered:
                brush.vertex_array.render_indirect(self._commands, moderngl.TRIANGLES, length, start)
            else:
                brush.vertex_array.render(moderngl.TRIANGLES, vertices=3 * length, first=3 * start)

    def draw_depths(self, plan: DrawList, *, layered: bool) -> None:
        """Draw the same triangles by one call, where nothing but their depths matters. Masks have no holes then."""
        kind = ProgramKind(outputs=(), textured=False, tinted=False, masked=False, layered=layered)
        _, vertex_array = self._get_program(kind)
        if layered:
            _write(self._commands, plan.commands)
            vertex_array.render_indirect(self._commands, moderngl.TRIANGLES, len(plan.commands))
        else:
            vertex_array.render(moderngl.TRIANGLES, vertices=3 * sum(run.length for run in plan.runs))

    def _join_runs(
        self, runs: Sequence[DrawRun], outputs: tuple[str, ...], *, layered: bool
    ) -> Iterator[tuple[_DrawState, int, int]]:
        """The brush of each run, its start and length; runs that follow each other with one brush are one.

        Batches of a canvas are often drawn alike: looks give the same texture to several.
        """
        last: tuple[_DrawState, int, int] | None = None
        kind = outputs, layered
        brushes = self._brushes.setdefault(kind, {})
        for run in runs:
            brush = brushes.get(run.batch)
            if brush is None:
                brush = brushes[run.batch] = self._choose_brush(kind, run.batch)
            if last is not None and last[1] + last[2] == run.start and last[0] == brush:
                last = brush, last[1], last[2] + run.length
                continue
            if last is not None:
                yield last
            last = brush, run.start, run.length
        if last is not None:
            yield last

    def _choose_brush(self, kind: _CanvasKind, number: int) -> _DrawState:
        """What draws a batch: the same for all batches that are drawn alike, in this look and in others."""
        (outputs, layered), batch = kind, self._batches[number]
        if batch.shaded is not None and COLOR in outputs:
            stale = self._stale.pop((kind, number), None)
            return self._make_brush(batch, kind) if stale is None else self._freshen(batch, batch.shaded, stale)
        picture = None
        if batch.texture is not None and (COLOR in outputs or batch.alpha_cutoff > 0.0):
            picture = self._prepared.textures[batch.texture]
        alike = outputs, layered, batch.tinted, batch.alpha_cutoff, batch.alpha_mode, id(picture)
        if alike not in self._alike:
            self._alike[alike] = picture, self._make_brush(batch, kind)
        return self._alike[alike][1]

    def _make_brush(self, batch: Batch, canvas: _CanvasKind) -> _DrawState:
        outputs, layered = canvas
        shading = self._choose_shading(batch) if COLOR in outputs else None
        color = None
        if batch.texture is not None and shading is None:
            color = self._find_plain_color(self._prepared.textures[batch.texture])
        kind = ProgramKind(
            outputs=outputs,
            textured=batch.texture is not None,
            tinted=batch.tinted,
            masked=batch.alpha_cutoff > 0.0,
            shading=shading,
            plain=color is not None,
            layered=layered,
        )
        program, vertex_array = self._get_program(kind)
        texture = None
        if batch.texture is not None and "uv" in kind.attributes:
            texture = self._get_texture(batch.texture, decoded=shading is not None)
        brush = _DrawState(program, vertex_array, texture, batch.alpha_cutoff if kind.masked else None)
        if color is not None and isinstance(uniform := program.get("plain_color", None), moderngl.Uniform):
            brush = brush._replace(uniforms=((uniform, color.tobytes()),))
        if batch.alpha_mode is AlphaMode.BLEND:
            brush = brush._replace(blend=_PLAIN_BLEND if shading is None else _ADDED_BLEND)
        if shading is not None and batch.shaded is not None:
            brush = self._add_look(brush, shading, self._prepared.materials[batch.shaded])
        return brush

    def _freshen(self, batch: Batch, material: int, brush: _DrawState) -> _DrawState:
        """What drew a shaded batch in the look before, for this one: only colour and texture may differ."""
        base = np.array(self._prepared.materials[material].base_color, dtype=np.float32).tobytes()
        uniforms = tuple((own, base if own.name == "base_color" else value) for own, value in brush.uniforms)
        if brush.texture is None or batch.texture is None:
            return brush._replace(uniforms=uniforms)
        return brush._replace(uniforms=uniforms, texture=self._get_texture(batch.texture, decoded=True))

    def _find_plain_color(self, picture: Texture) -> NDArray[np.float32] | None:
        if id(picture) not in self._plain_colors:
            stored = self._stored.get(id(picture))
            smaller = () if stored is None else stored.levels[1:]
            self._plain_colors[id(picture)] = picture, find_plain_color(picture, smaller)
        return self._plain_colors[id(picture)][1]

    def _choose_shading(self, batch: Batch) -> ShadingKind | None:
        if batch.shaded is None:
            return None
        material, lighting = self._prepared.materials[batch.shaded], self._prepared.lighting
        return ShadingKind(
            maps=tuple(name for name in MAPS if getattr(material.shading, name) is not None),
            glass=material.shading.transmission > 0.0,
            coated=material.shading.coat > 0.0,
            cloth=any(material.shading.sheen),
            surroundings=lighting.surroundings,
            blended=batch.alpha_mode is AlphaMode.BLEND,
            suns=lighting.suns,
            lamps=len(lighting.lamps) - lighting.suns,
        )

    def _add_look(self, brush: _DrawState, kind: ShadingKind, material: Material) -> _DrawState:
        shading = material.shading
        values = {
            "base_color": material.base_color,
            "emission": material.emissive,
            "surface_factors": (
                shading.metallic, shading.roughness, shading.normal_scale, shading.occlusion_strength,
            ),
            "glass": (*shading.transmission_color, shading.transmission),
            "reflectance": shading.reflectance,
            "coat": (shading.coat, shading.coat_roughness),
            "sheen": (*shading.sheen, shading.sheen_roughness),
        }  # fmt: skip
        known = [(brush.program.get(name, None), value) for name, value in values.items()]
        uniforms = tuple(
            (uniform, np.array(value, dtype=np.float32).tobytes())
            for uniform, value in known
            if isinstance(uniform, moderngl.Uniform)
        )
        for unit, name in enumerate(kind.maps, start=1):
            brush.program[name] = unit
        maps = tuple(self._get_texture(getattr(shading, name), decoded=name == EMISSION) for name in kind.maps)
        return brush._replace(uniforms=uniforms, maps=maps)

    def _get_texture(self, index: int, *, decoded: bool) -> moderngl.Texture:
        """Uploaded when it is first seen: many scenes have more textures than a walk shows."""
        picture = self._prepared.textures[index]
        key = (id(picture), decoded)
        if key not in self._textures:
            texture = _create_texture(self._context, picture, trilinear=self._trilinear)
            stored = self._stored.get(id(picture))
            if stored is None:  # of a look's own
                upload_levels(texture.glo, split_mipmaps(picture.pixels, make_mipmaps(picture.pixels)), decoded=decoded)
            elif stored.path is None or not self._texels.show(texture.glo, stored.path, stored.levels, decoded=decoded):
                upload_levels(texture.glo, stored.levels, decoded=decoded)
                drop_levels(stored.levels)
            self._textures[key] = (picture, texture)
        return self._textures[key][1]

    def _get_program(self, kind: ProgramKind) -> tuple[moderngl.Program, moderngl.VertexArray]:
        if kind not in self._programs:
            program = self._context.program(
                vertex_shader=make_vertex_source(kind), fragment_shader=make_fragment_source(kind)
            )
            own = kind.attributes if self._tints is None else tuple(n for n in kind.attributes if n != "tint")
            layouts: list[Any] = [(self._vertices, *_make_layout(own))]
            if own != kind.attributes:
                layouts.append((self._tints, _FORMATS["tint"], "tint"))
            if not kind.layered:
                program["View"].binding = 0  # type: ignore[union-attr]
            elif kind.needs_eye:
                layouts.append((self._views, "16f4 3f4 1i4/i", "world_to_clip", "eye_of_layer", "layer"))
            else:
                layouts.append((self._views, "16f4 12x 1i4/i", "world_to_clip", "layer"))
            if kind.shading is not None:
                program["Lighting"].binding = 1  # type: ignore[union-attr]
                layouts.append((self._normals, "3f4", "normal"))
            self._programs[kind] = program, self._context.vertex_array(program, layouts, self._indices)
        return self._programs[kind]

    def release(self) -> None:
        for program, vertex_array in self._programs.values():
            vertex_array.release()
            program.release()
        for _, texture in self._textures.values():
            texture.release()
        self._texels.release()
        for buffer in (self._vertices, self._normals, self._lighting, self._tints):
            if buffer is not None:
                buffer.release()
        for written in (self._views, self._commands, self._indices):
            written.release()


def _list_changing(prepared: PreparedScene) -> dict[int, list[int]]:
    """Batches by their texture, and those that are shaded."""
    batches: dict[int, list[int]] = {}
    for number, batch in enumerate(prepared.batches):
        if batch.texture is not None:
            batches.setdefault(batch.texture, []).append(number)
        if batch.shaded is not None:
            batches.setdefault(_SHADED, []).append(number)
    return batches


def _list_stored(prepared: PreparedScene) -> dict[int, StoredTexture]:
    """The scene's own textures, by identity."""
    own = enumerate(zip(prepared.textures, prepared.mipmaps, strict=True))
    folder = prepared.texels
    return {
        id(texture): StoredTexture(
            texture, (texture.pixels, *smaller), None if folder is None else folder / str(number)
        )
        for number, (texture, smaller) in own
        if smaller
    }


def _count_lamps(lighting: Lighting) -> tuple[bool, int, int]:
    """What the programs of shaded surfaces depend on."""
    return lighting.surroundings, lighting.suns, len(lighting.lamps)


def _write(buffer: moderngl.Buffer, data: NDArray[Any]) -> None:
    """Fill a buffer from its start, after making it larger where that is needed."""
    if data.nbytes > buffer.size:
        buffer.orphan(max(data.nbytes, 2 * buffer.size))
    buffer.write(data)


def _make_layout(attributes: tuple[str, ...]) -> tuple[str, ...]:
    """moderngl's buffer format: the attributes that a program reads, padding for the others."""
    names = VERTEX.names or ()
    used = ("position", *attributes)
    formats = [_FORMATS[name] if name in used else f"{VERTEX[name].itemsize}x" for name in names]
    return (" ".join(formats), *(name for name in names if name in used))


def _load_look(brush: _DrawState) -> None:
    """Tell the program how the next batch answers to light."""
    for uniform, value in brush.uniforms:
        uniform.write(value)
    for unit, texture in enumerate(brush.maps, start=1):
        texture.use(unit)


def _pack_lighting(lighting: Lighting) -> bytes:
    """The uniform block `Lighting`: std140 packs a lamp as we do."""
    everywhere = np.array([*lighting.sky, 0.0, *lighting.ground, 0.0], dtype=np.float32)
    return everywhere.tobytes() + np.ascontiguousarray(lighting.lamps).tobytes()


def _create_texture(context: moderngl.Context, texture: Texture, *, trilinear: bool) -> moderngl.Texture:
    """A texture without texels; the filter comes first, as it tells the driver that there will be several levels."""
    created = context.texture((1, 1), 4)
    minified = moderngl.LINEAR_MIPMAP_LINEAR if trilinear else moderngl.LINEAR_MIPMAP_NEAREST
    created.filter = (minified, moderngl.NEAREST if texture.nearest else moderngl.LINEAR)
    created.repeat_x = texture.wrap_u is not Wrap.CLAMP
    created.repeat_y = texture.wrap_v is not Wrap.CLAMP
    return created


def _as_bytes(array: NDArray[np.void] | NDArray[np.float32] | NDArray[np.uint32]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).view(np.uint8) if len(array) else np.zeros(4, dtype=np.uint8)
