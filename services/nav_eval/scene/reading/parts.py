"""Pieces of a scene and how they become one flat triangle list."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.model import Light, Material, Scene, Texture
from nav_eval.scene.reading.limits import ReadLimits, check_limit
from nav_eval.scene.reading.log import ReadLog


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Part:
    """Triangles of one material and one object, in world space."""

    positions: NDArray[np.float32]  #: V × 3
    normals: NDArray[np.float32]  #: V × 3
    uvs: NDArray[np.float32]  #: V × 2
    colors: NDArray[np.uint8]  #: V × 4
    triangles: NDArray[np.uint32]  #: T × 3, into this part's vertices
    material: int
    object_id: int = 0


class PartList:
    """Parts as they are read, counted against the limits."""

    def __init__(self, limits: ReadLimits, log: ReadLog) -> None:
        self._limits = limits
        self._log = log
        self._parts: list[Part] = []
        self._vertices = 0
        self._triangles = 0

    def reserve(self, *, vertices: int, triangles: int) -> None:
        """Count what is about to be made."""
        self._vertices += vertices
        self._triangles += triangles
        check_limit(self._vertices, limit=self._limits.vertices, what="vertices", source=self._log.source)
        check_limit(self._triangles, limit=self._limits.triangles, what="triangles", source=self._log.source)

    def add(self, part: Part) -> None:
        self._parts.append(part)

    def join(
        self, *, materials: Sequence[Material], textures: Sequence[Texture] = (), lights: Sequence[Light] = ()
    ) -> Scene:
        """One scene of all parts, without objects' names yet."""
        parts = self._parts
        if not any(len(part.triangles) for part in parts):
            raise SceneError(f"{self._log.source}: there is not a single triangle in it.")
        self._log.meshes = len(parts)
        self._log.triangles = self._triangles
        check_limit(len(materials), limit=self._limits.materials, what="materials", source=self._log.source)
        counts = [len(part.triangles) for part in parts]
        starts = np.cumsum([0, *(len(part.positions) for part in parts[:-1])]).astype(np.uint32)
        return Scene(
            positions=np.concatenate([part.positions for part in parts]),
            normals=np.concatenate([part.normals for part in parts]),
            uvs=np.concatenate([part.uvs for part in parts]),
            colors=np.concatenate([part.colors for part in parts]),
            triangles=np.concatenate([part.triangles + start for part, start in zip(parts, starts, strict=True)]),
            triangle_material=np.repeat([part.material for part in parts], counts).astype(np.uint16),
            triangle_object=np.repeat([part.object_id for part in parts], counts).astype(np.uint32),
            triangle_category=np.zeros(sum(counts), np.uint16),
            materials=tuple(materials),
            textures=tuple(textures),
            lights=tuple(lights),
        )
