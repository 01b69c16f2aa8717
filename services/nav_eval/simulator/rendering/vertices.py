"""Vertices with everything they show: position, texture coordinates, tint and surface in one record."""

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import Scene, Wrap
from nav_eval.simulator.rendering.errors import BadPreparedScene
from nav_eval.simulator.rendering.numbering import distinct
from nav_eval.simulator.rendering.prepared import VERTEX


def drawn_triangles(
    scene: Scene, surface: NDArray[np.int64]
) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.int64]]:
    """The vertices, no two equal; the triangles with an area over them; and which of the scene's each of these is."""
    source = np.flatnonzero(_have_area(scene))
    material = scene.triangle_material[source]
    rows = np.empty((len(source), 3, 3), dtype=np.int32)
    rows[..., 0], rows[..., 1], rows[..., 2] = scene.triangles[source], material[:, None], surface[source, None]
    number, first = distinct(rows.reshape(-1, 3))
    vertex, material_of_vertex, surface_of_vertex = rows.reshape(-1, 3)[first].T
    vertices = np.zeros(len(first), dtype=VERTEX)
    vertices["position"] = scene.positions[vertex] + np.float32(0.0)  # -0 is 0
    vertices["uv"] = scene.uvs[vertex] * _uv_scales(scene)[material_of_vertex]
    vertices["tint"] = _tints(scene, vertex, material_of_vertex)
    vertices["surface"] = surface_of_vertex
    words = np.empty((len(vertices), VERTEX.itemsize // 4 + 1), dtype=np.int32)
    words[:, :-1], words[:, -1] = vertices.view(np.int32).reshape(words[:, :-1].shape), material_of_vertex
    again, first = distinct(words)
    return vertices[first], again[number].reshape(-1, 3).astype(np.int64), source


def _have_area(scene: Scene) -> NDArray[np.bool_]:
    points = scene.positions.astype(np.float64)[scene.triangles]
    if not np.isfinite(points).all():
        raise BadPreparedScene(f"{scene.report.source or 'The scene'} has vertices that are not finite; read it again.")
    across = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    have_area: NDArray[np.bool_] = np.linalg.norm(across, axis=1) > 0
    return have_area


def _tints(scene: Scene, vertex: NDArray[np.uint32], material: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Factor on the texture's bytes. sRGB is nearly a power law, so encoding the factor encodes the product."""
    base = np.array([material.base_color for material in scene.materials], dtype=np.float64).reshape(-1, 4)
    glow = np.array([material.emissive for material in scene.materials], dtype=np.float64).reshape(-1, 3)
    tint = scene.colors[vertex] / 255.0 * base[material]
    tint[:, :3] += glow[material]
    tint[:, :3] = srgb_encoded(tint[:, :3])
    return np.round(np.clip(tint, 0.0, 1.0) * 255).astype(np.uint8)


def _uv_scales(scene: Scene) -> NDArray[np.float32]:
    """What `_without_mirrors` does to texture coordinates, by material."""
    half = {Wrap.MIRROR: 0.5}
    textures = [None if material.texture is None else scene.textures[material.texture] for material in scene.materials]
    scales = [(half.get(t.wrap_u, 1.0), half.get(t.wrap_v, 1.0)) if t else (1.0, 1.0) for t in textures]
    return np.array(scales, dtype=np.float32).reshape(-1, 2)


def srgb_encoded(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear light to sRGB, both 0 to 1."""
    clipped = np.clip(linear, 0.0, 1.0)
    return np.where(clipped <= 0.0031308, clipped * 12.92, 1.055 * clipped ** (1 / 2.4) - 0.055)
