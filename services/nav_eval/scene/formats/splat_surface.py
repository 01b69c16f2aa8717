"""Triangles where splats are opaque: for depth, ids and walking in a splat scene without a mesh.

Space is cut into small cubes; each splat makes those around it a little more solid. The walls between solid cubes
and empty ones are the surface. It is as coarse as the cubes are, which is why a mesh beside the file is better.
"""

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.errors import SceneError
from nav_eval.scene.formats.geometry import MeshPart
from nav_eval.scene.formats.scene_folder import ReadLimits, check_limit
from nav_eval.scene.splats import SplatCloud, expand_covariances

CUBE = 0.05  #: metres
SOLID = 0.4  #: how opaque a cube must be
REACH = 2.0  #: standard deviations
LARGEST_SPLAT = 1.5  #: metres; beyond it a splat is sky or haze, not a surface
MAX_CUBES = 400_000_000

#: The six sides of a unit cube: where the neighbour is, and the corners counter-clockwise seen from there.
SIDES = {
    (1, 0, 0): ((1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)),
    (-1, 0, 0): ((0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0)),
    (0, 1, 0): ((0, 1, 0), (0, 1, 1), (1, 1, 1), (1, 1, 0)),
    (0, -1, 0): ((0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)),
    (0, 0, 1): ((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)),
    (0, 0, -1): ((0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 0, 0)),
}


def build_surface(cloud: SplatCloud, *, source: str, limits: ReadLimits) -> MeshPart:
    """The walls between what is opaque and what is not."""
    reach = REACH * np.sqrt(cloud.covariances[:, [0, 3, 5]].astype(np.float64))
    surface_like = (reach.max(axis=1) < LARGEST_SPLAT) & (cloud.opacities >= 0.1)
    if not surface_like.any():
        raise _make_refusal(source)
    centers, reach = cloud.centers[surface_like].astype(np.float64), reach[surface_like]
    lower = np.floor((centers - reach).min(axis=0) / CUBE).astype(np.int64) - 1
    upper = np.ceil((centers + reach).max(axis=0) / CUBE).astype(np.int64) + 1
    shape = upper - lower
    check_limit(int(np.prod(shape)), limit=MAX_CUBES, what="cubes of 5 cm in its box", source=source)
    clear = np.ones(shape, np.float32)
    full = expand_covariances(cloud.covariances[surface_like].astype(np.float64))
    inverse = np.asarray(np.linalg.inv(full + np.eye(3) * (CUBE / 2) ** 2), np.float64)  # as wide as a cube at least
    _fill_cubes(clear, centers / CUBE - lower, reach / CUBE, inverse * CUBE**2, cloud.opacities[surface_like])
    solid = clear < 1 - SOLID
    corners = _find_walls(solid)
    if not len(corners):
        raise _make_refusal(source)
    check_limit(len(corners) // 2, limit=limits.triangles, what="triangles", source=source)
    return _make_part((corners + lower) * CUBE)


def _make_refusal(source: str) -> SceneError:
    mesh = source.rpartition("/")[2].rpartition(".")[0] + ".mesh.glb"
    return SceneError(
        f"{source}: its splats are too faint or too large to make a surface of, and without one there is no depth and "
        f"no ground; put a mesh of the place beside it, as {mesh}."
    )


@compile_kernel
def _fill_cubes(
    clear: NDArray[np.float32],
    centers: NDArray[np.float64],
    reach: NDArray[np.float64],
    inverse: NDArray[np.float64],
    opacities: NDArray[np.float32],
) -> None:
    """Multiply the transparency of every cube by what each splat lets through in its middle."""
    for index in range(len(centers)):
        x, y, z = centers[index]
        a = inverse[index]
        for i in range(int(x - reach[index, 0]), int(x + reach[index, 0]) + 1):
            for j in range(int(y - reach[index, 1]), int(y + reach[index, 1]) + 1):
                for k in range(int(z - reach[index, 2]), int(z + reach[index, 2]) + 1):
                    p, q, r = i + 0.5 - x, j + 0.5 - y, k + 0.5 - z
                    power = a[0, 0] * p * p + a[1, 1] * q * q + a[2, 2] * r * r
                    power += 2 * (a[0, 1] * p * q + a[0, 2] * p * r + a[1, 2] * q * r)
                    clear[i, j, k] *= 1 - opacities[index] * np.exp(-0.5 * power)


def _find_walls(solid: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Four corners, in cubes, for each wall; the outermost cubes are empty."""
    inner = solid[1:-1, 1:-1, 1:-1]
    walls = []
    for (x, y, z), corners in SIDES.items():
        neighbour = solid[_shift(x, solid.shape[0]), _shift(y, solid.shape[1]), _shift(z, solid.shape[2])]
        cubes = np.argwhere(inner & ~neighbour) + 1
        walls.append((cubes[:, None, :] + np.array(corners)).reshape(-1, 3))
    return np.concatenate(walls)


def _shift(step: int, size: int) -> slice:
    return slice(1 + step, size - 1 + step)


def _make_part(corners: NDArray[np.float64]) -> MeshPart:
    points, vertices = np.unique(np.rint(corners / CUBE).astype(np.int32), axis=0, return_inverse=True)
    quads = vertices.reshape(-1, 4)
    triangles = quads[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3).astype(np.uint32)
    return MeshPart(
        positions=(points * CUBE).astype(np.float32),
        normals=np.tile(np.array([0, 1, 0], np.float32), (len(points), 1)),
        uvs=np.zeros((len(points), 2), np.float32),
        colors=np.full((len(points), 4), 255, np.uint8),
        triangles=triangles,
        material=0,
    )
