"""Navigation: where an agent can stand, how it moves, how far it is.

`build_navigation(scene, shape)` makes a mesh from geometry, `read_navmesh(file)` from one of Habitat's
files; `OpenPlane` is a floor without end. All three are a `Ground`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.ground import AgentShape, DistanceField, Ground, OpenPlane, StepResult

if TYPE_CHECKING:
    from nav_eval.scene.navigation.mesh import NavigationMesh

LEAST_AREA = 1.0  #: m²; smaller parts are dropped


class Geometry(Protocol):
    """What a mesh is built from: a `Scene`, or anything else with triangles."""

    @property
    def positions(self) -> NDArray[np.float32]: ...

    @property
    def triangles(self) -> NDArray[np.uint32]: ...


def build_navigation(
    scene: Geometry, shape: AgentShape | None = None, *, least_area: float = LEAST_AREA, keep_platforms: bool = False
) -> "NavigationMesh":
    """The navigation mesh of a scene for an agent of this shape.

    Parts that cannot be reached from the ground and are small (below `least_area` m², or as small as the
    inside of furniture) and platforms (table tops, roofs) are reported but not walked on; 0 keeps all parts.
    """
    from nav_eval.scene.navigation.builder import build_surface
    from nav_eval.scene.navigation.mesh import NavigationMesh

    shape = shape or AgentShape()
    surface, islands = build_surface(
        scene.positions, scene.triangles, shape, least_area=least_area, keep_platforms=keep_platforms
    )
    return NavigationMesh(surface=surface, shape=shape, islands=islands)


def read_navmesh(path: Path) -> "NavigationMesh":
    """The navigation mesh of one of Habitat's `.navmesh` files."""
    from nav_eval.scene.navigation.mesh import NavigationMesh
    from nav_eval.scene.navigation.navmesh_file import read_detour
    from nav_eval.scene.navigation.navmesh_surface import resample

    detour = read_detour(path)
    surface, islands = resample(detour)
    return NavigationMesh(surface=surface, shape=detour.shape, islands=islands)


__all__ = [
    "AgentShape",
    "DistanceField",
    "Geometry",
    "Ground",
    "OpenPlane",
    "StepResult",
    "build_navigation",
    "read_navmesh",
]
