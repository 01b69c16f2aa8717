"""The GLSL of a lit surface: glTF's metallic-roughness model under a sky, suns and lamps, pixel by pixel.

Diffuse light by Lambert, highlights by GGX with Smith's visibility and Schlick's Fresnel term; what comes from
everywhere is mirrored as well, a little, as metals would be black under lamps alone. Everything is linear; the last
step encodes sRGB.
"""

from typing import NamedTuple

from nav_eval.scene.model import MAPS
from nav_eval.simulator.rendering.surroundings import make_surroundings_source

ROUGHNESS, NORMAL, OCCLUSION, EMISSION, TRANSMISSION = MAPS
"""Pictures besides the colour: the names of their samplers and of the fields of `Shading`."""


MIRRORED, POLISHED = 0.02, 0.02
"""Of the light from everywhere, what any surface mirrors, and how much more a polished one."""


class ShadingKind(NamedTuple):
    """What distinguishes one shaded program from another."""

    maps: tuple[str, ...] = ()  #: of MAPS
    glass: bool = False  #: what is behind shines through
    blended: bool = False
    coated: bool = False  #: clear varnish on top
    cloth: bool = False  #: with fibres that shine where they are grazed
    surroundings: bool = False  #: a bright room around it instead of sky and ground
    suns: int = 0
    lamps: int = 0  #: those that are not suns


def make_declarations(kind: ShadingKind) -> list[str]:
    """Uniforms, in the fragment shader."""
    count = max(kind.suns + kind.lamps, 1)
    return [
        "uniform vec4 base_color;",
        "uniform vec3 emission;",
        "uniform vec4 surface_factors;",  # metallic, roughness, scale of normals, strength of occlusion
        "uniform vec3 reflectance;",
        "uniform vec2 coat;",  # how much, how rough
        "uniform vec4 sheen;",  # colour, roughness
        "uniform vec4 glass;",  # what becomes of white behind it; how much shines through
        *(f"uniform sampler2D {name};" for name in kind.maps),
        "struct Lamp { vec3 position; float range; vec3 direction; float outer; vec3 color; float inner; };",
        f"layout(std140) uniform Lighting {{ vec4 sky; vec4 ground; Lamp lamps[{count}]; }};",
        _FUNCTIONS,
        *([make_surroundings_source()] if kind.surroundings else []),
        *([_FIBRES] if kind.cloth else []),
        *([_BENT_NORMAL] if NORMAL in kind.maps else []),
    ]


def make_body(kind: ShadingKind, *, textured: bool) -> list[str]:
    """From the colour and the normal to `shade`, what is written."""
    lines = [
        "vec3 normal = normalize(at_normal);",
        "vec3 turn = max(abs(dFdx(normal)), abs(dFdy(normal)));",
        "vec3 to_eye = normalize(eye.xyz - at_position);",
        "float metallic = surface_factors.x, roughness = surface_factors.y, open = 1.0;",
        "vec3 glow = emission;",
        "vec4 color_here = at_tint * vec4(base_color.rgb, 1.0);",
    ]
    if textured:
        lines.append("color_here *= texture(picture, at_uv);")
    if ROUGHNESS in kind.maps:
        lines.append("vec4 rough = texture(roughness_map, at_uv); roughness *= rough.g; metallic *= rough.b;")
    if OCCLUSION in kind.maps:
        lines.append("open = 1.0 + surface_factors.w * (texture(occlusion_map, at_uv).r - 1.0);")
    if EMISSION in kind.maps:
        lines.append("glow *= texture(emission_map, at_uv).rgb;")
    if NORMAL in kind.maps:
        lines.append("normal = bend_normal(normal, texture(normal_map, at_uv).xyz);")
    lines += [
        "roughness = min(max(roughness, 0.0525) + max(max(turn.x, turn.y), turn.z), 1.0);",
        "vec3 matt = color_here.rgb * (1.0 - metallic), mirror = mix(reflectance, color_here.rgb, metallic);",
        "float facing = clamp(dot(normal, to_eye), 0.0, 1.0);",
        "Answer answer = Answer(normal, to_eye, facing, roughness * roughness, matt * 0.31830989, mirror);",
        "vec3 no_light = vec3(0.0), varnish = vec3(0.0), fibres = vec3(0.0);",
        *(_IN_A_ROOM if kind.surroundings else _UNDER_THE_SKY),
    ]
    if kind.coated:
        lines.append("Answer over = coat_answer(normalize(at_normal), to_eye, coat.y);")
    lines += _add_lamps(kind)
    if kind.cloth:
        lines.append("float kept = 1.0 - 0.157 * max(sheen.r, max(sheen.g, sheen.b));")
        lines.append("dull *= kept; bright = bright * kept + fibres;")
    if kind.coated:
        lines.append("float under = 1.0 - coat.x * fresnel(vec3(0.04), over.facing).r;")
        lines.append("dull *= under; glow *= under; bright = bright * under + coat.x * varnish;")
    return lines + _finish(kind)


