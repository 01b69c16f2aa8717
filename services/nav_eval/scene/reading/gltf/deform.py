"""Morph targets and skins, frozen in the pose that the file's nodes describe."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.reading import geometry
from nav_eval.scene.reading.gltf.accessors import read_floats
from nav_eval.scene.reading.gltf.document import Document
from nav_eval.scene.reading.gltf.nodes import PlacedNode
from nav_eval.scene.reading.gltf.primitives import PrimitiveMesh
from nav_eval.scene.reading.gltf.schema import Primitive

MORPHED = {"POSITION": "positions", "NORMAL": "normals"}


def apply_morph(
    document: Document, mesh: PrimitiveMesh, primitive: Primitive, *, weights: list[float], where: str
) -> PrimitiveMesh:
    """Vertices moved by the morph targets at their default weights."""
    for target, weight in zip(primitive.targets, weights, strict=False):
        for name, field in MORPHED.items():
            base = getattr(mesh, field)
            if weight == 0 or name not in target or base is None:
                continue
            offsets = read_floats(document, target[name])
            if offsets.shape != base.shape:
                raise document.error(f"{where}: a morph target does not fit its vertices; export the file again.")
            mesh = replace(mesh, **{field: base + np.float32(weight) * offsets})
    return mesh


def joint_matrices(document: Document, skin_index: int, placed: dict[int, PlacedNode]) -> NDArray[np.float64]:
    """J × 4 × 4: from the bind pose to the world, per joint."""
    skin = document.item(document.gltf.skins, skin_index, "skin")
    missing = [joint for joint in skin.joints if joint not in placed]
    if missing or not skin.joints:
        raise document.error(f"skin {skin_index} has no usable joints (node {missing[:1]}); export the file again.")
    worlds = np.stack([placed[joint].matrix for joint in skin.joints])
    if skin.inverse_bind_matrices is None:
        return worlds
    inverse = read_floats(document, skin.inverse_bind_matrices)
    if inverse.shape[1] != 16 or len(inverse) < len(worlds):
        raise document.error(f"skin {skin_index}: its inverse bind matrices do not fit; export the file again.")
    return worlds @ inverse[: len(worlds)].astype(np.float64).reshape(-1, 4, 4).transpose(0, 2, 1)


def apply_skin(document: Document, mesh: PrimitiveMesh, joints: NDArray[np.float64], *, where: str) -> PrimitiveMesh:
    """Vertices carried to the world by their joints; the mesh's own node does not count."""
    if mesh.joints is None or mesh.weights is None or mesh.joints.shape != mesh.weights.shape:
        raise document.error(f"{where} has a skin, but no joints and weights per vertex; export the file again.")
    used = mesh.weights > 0
    if used.any() and int(mesh.joints[used].max()) >= len(joints):
        raise document.error(f"{where} uses joint {int(mesh.joints[used].max())} of {len(joints)}.")
    positions = np.zeros((len(mesh.positions), 3))
    normals = np.zeros((len(mesh.positions), 3))
    for column in range(mesh.joints.shape[1]):
        matrices = joints[np.where(used[:, column], mesh.joints[:, column], 0)]
        weights = mesh.weights[:, column, None].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            positions += weights * (_rotate(matrices, mesh.positions) + matrices[:, :3, 3])
            if mesh.normals is not None:
                normals += weights * _rotate(matrices, mesh.normals)
    return replace(
        mesh,
        positions=positions.astype(np.float32),
        normals=None if mesh.normals is None else geometry.normalized(normals),
    )


def _rotate(matrices: NDArray[np.float64], vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    rotated: NDArray[np.float64] = np.einsum("vij,vj->vi", matrices[:, :3, :3], vectors.astype(np.float64))
    return rotated
