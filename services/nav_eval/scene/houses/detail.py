"""Finer triangles for the same house, for benchmarks of large scenes."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import Scene


def subdivided(scene: Scene, times: int) -> Scene:
    """Every triangle cut into four at the middles of its sides, `times` times over."""
    for _ in range(times):
        scene = _once(scene)
    return scene


def _once(scene: Scene) -> Scene:
    triangles = scene.triangles.astype(np.int64)
    sides = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    pairs, number = np.unique(sides, axis=0, return_inverse=True)
    ab, bc, ca = number.reshape(3, -1) + len(scene.positions)
    a, b, c = triangles.T
    finer = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1).reshape(-1, 3)
    return replace(
        scene,
        positions=_with_middles(scene.positions, pairs),
        normals=_unit(_with_middles(scene.normals, pairs)),
        uvs=_with_middles(scene.uvs, pairs),
        colors=_with_middles(scene.colors.astype(np.float32), pairs).round().astype(np.uint8),
        triangles=finer.astype(np.uint32),
        triangle_material=np.repeat(scene.triangle_material, 4),
        triangle_object=np.repeat(scene.triangle_object, 4),
        triangle_category=np.repeat(scene.triangle_category, 4),
    )


def _with_middles(values: NDArray[np.float32], pairs: NDArray[np.int64]) -> NDArray[np.float32]:
    middles = (values[pairs[:, 0]] + values[pairs[:, 1]]) * np.float32(0.5)
    return np.concatenate([values, middles])


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    unit: NDArray[np.float32] = (vectors / np.maximum(length, 1e-12)).astype(np.float32)
    return unit
