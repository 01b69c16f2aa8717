"""Light by choice: as the file has it, none at all, or a plain light from above.

Generated houses carry their lamps in the vertex colours, scans carry theirs in the pictures; both are drawn
as they are. A model without either looks flat, and a plain light that depends on which way a surface faces
makes its rooms readable.
"""

from dataclasses import replace

import numpy as np

from nav_eval.scene.model import Scene

#: how bright a surface is that faces this way; the sum over axes of squared normals is 1
_FACING = {"up": 1.0, "down": 0.62, "x": 0.86, "z": 0.76}


def under(scene: Scene, lighting: str) -> Scene:
    """The scene under `auto` (as it is), `unlit` (no light at all) or `lit` (a plain light where there is none)."""
    if lighting == "unlit" and scene.lights:
        return replace(scene, colors=np.full_like(scene.colors, 255))
    if lighting == "lit" and not scene.lights:
        return _in_plain_light(scene)
    return scene


def _in_plain_light(scene: Scene) -> Scene:
    normals = scene.normals.astype(np.float64)
    vertical = np.where(normals[:, 1] > 0, _FACING["up"], _FACING["down"])
    light = normals[:, 0] ** 2 * _FACING["x"] + normals[:, 1] ** 2 * vertical + normals[:, 2] ** 2 * _FACING["z"]
    unlit = np.array([material.unlit for material in scene.materials], dtype=bool)
    bright = np.ones(len(scene.positions))
    lit_corners = scene.triangles[~unlit[scene.triangle_material]].reshape(-1)
    bright[lit_corners] = light[lit_corners]
    colors = scene.colors.astype(np.float64)
    colors[:, :3] *= bright[:, None]
    return replace(scene, colors=np.round(np.clip(colors, 0, 255)).astype(np.uint8))
