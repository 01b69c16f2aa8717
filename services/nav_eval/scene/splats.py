"""A scene's looks as 3-D Gaussians: what a picture shows is the sum of many soft, coloured ellipsoids.

Splats have no surface. A scene that is shown by them keeps triangles for everything else: depth, ids, navigation.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SplatCloud:
    """Gaussians in the scene's frame; colours are final, as in a scan."""

    centers: NDArray[np.float32]  #: N × 3
    covariances: NDArray[np.float32]  #: N × 6: xx, xy, xz, yy, yz, zz, square metres
    colors: NDArray[np.float32]  #: N × 3, sRGB, 0 to 1
    opacities: NDArray[np.float32]  #: N, 0 to 1, in the middle of each
    last_object: int = 0
    """The highest object id of the triangles that stand for the splats; a higher one was put into the scene later."""

    def __len__(self) -> int:
        return len(self.centers)

    def transform(self, matrix: NDArray[np.float64]) -> "SplatCloud":
        """The cloud moved by a 4 × 4 matrix."""
        linear = matrix[:3, :3]
        full = linear @ expand_covariances(self.covariances.astype(np.float64)) @ linear.T
        moved = self.centers.astype(np.float64) @ linear.T + matrix[:3, 3]
        covariances = compact_covariances(full).astype(np.float32)
        return replace(self, centers=moved.astype(np.float32), covariances=covariances)


def list_splat_arrays(cloud: SplatCloud) -> dict[str, NDArray[np.float32]]:
    """Everything of a cloud that can change a picture, by name."""
    names = ("centers", "covariances", "colors", "opacities")
    return {name: getattr(cloud, name) for name in names}


def make_covariances(scales: NDArray[np.float64], rotations: NDArray[np.float64]) -> NDArray[np.float32]:
    """N × 6 out of standard deviations along own axes and quaternions (w, x, y, z) of any length."""
    lengths = np.linalg.norm(rotations, axis=1, keepdims=True)
    w, x, y, z = np.where(lengths > 0, rotations / np.maximum(lengths, 1e-30), [1.0, 0.0, 0.0, 0.0]).T
    turns = np.stack([
        np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=1),
        np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=1),
        np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1),
    ], axis=1)  # fmt: skip
    axes = turns * scales[:, None, :]
    return compact_covariances(axes @ axes.transpose(0, 2, 1)).astype(np.float32)


def expand_covariances(compact: NDArray[np.float64]) -> NDArray[np.float64]:
    """N × 3 × 3 out of N × 6."""
    return compact[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)


def compact_covariances(full: NDArray[np.float64]) -> NDArray[np.float64]:
    """The upper triangle of symmetric matrices."""
    return full.reshape(-1, 9)[:, [0, 1, 2, 4, 5, 8]]
