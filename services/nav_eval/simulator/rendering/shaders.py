"""The GLSL programs, put together from the few lines in which they differ.

A program does only what its picture needs: a batch whose texture is the final colour interpolates no tint, a depth
picture samples no texture. `gl_Position` is invariant: every program puts a triangle on the same pixels and depth.
"""

from typing import NamedTuple

from nav_eval.simulator.rendering.surface_shader import ShadingKind, make_body, make_declarations

COLOR, METRES, SURFACE = "color", "metres", "surface"
"""What a fragment can write: RGBA8, float32 metres along the optical axis, uint32 row of the surface table."""


class ProgramKind(NamedTuple):
    """What distinguishes one program from another."""

    outputs: tuple[str, ...]  #: of COLOR, METRES, SURFACE, in the order of the framebuffer's attachments
    textured: bool
    tinted: bool
    masked: bool
    shading: ShadingKind | None = None  #: for what is lit pixel by pixel
    plain: bool = False  #: the texture is of one colour, which the program is told
    layered: bool = False  #: the view comes with the draw call, and says which layer it is drawn into

    @property
    def attributes(self) -> tuple[str, ...]:
        """Vertex attributes besides the position."""
        colored = COLOR in self.outputs or self.masked
        has_maps = self.shading is not None and bool(self.shading.maps)
        wanted = {
            "uv": (colored and self.textured and not self.plain) or has_maps,
            "tint": colored and self.tinted,
            "surface": SURFACE in self.outputs,
        }
        return tuple(name for name, is_wanted in wanted.items() if is_wanted)

    @property
    def needs_eye(self) -> bool:
        """Whether a draw call has to bring the eye along."""
        return self.layered and self.shading is not None


_VIEW = "layout(std140) uniform View { mat4 world_to_clip; vec3 eye; };"
_VIEW_OF_LAYER = "in mat4 world_to_clip; in int layer;"
_EYE_OF_LAYER = "in vec3 eye_of_layer; flat out vec3 eye;"
_LAYERED = "#extension GL_ARB_shader_viewport_layer_array : require"
_INPUTS = {"uv": "in vec2 uv;", "tint": "in vec4 tint;", "surface": "in uint surface;"}
_VARYINGS = {"uv": "vec2 at_uv;", "tint": "vec4 at_tint;", "surface": "flat {} uint at_surface;"}
_OUTPUTS = {COLOR: "vec4 color;", METRES: "vec4 metres;", SURFACE: "uint surface_row;"}
_WRITES = {
    COLOR: "color = shade;",
    METRES: "metres = vec4(1.0 / gl_FragCoord.w, 0.0, 0.0, 1.0);",  # alpha 1: blending leaves it as it is
    SURFACE: "surface_row = at_surface;",
}


def make_vertex_source(kind: ProgramKind) -> str:
    lines = ["#version 330", *([_LAYERED, _VIEW_OF_LAYER] if kind.layered else [_VIEW])]
    lines += ["invariant gl_Position;", "in vec3 position;"]
    lines += [_EYE_OF_LAYER] if kind.needs_eye else []
    if kind.shading is not None:
        lines += ["in vec3 normal;", "out vec3 at_position;", "out vec3 at_normal;"]
    lines += [_INPUTS[name] for name in kind.attributes]
    lines += [_format_varying(name, "out") for name in kind.attributes]
    lines += ["void main() {", "gl_Position = world_to_clip * vec4(position, 1.0);"]
    lines += ["gl_Layer = layer;"] if kind.layered else []
    lines += ["eye = eye_of_layer;"] if kind.needs_eye else []
    shown = kind.attributes if kind.shading is None else ("position", "normal", *kind.attributes)
    lines += [f"at_{name} = {name};" for name in shown]
    return "\n".join([*lines, "}"])


def make_fragment_source(kind: ProgramKind) -> str:
    lines = ["#version 330", "uniform sampler2D picture;", "uniform vec4 plain_color;", "uniform float cutoff;"]
    lines += [_format_varying(name, "in") for name in kind.attributes]
    lines += [f"layout(location = {i}) out {_OUTPUTS[name]}" for i, name in enumerate(kind.outputs)]
    if kind.shading is not None:
        lines += ["flat in vec3 eye;" if kind.layered else _VIEW]
        lines += ["in vec3 at_position;", "in vec3 at_normal;", *make_declarations(kind.shading)]
    lines += ["void main() {"]
    if kind.shading is not None:
        lines += make_body(kind.shading, textured=kind.textured)
    elif factors := _list_factors(kind):
        lines += [f"vec4 shade = {' * '.join(factors)};"]
    if kind.masked:
        lines += ["if (shade.a < cutoff) discard;"]
    lines += [_WRITES[name] for name in kind.outputs]
    return "\n".join([*lines, "}"])


def _list_factors(kind: ProgramKind) -> list[str]:
    """What the colour of an unlit surface is the product of; nothing where no colour is needed."""
    factors = {"uv": "texture(picture, at_uv)", "tint": "at_tint"}
    plain = ["plain_color"] if kind.plain and (COLOR in kind.outputs or kind.masked) else []
    return plain + [factors[name] for name in kind.attributes if name in factors]


def _format_varying(name: str, direction: str) -> str:
    template = _VARYINGS[name]
    return template.format(direction) if "{}" in template else f"{direction} {template}"
