"""Compile every kernel once, into the cache on disk.

The first mesh on a machine takes half a minute of compiling; images do this while they are built, so
that no evaluation waits for it.
"""

import numpy as np

from nav_eval.scene.navigation import AgentShape
from nav_eval.scene.navigation.builder import build_surface
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.navmesh_file import DetourMesh
from nav_eval.scene.navigation.navmesh_surface import resample
from nav_eval.scene.navigation.obstacles import add_obstacles, make_box
from nav_eval.scene.navigation.polygons import index_border
from nav_eval.scene.navigation.top_down_map import make_top_down_view

_CORNERS = [(-2.0, 0.0, -2.0), (-2.0, 0.0, 2.0), (2.0, 0.0, 2.0), (2.0, 0.0, -2.0)]


def warm_up() -> None:
    """Ask every kind of mesh everything once."""
    positions = np.array(_CORNERS, dtype=np.float32)
    faces = np.array([(0, 1, 2), (0, 2, 3)], dtype=np.uint32)
    shape = AgentShape()
    surface, islands = build_surface(positions, faces, shape, least_area=0.0, keep_platforms=False)
    built = NavigationMesh(surface=surface, shape=shape, islands=islands)
    edges = np.stack([positions, np.roll(positions, -1, axis=0)], axis=1)
    official = DetourMesh(triangles=positions[faces], borders=edges, shape=shape, cell_size=0.05)
    surface, islands = resample(official)
    resampled = NavigationMesh(surface=surface, shape=shape, islands=islands)
    for mesh in (built, resampled, add_obstacles(built, [make_box((1.0, 0.5, 1.0), (0.5, 1.0, 0.5))])):
        start, goal = mesh.random_navigable_point(0), mesh.random_navigable_point(1)
        mesh.try_step(start, goal, sliding=True)
        mesh.walk(start, [(0.1, 0.1)], sliding=True)
        mesh.snap_point((1.0, 3.0, 1.0))
        mesh.snap_within_box((1.0, 3.0, 1.0))
        make_top_down_view(mesh, lower=start, upper=goal, metres_per_pixel=0.5, height=0.0)
        index_border(mesh.surface).find_nearest_obstacle(start)
        mesh.island(start)
        mesh.shortest_path(start, goal)


if __name__ == "__main__":
    warm_up()
