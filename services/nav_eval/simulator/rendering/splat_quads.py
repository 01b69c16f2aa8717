"""Pictures of splats on a GPU: a quad for each, nearest first, mixed in floating point.

The arithmetic is that of `splat_painter`, in single precision: positions, covariances, colours and opacities lie in a
texture, the order by depth is found on the processor and written anew for every picture, and a vertex shader makes an
ellipse of each splat. What is in front takes its share first (blending by what the picture's alpha still leaves), so
nothing is lost to rounding as it would be in bytes.
"""

import moderngl
import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.splats import SplatCloud
from nav_eval.simulator.rendering.camera import Camera
from nav_eval.simulator.rendering.splat_painter import BLUR, EDGE, FAINTEST, REACH, lay_over, sort_by_depth

TEXELS = 4
"""Of a splat: centre and opacity; six of the covariance and three of the colour, and nothing."""
PER_ROW = 1024
"""Splats in a row of the texture."""
CORNERS = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)

VERTEX = f"""
#version 330
uniform sampler2D table;
uniform vec4 across_axis, down_axis, ahead_axis;
uniform vec3 lens;  // focal length, width, height
in vec2 corner;
in uint splat;
flat out vec2 middle;
flat out vec3 conic;
flat out vec4 look;
flat out float metres;
void main() {{
    ivec2 place = ivec2(int(splat % {PER_ROW}u) * {TEXELS}, int(splat / {PER_ROW}u));
    vec4 a = texelFetch(table, place, 0), b = texelFetch(table, place + ivec2(1, 0), 0);
    vec4 c = texelFetch(table, place + ivec2(2, 0), 0), d = texelFetch(table, place + ivec2(3, 0), 0);
    vec4 at = vec4(a.xyz, 1.0);
    float depth = dot(ahead_axis, at);
    vec2 seen = vec2(dot(across_axis, at), dot(down_axis, at)) / depth;
    vec2 most = {EDGE} * 0.5 * lens.yz / lens.x;
    vec2 kept = clamp(seen, -most, most);
    vec3 u = lens.x / depth * (across_axis.xyz - kept.x * ahead_axis.xyz);
    vec3 v = lens.x / depth * (down_axis.xyz - kept.y * ahead_axis.xyz);
    mat3 spread = mat3(b.x, b.y, b.z, b.y, b.w, c.x, b.z, c.x, c.y);
    float uu = dot(u, spread * u) + {BLUR}, uv = dot(v, spread * u), vv = dot(v, spread * v) + {BLUR};
    float determinant = uu * vv - uv * uv;
    middle = lens.x * seen + 0.5 * lens.yz;
    conic = vec3(vv, -uv, uu) / determinant;
    look = vec4(c.zw, d.x, a.w);
    metres = depth;
    vec2 reach = {REACH} * sqrt(vec2(uu, vv));
    vec2 pixel = middle + corner * reach;
    gl_Position = determinant > 0.0 ? vec4(2.0 * pixel / lens.yz - 1.0, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
}}
"""

FRAGMENT = f"""
#version 330
uniform sampler2D nearest;  // metres to what stands among the splats, 0 for nothing
uniform bool is_limited;
flat in vec2 middle;
flat in vec3 conic;
flat in vec4 look;
flat in float metres;
out vec4 color;
void main() {{
    if (is_limited) {{
        float limit = texelFetch(nearest, ivec2(gl_FragCoord.xy), 0).r;
        if (limit > 0.0 && metres > limit) discard;
    }}
    vec2 away = gl_FragCoord.xy - middle;
    float power = conic.x * away.x * away.x + conic.z * away.y * away.y + 2.0 * conic.y * away.x * away.y;
    float alpha = min(0.99, look.a * exp(-0.5 * power));
    if (power > {REACH * REACH} || alpha < {FAINTEST}) discard;
    color = vec4(look.rgb * alpha, alpha);
}}
"""


