"""Vector arithmetic that all readers share."""

import numpy as np
from numpy.typing import NDArray


def face_normals(positions: NDArray[np.float32], triangles: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Unit normals of triangles; (0, 1, 0) where a triangle has no area."""
    return normalized(area_vectors(positions, triangles))


def area_vectors(positions: NDArray[np.float32], triangles: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Normals as long as twice the triangle's area."""
    a, b, c = (positions[triangles[:, corner]].astype(np.float64) for corner in range(3))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.cross(b - a, c - a)


def vertex_normals(positions: NDArray[np.float32], triangles: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Area-weighted normals, smooth across every shared vertex."""
    areas = np.nan_to_num(area_vectors(positions, triangles))
    corners = triangles.ravel()
    sums = [np.bincount(corners, np.repeat(areas[:, axis], 3), minlength=len(positions)) for axis in range(3)]
    return normalized(np.stack(sums, axis=1))


def normalized(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Unit vectors; (0, 1, 0) for those without a direction."""
    vectors = vectors.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    units[~np.isfinite(units).all(axis=1)] = (0.0, 1.0, 0.0)
    return np.asarray(units, np.float32)


def transform_points(points: NDArray[np.floating], matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    """Points moved by a 4 × 4 matrix; computed in double precision so that far scenes keep their millimetres."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (points.astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]).astype(np.float32)


def transform_normals(normals: NDArray[np.float32], matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    """Normals turned by the inverse transpose, which stays right under uneven and mirroring scales."""
    with np.errstate(over="ignore", invalid="ignore"):
        return normalized(normals.astype(np.float64) @ normal_matrix(matrix).T)


def normal_matrix(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse transpose up to a positive factor, defined for singular matrices too."""
    x, y, z = matrix[:3, 0], matrix[:3, 1], matrix[:3, 2]
    cofactors = np.stack([np.cross(y, z), np.cross(z, x), np.cross(x, y)], axis=1)
    return cofactors * (-1.0 if mirrors(matrix) else 1.0)


def mirrors(matrix: NDArray[np.float64]) -> bool:
    """Whether the matrix turns left hands into right ones, and so flips the winding."""
    return bool(np.dot(np.cross(matrix[:3, 0], matrix[:3, 1]), matrix[:3, 2]) < 0)