def _add_lamps(kind: ShadingKind) -> list[str]:
    """Every lamp's light on the surface, on its varnish and on its fibres."""
    receivers = ["add_light(answer, way, arriving, dull, bright);"]
    if kind.coated:
        receivers.append("add_light(over, way, arriving, no_light, varnish);")
    if kind.cloth:
        receivers.append("add_fibres(answer, way, arriving, fibres);")
    lines = []
    if kind.suns:
        lines += [
            f"for (int i = 0; i < {kind.suns}; ++i) {{",
            "vec3 way = -lamps[i].direction, arriving = lamps[i].color;",
            *receivers,
            "}",
        ]
    if kind.lamps:
        lines += [
            f"for (int i = {kind.suns}; i < {kind.suns + kind.lamps}; ++i) {{",
            "vec3 way = lamps[i].position - at_position; float far = length(way); way /= far;",
            "float left = 1.0 / max(far * far, 0.01);",
            "if (lamps[i].range > 0.0) {",
            "float part = far / lamps[i].range; float end = clamp(1.0 - part * part * part * part, 0.0, 1.0);",
            "left *= end * end; }",
            "left *= smoothstep(lamps[i].outer, lamps[i].inner, dot(-way, lamps[i].direction));",
            "vec3 arriving = lamps[i].color * left;",
            *receivers,
            "}",
        ]
    if kind.surroundings and kind.coated:
        lines.append(
            "varnish += sky.rgb * open * reflect_surroundings(vec3(0.04), coat.y, over.facing)"
            " * look_around(reflect(-to_eye, over.normal), max(coat.y, 0.0525));"
        )
    if kind.surroundings and kind.cloth:
        lines.append("fibres += sky.rgb * open * sheen.rgb * around * fuzz(facing, sheen.a);")
    return lines


def _finish(kind: ShadingKind) -> list[str]:
    """From light to what is written."""
    if kind.glass:
        clear = "glass.a * texture(transmission_map, at_uv).r" if TRANSMISSION in kind.maps else "glass.a"
        return [
            f"float clear = {clear} * (1.0 - metallic), there = min(color_here.a / base_color.a, 1.0);",
            "vec3 through = glass.rgb * color_here.rgb * clear * (1.0 - fresnel(mirror, facing));",
            "float mean = dot(through, vec3(1.0 / 3.0));",
            "vec3 light = dull * (1.0 - clear) + bright + glow;",
            "float cover = 1.0 - pow(max(mean, 1e-6), 0.4545);",  # blending is of sRGB, not of light
            "vec4 shade = vec4(encode_srgb(light), cover) * there;",
        ]
    if kind.blended:
        return ["vec4 shade = vec4(encode_srgb(dull + bright + glow) * color_here.a, color_here.a);"]
    return ["vec4 shade = vec4(encode_srgb(dull + bright + glow), color_here.a);"]


_UNDER_THE_SKY = [
    "vec3 dull = matt * mix(ground.rgb, sky.rgb, 0.5 + 0.5 * normal.y) * open;",
    "vec3 reflected = mix(ground.rgb, sky.rgb, 0.5 + 0.5 * reflect(-to_eye, normal).y);",
    f"float share = {MIRRORED} + {POLISHED} * (1.0 - roughness);",
    "vec3 bright = share * reflected * reflect_surroundings(mirror, roughness, facing) * open;",
]
#: What is mirrored once comes from where the surface looks, what bounces between its facets from everywhere.
_IN_A_ROOM = [
    "vec3 once = reflect_surroundings(mirror, roughness, facing);",
    "float lost = 1.0 - reflect_surroundings(vec3(1.0), roughness, facing).r;",
    "vec3 usual = mirror + (1.0 - mirror) / 21.0;",
    "vec3 again = once * usual * lost / (1.0 - lost * usual);",
    "vec3 taken = once + again;",
    "float around = look_around(normal, 1.0);",
    "vec3 dull = matt * (1.0 - max(taken.r, max(taken.g, taken.b))) * sky.rgb * around * open;",
    "vec3 mirrored = normalize(mix(reflect(-to_eye, normal), normal, roughness * roughness));",
    "vec3 bright = sky.rgb * (once * look_around(mirrored, roughness) + again * around) * open;",
]