class SplatsOnGpu:
    """A cloud in GPU memory."""

    def __init__(self, context: moderngl.Context, cloud: SplatCloud) -> None:
        self._context = context
        self._cloud = cloud
        self._table = _upload(context, cloud)
        self._program = context.program(vertex_shader=VERTEX, fragment_shader=FRAGMENT)
        self._program["table"], self._program["nearest"] = 0, 1
        self._order = context.buffer(reserve=max(4 * len(cloud), 4), dynamic=True)
        self._corners = context.buffer(CORNERS)
        self._quads = context.vertex_array(
            self._program, [(self._corners, "2f4", "corner"), (self._order, "1u4/i", "splat")]
        )
        self._canvas: moderngl.Framebuffer | None = None
        self._limit: moderngl.Texture | None = None

    @staticmethod
    def fits(context: moderngl.Context, cloud: SplatCloud) -> bool:
        """Whether the cloud's table is within what the driver takes as a texture."""
        return -(-len(cloud) // PER_ROW) <= int(context.info["GL_MAX_TEXTURE_SIZE"])

    def paint(self, camera: Camera, picture: NDArray[np.uint8], *, nearest: NDArray[np.float32] | None = None) -> None:
        """Draw the cloud over a picture; `nearest` (metres per pixel, 0 for nothing) hides what lies behind it."""
        canvas = self._prepare_canvas(camera)
        count = self._write_order(camera)
        self._set_view(camera, nearest)
        canvas.use()
        canvas.clear(0.0, 0.0, 0.0, 0.0)
        self._context.enable_only(moderngl.BLEND)
        self._context.blend_func = (moderngl.ONE_MINUS_DST_ALPHA, moderngl.ONE)
        self._quads.render(moderngl.TRIANGLE_STRIP, instances=count)
        mixed = np.empty((camera.height, camera.width, 4), np.float32)
        canvas.read_into(mixed, components=4, dtype="f4")
        mixed[..., 3] = 1.0 - mixed[..., 3]
        lay_over(mixed, picture)

    def _write_order(self, camera: Camera) -> int:
        """Which splats are in front of the eye and can be seen at all, nearest first."""
        ahead = camera.world_to_clip[3]
        depths = (self._cloud.centers @ ahead[:3].astype(np.float32) + np.float32(ahead[3])).astype(np.float32)
        shown = np.flatnonzero((depths > camera.near) & (self._cloud.opacities >= FAINTEST))
        order = shown[sort_by_depth(depths[shown])].astype(np.uint32)
        if len(order):
            self._order.write(order)
        return len(order)

    def _set_view(self, camera: Camera, nearest: NDArray[np.float32] | None) -> None:
        clip, focal = camera.world_to_clip, camera.focal_length
        self._program["across_axis"] = tuple(clip[0] * camera.width / (2 * focal))
        self._program["down_axis"] = tuple(clip[1] * camera.height / (2 * focal))
        self._program["ahead_axis"] = tuple(clip[3])
        self._program["lens"] = (focal, camera.width, camera.height)
        self._program["is_limited"] = nearest is not None
        self._table.use(0)
        if nearest is not None and self._limit is not None:
            self._limit.write(np.ascontiguousarray(nearest, np.float32))
        if self._limit is not None:
            self._limit.use(1)

    def _prepare_canvas(self, camera: Camera) -> moderngl.Framebuffer:
        size = (camera.width, camera.height)
        if self._canvas is None or self._canvas.size != size:
            self._release_canvas()
            self._canvas = self._context.framebuffer([self._context.renderbuffer(size, 4, dtype="f4")])
            self._limit = self._context.texture(size, 1, dtype="f4", alignment=4)
        return self._canvas

    def _release_canvas(self) -> None:
        if self._canvas is not None:
            for attachment in self._canvas.color_attachments:
                attachment.release()
            self._canvas.release()
        if self._limit is not None:
            self._limit.release()
        self._canvas = self._limit = None

    def release(self) -> None:
        self._release_canvas()
        for part in (self._quads, self._program, self._order, self._corners, self._table):
            part.release()


def _upload(context: moderngl.Context, cloud: SplatCloud) -> moderngl.Texture:
    rows = max(-(-len(cloud) // PER_ROW), 1)
    table = np.zeros((rows * PER_ROW, 4 * TEXELS), np.float32)
    filled = table[: len(cloud)]
    filled[:, :3], filled[:, 3] = cloud.centers, cloud.opacities
    filled[:, 4:10], filled[:, 10:13] = cloud.covariances, cloud.colors
    texture = context.texture((PER_ROW * TEXELS, rows), 4, dtype="f4")
    texture.filter = (moderngl.NEAREST, moderngl.NEAREST)
    texture.write(table)
    return texture
