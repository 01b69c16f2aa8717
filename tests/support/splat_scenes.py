"""Splats made from the triangles of a scene, so that a picture of them has a picture to be compared with."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.color import to_srgb
from nav_eval.scene.formats.splat_files import BASE_FACTOR
from nav_eval.scene.model import AlphaMode, Material, Scene

FLATNESS = 0.002  # metres: how thick a disc is


def make_splats(scene: Scene, *, spacing: float) -> dict[str, NDArray[np.float64]]:
    """Flat discs at most `spacing` metres apart on every triangle: centres, scales, rotations (w, x, y, z), colours."""
    corners = scene.positions[scene.triangles].astype(np.float64)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    doubled = np.linalg.norm(normals, axis=1)
    normals /= np.maximum(doubled, 1e-12)[:, None]
    edges = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)  # edge k leads from corner k to the next
    first = edges.argmax(axis=1)
    longest = np.maximum(edges.max(axis=1), 1e-9)
    steps = np.clip(0.7 * doubled / longest, spacing / 4, spacing)  # thin triangles: smaller discs
    rows = [_cover(corners[i, [k, k - 2, k - 1]], step) for i, (k, step) in enumerate(zip(first, steps, strict=True))]
    weights = np.concatenate([np.roll(row, k, axis=1) for row, k in zip(rows, first, strict=True)])
    triangle = np.repeat(np.arange(len(corners)), [len(row) for row in rows])
    wide = 0.5 * steps[triangle, None]
    return {
        "centers": np.einsum("nk,nkc->nc", weights, corners[triangle]),
        "scales": np.concatenate([wide, wide, np.full_like(wide, FLATNESS)], axis=1),
        "rotations": _turn_z_to(normals)[triangle],
        "colors": _pick_colors(scene, triangle, weights),
        "opacities": np.array([_get_opacity(one) for one in scene.materials])[scene.triangle_material[triangle]],
    }


def write_splat_ply(splats: dict[str, NDArray[np.float64]], path: Path) -> None:
    """As the training code of the paper writes them."""
    names = ["x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2", "opacity"]
    names += [f"scale_{axis}" for axis in range(3)] + [f"rot_{part}" for part in range(4)]
    count = len(splats["centers"])
    columns = np.concatenate([
        splats["centers"], np.zeros((count, 3)), (splats["colors"] - 0.5) / BASE_FACTOR,
        _invert_sigmoid(splats["opacities"]), np.log(splats["scales"]), splats["rotations"],
    ], axis=1)  # fmt: skip
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {count}"]
    header += [f"property float {name}" for name in names] + ["end_header", ""]
    path.write_bytes("\n".join(header).encode() + columns.astype("<f4").tobytes())


def _get_opacity(material: Material) -> float:
    return 0.997 if material.alpha_mode is not AlphaMode.BLEND else material.base_color[3] / 3  # discs overlap


def _invert_sigmoid(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(shares / (1 - shares))[:, None]


def _cover(corners: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """Barycentric weights of points `step` apart within a triangle whose first edge is the longest."""
    along = corners[1] - corners[0]
    length = max(float(np.linalg.norm(along)), 1e-9)
    top = float(np.dot(corners[2] - corners[0], along)) / length
    height = float(np.linalg.norm(np.cross(along, corners[2] - corners[0]))) / length
    x, y = np.meshgrid(_divide(length, step), _divide(height, step), indexing="ij")
    upper = y / max(height, 1e-9)
    weights = np.stack([1 - upper - (x - upper * top) / length, (x - upper * top) / length, upper], axis=-1)
    inside = weights[(weights >= 0).all(axis=-1)]
    return inside if len(inside) else np.full((1, 3), 1 / 3)


def _divide(length: float, step: float) -> NDArray[np.float64]:
    parts = max(int(np.ceil(length / step)), 1)
    return (np.arange(parts) + 0.5) * length / parts


def _turn_z_to(normals: NDArray[np.float64]) -> NDArray[np.float64]:
    w = 1 + normals[:, 2]
    turned = np.stack([w, -normals[:, 1], normals[:, 0], np.zeros(len(normals))], axis=1)
    turned[w < 1e-9] = (0.0, 1.0, 0.0, 0.0)
    return turned / np.linalg.norm(turned, axis=1, keepdims=True)


def _pick_colors(scene: Scene, triangle: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    corners = scene.triangles[triangle]
    tint = np.einsum("nk,nkc->nc", weights, scene.colors[corners][..., :3] / 255.0)
    uvs = np.einsum("nk,nkc->nc", weights, scene.uvs[corners].astype(np.float64))
    material = scene.triangle_material[triangle]
    base = np.array([one.base_color[:3] for one in scene.materials])
    colors = to_srgb(tint * base[material] + np.array([one.emissive for one in scene.materials])[material])
    for index, one in enumerate(scene.materials):
        if one.texture is None:
            continue
        chosen = material == index
        pixels = scene.textures[one.texture].pixels
        column = (np.mod(uvs[chosen, 0], 1) * pixels.shape[1]).astype(int) % pixels.shape[1]
        row = (np.mod(uvs[chosen, 1], 1) * pixels.shape[0]).astype(int) % pixels.shape[0]
        colors[chosen] *= pixels[row, column, :3] / 255.0
    return colors
