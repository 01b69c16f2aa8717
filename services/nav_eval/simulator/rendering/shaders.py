"""The GLSL programs, put together from the few lines in which they differ.

A program does only what its picture needs: a batch whose texture is the final colour interpolates no tint, a depth
picture samples no texture. `gl_Position` is invariant: every program puts a triangle on the same pixels and depth.
"""

from typing import NamedTuple

COLOR, METRES, SURFACE = "color", "metres", "surface"
"""What a fragment can write: RGBA8, float32 metres along the optical axis, uint32 row of the surface table."""


class ProgramKind(NamedTuple):
    """What distinguishes one program from another."""

    outputs: tuple[str, ...]  #: of COLOR, METRES, SURFACE, in the order of the framebuffer's attachments
    textured: bool
    tinted: bool
    masked: bool

    @property
    def attributes(self) -> tuple[str, ...]:
        """Vertex attributes besides the position."""
        colored = COLOR in self.outputs or self.masked
        wanted = {"uv": colored and self.textured, "tint": colored and self.tinted, "surface": SURFACE in self.outputs}
        return tuple(name for name, is_wanted in wanted.items() if is_wanted)


_INPUTS = {"uv": "in vec2 uv;", "tint": "in vec4 tint;", "surface": "in uint surface;"}
_VARYINGS = {"uv": "vec2 at_uv;", "tint": "vec4 at_tint;", "surface": "flat {} uint at_surface;"}
_OUTPUTS = {COLOR: "vec4 color;", METRES: "vec4 metres;", SURFACE: "uint surface_row;"}
_WRITES = {
    COLOR: "color = shade;",
    METRES: "metres = vec4(1.0 / gl_FragCoord.w, 0.0, 0.0, 1.0);",  # alpha 1: blending leaves it as it is
    SURFACE: "surface_row = at_surface;",
}


def make_vertex_source(kind: ProgramKind) -> str:
    lines = [
        "#version 330",
        "layout(std140) uniform View { mat4 world_to_clip; };",
        "invariant gl_Position;",
        "in vec3 position;",
    ]
    lines += [_INPUTS[name] for name in kind.attributes]
    lines += [_format_varying(name, "out") for name in kind.attributes]
    lines += ["void main() {", "gl_Position = world_to_clip * vec4(position, 1.0);"]
    lines += [f"at_{name} = {name};" for name in kind.attributes]
    return "\n".join([*lines, "}"])


def make_fragment_source(kind: ProgramKind) -> str:
    lines = ["#version 330", "uniform sampler2D picture;", "uniform float cutoff;"]
    lines += [_format_varying(name, "in") for name in kind.attributes]
    lines += [f"layout(location = {i}) out {_OUTPUTS[name]}" for i, name in enumerate(kind.outputs)]
    lines += ["void main() {"]
    if {"uv", "tint"} & set(kind.attributes):
        factors = {"uv": "texture(picture, at_uv)", "tint": "at_tint"}
        lines += ["vec4 shade = " + " * ".join(factors[name] for name in kind.attributes if name in factors) + ";"]
    if kind.masked:
        lines += ["if (shade.a < cutoff) discard;"]
    lines += [_WRITES[name] for name in kind.outputs]
    return "\n".join([*lines, "}"])


def _format_varying(name: str, direction: str) -> str:
    template = _VARYINGS[name]
    return template.format(direction) if "{}" in template else f"{direction} {template}"