_FUNCTIONS = """
vec3 fresnel(vec3 mirror, float cosine) {
    return mirror + (1.0 - mirror) * exp2((-5.55473 * cosine - 6.98316) * cosine);
}
vec3 reflect_surroundings(vec3 mirror, float roughness, float facing) {
    vec4 r = roughness * vec4(-1.0, -0.0275, -0.572, 0.022) + vec4(1.0, 0.0425, 1.04, -0.04);
    float a = min(r.x * r.x, exp2(-9.28 * facing)) * r.x + r.y;
    vec2 share = vec2(-1.04, 1.04) * a + r.zw;
    return mirror * share.x + share.y;
}
struct Answer { vec3 normal; vec3 to_eye; float facing; float spread; vec3 matt; vec3 mirror; };
void add_light(Answer to, vec3 way, vec3 light, inout vec3 dull, inout vec3 bright) {
    float cosine = dot(to.normal, way);
    if (cosine <= 0.0) return;
    vec3 middle = normalize(way + to.to_eye);
    float towards = clamp(dot(to.normal, middle), 0.0, 1.0), squared = to.spread * to.spread;
    float below = towards * towards * (squared - 1.0) + 1.0;
    float seen = cosine * sqrt(squared + (1.0 - squared) * to.facing * to.facing)
        + to.facing * sqrt(squared + (1.0 - squared) * cosine * cosine);
    float lobe = squared * 0.31830989 / (below * below) * 0.5 / max(seen, 1e-6);
    dull += to.matt * light * cosine;
    bright += fresnel(to.mirror, clamp(dot(to.to_eye, middle), 0.0, 1.0)) * lobe * light * cosine;
}
Answer coat_answer(vec3 normal, vec3 to_eye, float roughness) {
    float rough = max(roughness, 0.0525);
    return Answer(normal, to_eye, clamp(dot(normal, to_eye), 0.0, 1.0), rough * rough, vec3(0.0), vec3(0.04));
}
vec3 encode_srgb(vec3 light) {
    vec3 clipped = clamp(light, 0.0, 1.0);
    vec3 curved = 1.055 * pow(max(clipped, vec3(1e-4)), vec3(0.41666)) - 0.055;
    return mix(curved, clipped * 12.92, vec3(lessThanEqual(clipped, vec3(0.0031308))));
}
"""

_FIBRES = """
void add_fibres(Answer to, vec3 way, vec3 light, inout vec3 fibres) {
    float cosine = dot(to.normal, way);
    if (cosine <= 0.0) return;
    float towards = clamp(dot(to.normal, normalize(way + to.to_eye)), 0.0, 1.0);
    float sharp = 1.0 / max(sheen.a * sheen.a, 1e-3);
    float lobe = (2.0 + sharp) * pow(max(1.0 - towards * towards, 1e-4), 0.5 * sharp) * 0.15915494;
    fibres += sheen.rgb * light * cosine * lobe / (4.0 * max(to.facing + cosine - to.facing * cosine, 1e-3));
}
float fuzz(float facing, float roughness) {
    float rough = max(roughness, 0.1);  // half of what such a lobe mirrors of light from everywhere, as viewers have it
    return min(exp(0.39 / rough - 1.5 - 1.42 * facing / pow(rough, 1.2)), 1.0);
}
"""

_BENT_NORMAL = """
vec3 bend_normal(vec3 normal, vec3 picture) {
    vec3 x = dFdx(at_position), y = dFdy(at_position);
    vec2 u = dFdx(at_uv), v = dFdy(at_uv);
    vec3 a = cross(normal, y), b = cross(x, normal);  // y runs down our pictures
    vec3 tangent = a * u.x + b * v.x, across = a * u.y + b * v.y;
    float longest = max(dot(tangent, tangent), dot(across, across));
    float scale = longest == 0.0 ? 0.0 : inversesqrt(longest);
    vec3 bent = picture * 2.0 - 1.0;
    bent.xy *= surface_factors.z;
    return normalize(tangent * scale * bent.x - across * scale * bent.y + normal * bent.z);
}
"""
