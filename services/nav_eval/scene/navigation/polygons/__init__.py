"""The navigable region as polygons: its border, its convex parts, and Habitat's `.navmesh` files of it.

Queries need none of this, they ask the surface; polygons are for those who want to see the region, measure its
parts, find the nearest obstacle or hand the mesh on. Nothing here is compiled together with the kernels of the surface.
"""

from nav_eval.scene.navigation.polygons.border import BorderIndex, ObstaclePoint, index_border
from nav_eval.scene.navigation.polygons.convex_parts import PolygonMesh, make_polygon_mesh
from nav_eval.scene.navigation.polygons.navmesh_writer import encode_navmesh, write_navmesh

__all__ = [
    "BorderIndex",
    "ObstaclePoint",
    "PolygonMesh",
    "encode_navmesh",
    "index_border",
    "make_polygon_mesh",
    "write_navmesh",
]
