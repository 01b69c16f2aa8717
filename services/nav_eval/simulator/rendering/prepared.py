"""A scene made ready for drawing: what can be computed once is computed once, and kept.

Triangles are grouped into batches (one texture and one way of drawing each) and, inside a batch, into
compact chunks. Surfaces that show both sides become two triangles, so that back-face culling holds
for everything. Colour factors, vertex colours and light are folded into one tint per vertex.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import AlphaMode, Texture

VERTEX = np.dtype([("position", "<f4", 3), ("uv", "<f4", 2), ("tint", "u1", 4), ("surface", "<u4")])
"""`surface` is the row of `PreparedScene.surfaces` that the pixel belongs to."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Triangles that one draw call can draw."""

    texture: int | None  #: index into `PreparedScene.textures`
    tinted: bool  #: False: the texture's bytes are the picture's bytes
    alpha_mode: AlphaMode = AlphaMode.OPAQUE
    alpha_cutoff: float = 0.0


class Chunks(NamedTuple):
    """Triangles in compact groups of at most 64; a named tuple because compiled kernels take it whole."""

    first: NDArray[np.int64]
    """C + 1, where each chunk starts in `triangles`."""
    batch: NDArray[np.int32]
    """C, never decreasing."""
    bounds: NDArray[np.float32]
    """C × 6, lower and upper corner."""
    cones: NDArray[np.float32]
    """C × 5: a direction, and cosine and sine of the angle around it that holds all normals of the chunk."""
    longest: NDArray[np.float32]
    """C, metres of the longest edge."""
    group_bounds: NDArray[np.float32]
    """The same boxes for every GROUP chunks in a row,"""
    group_longest: NDArray[np.float32]
    """and the same lengths."""
    corners: NDArray[np.float32]
    """C × (9 · 64), the coordinates of the triangles' corners: first all x of corner a, lane by lane, then all y, …"""
    triangles: NDArray[np.uint32]
    """T × 3, chunk after chunk."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PreparedScene:
    """Everything the renderer needs, and nothing else; arrays may be memory-mapped."""

    digest: str  #: of the scene and of the version of this preparation
    triangle_count: int  #: of the scene as it was read
    vertices: NDArray[np.void]  #: dtype `VERTEX`
    chunks: Chunks
    batches: tuple[Batch, ...]  #: opaque ones first, then masks, then blended ones
    textures: tuple[Texture, ...]
    surfaces: NDArray[np.int64]  #: S × 2, category id and object id; row 0 is "nothing"
    background: tuple[int, int, int]  #: where there is no geometry

    @property
    def size(self) -> float:
        """The largest coordinate: how much single precision can be off."""
        return float(np.abs(self.chunks.bounds).max(initial=0.0))

    @property
    def first_blended_chunk(self) -> int:
        solid = sum(batch.alpha_mode is not AlphaMode.BLEND for batch in self.batches)
        return int(np.searchsorted(self.chunks.batch, solid))
