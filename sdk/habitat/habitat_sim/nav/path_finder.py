"""Where an agent can stand and how it gets from one place to another: nav-eval's mesh, Habitat's questions.

Points come in as anything with three numbers and are taken in single precision, as Habitat does.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from habitat_sim.nav.paths import HitRecord, PathRequest
from habitat_sim.nav.settings import NavMeshSettings
from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation.mesh import HEIGHT_ERROR, MeshField, NavigationMesh
from nav_eval.scene.navigation.top_down_map import make_top_down_view
from nav_eval_habitat.mesh_file import read_mesh_file, write_mesh_file
from nav_eval_habitat.mesh_outline import MeshOutline
from nav_eval_habitat.points import NOWHERE, make_point, round_position, to_position

_ROUNDING = 1e-5  #: metres that single precision may add to a distance


class PathFinder:
    """Empty until a mesh is loaded or built."""

    def __init__(self) -> None:
        self._mesh: NavigationMesh | None = None
        self._outline: MeshOutline | None = None
        self._settings: NavMeshSettings | None = None
        self._world: Any = None
        self._rng = np.random.default_rng(0)

    def use_mesh(
        self,
        mesh: NavigationMesh,
        settings: NavMeshSettings | None = None,
        world: Any = None,
    ) -> None:
        """Stand on this mesh; `world` has the bounds of what it was built from, or of its file."""
        self._mesh, self._outline = mesh, MeshOutline(mesh)
        self._settings = (settings or NavMeshSettings.from_shape(mesh.shape)).copy()
        self._world = world

    @property
    def mesh(self) -> NavigationMesh:
        if self._mesh is None:
            raise NavigationMeshError(
                "No navigation mesh is loaded: call load_nav_mesh or sim.recompute_navmesh first."
            )
        return self._mesh

    def find_mesh(self) -> NavigationMesh | None:
        """The mesh, if there is one."""
        return self._mesh

    @property
    def outline(self) -> MeshOutline:
        assert self._outline is not None or self.mesh
        return self._outline  # type: ignore[return-value]

    @property
    def is_loaded(self) -> bool:
        return self._mesh is not None

    @property
    def nav_mesh_settings(self) -> NavMeshSettings | None:
        return self._settings

    def load_nav_mesh(self, path: str) -> bool:
        """True if the file could be read; otherwise nothing changes."""
        try:
            found = read_mesh_file(Path(path))
        except (NavigationMeshError, OSError):
            return False
        self.use_mesh(found.mesh, NavMeshSettings.from_recast(found.settings), found)
        return True

    def save_nav_mesh(self, path: str) -> bool:
        if self._mesh is None or self._settings is None:
            return False
        try:
            write_mesh_file(self._mesh, Path(path), self._settings.to_recast())
        except (NavigationMeshError, OSError):
            return False
        return True

    def seed(self, new_seed: int) -> None:
        self._rng = np.random.default_rng(abs(int(new_seed)))

    def snap_point(self, point: Any, island_index: int = -1) -> Any:
        """The nearest place to stand, or three NaN."""
        found = self._snap(round_position(point), island_index)
        return make_point(found or NOWHERE)

    def _snap(self, point: Vec3, island: int = -1) -> Vec3 | None:
        if self._mesh is None or not all(map(math.isfinite, point)):
            return None
        return self._mesh.snap_within_box(point, island=island if island >= 0 else None)

    def is_navigable(self, point: Any, max_y_delta: float = HEIGHT_ERROR) -> bool:
        place = round_position(point)
        if self._mesh is None or not all(map(math.isfinite, place)):
            return False
        snapped = self._mesh.snap_within_box(place)
        if snapped is None or abs(snapped[1] - place[1]) > max_y_delta:
            return False
        return math.hypot(snapped[0] - place[0], snapped[2] - place[2]) <= 0.01

    def find_path(self, path: PathRequest) -> bool:
        """Fill the request; false if there is no way."""
        mesh = self._mesh
        if mesh is None or not path.ends or not all(map(math.isfinite, path.start)):
            return path.answer(math.inf, None)
        if path.field is None or path.field.mesh is not mesh:
            path.field = mesh.distance_field([end for end in path.ends if all(map(math.isfinite, end))])
        field: MeshField = path.field
        distance = field.distance(path.start)
        if math.isinf(distance):
            return path.answer(math.inf, None)
        return path.answer(distance, lambda: _trace(field, path.start, path.ends))

    def try_step(self, start: Any, end: Any) -> Any:
        """Where a step ends that slides along walls."""
        return make_point(self.walk(to_position(start), to_position(end), sliding=True))

    def try_step_no_sliding(self, start: Any, end: Any) -> Any:
        """Where a step ends that stops at walls."""
        return make_point(self.walk(to_position(start), to_position(end), sliding=False))

    def filter_step(self, start: Any, end: Any, *, sliding: bool) -> Any:
        """As the two above; plain numbers for plain numbers, which is what agents move with."""
        if type(start) is tuple and type(end) is tuple:
            return self.walk(start, end, sliding=sliding)
        return make_point(self.walk(to_position(start), to_position(end), sliding=sliding))

    def walk(self, start: Vec3, end: Vec3, *, sliding: bool) -> Vec3:
        """The end of a step; the start itself if the end is nowhere, or on another island."""
        if not all(map(math.isfinite, (*start, *end))):
            return start
        mesh = self.mesh
        place, collided = mesh.try_step(start, end, sliding=sliding)
        if not collided:
            return place
        snapped = mesh.snap_within_box(end)
        if snapped is None or mesh.island(snapped) != mesh.island(place):
            return start
        return place

    def get_random_navigable_point(self, max_tries: int = 10, island_index: int = -1) -> Any:
        """Uniform by area over the whole mesh, or over one island; NaN if the draws fail."""
        areas = self._get_areas()
        if not areas or sum(areas.values()) <= 0:
            raise RuntimeError("The navigation mesh has no area to draw a point from.")
        if island_index < 0:
            return make_point(self.mesh.draw_point_anywhere(self._rng))
        if island_index not in areas:
            return make_point(NOWHERE)
        return make_point(self.mesh.random_navigable_point(self._rng, island=island_index))

    def _get_areas(self) -> dict[int, float]:
        if self._mesh is None:
            return {}
        return {part.index: part.area for part in self._mesh.islands if part.index is not None}

    def get_random_navigable_point_near(
        self, circle_center: Any, radius: float, max_tries: int = 100, island_index: int = -1
    ) -> Any:
        """Within the sphere; NaN after as many failures."""
        centre, island = round_position(circle_center), island_index if island_index >= 0 else None
        if self._mesh is None or not all(map(math.isfinite, centre)):
            return make_point(NOWHERE)
        found = self._mesh.draw_point_near(
            centre, max(0.0, radius - _ROUNDING), self._rng, island=island, tries=max_tries
        )
        return make_point(found or NOWHERE)

    def distance_to_closest_obstacle(self, pt: Any, max_search_radius: float = 2.0) -> float:
        """At most the radius; infinity off the mesh."""
        place = self._snap(round_position(pt))
        if place is None:
            return math.inf
        return self.outline.border.find_nearest_obstacle(place, max_search_radius).distance

    def closest_obstacle_surface_point(self, pt: Any, max_search_radius: float = 2.0) -> HitRecord:
        place = self._snap(round_position(pt))
        if place is None:
            return HitRecord()
        return HitRecord(*self.outline.border.find_nearest_obstacle(place, max_search_radius))

    def get_island(self, point: Any) -> int:
        place = self._snap(round_position(point))
        island = None if place is None else self.mesh.island(place)
        return -1 if island is None else island

    @property
    def num_islands(self) -> int:
        return len(self._get_areas())

    @property
    def navigable_area(self) -> float:
        return 0.0 if self._mesh is None else self._mesh.area

    def island_area(self, island_index: int = -1) -> float:
        """Of one island, or of all."""
        return self.navigable_area if island_index < 0 else self._get_areas().get(island_index, 0.0)

    def island_radius(self, place: Any) -> float:
        """Of the island of a point, or by its index; 0 off the mesh."""
        island = int(place) if np.ndim(place) == 0 else self.get_island(place)
        return self.outline.measure_radius(island) if self.is_loaded else 0.0

    def get_bounds(self) -> tuple[Any, Any]:
        """Of the scene that the mesh was built from; of the mesh itself if it was loaded."""
        lower, upper = getattr(self._world, "bounds", None) or self.outline.bounds
        return make_point(lower), make_point(upper)

    def get_topdown_view(self, meters_per_pixel: float, height: float, eps: float = HEIGHT_ERROR) -> NDArray[np.bool_]:
        view: NDArray[np.bool_] = self.get_topdown_island_view(meters_per_pixel, height, eps) >= 0
        return view

    def get_topdown_island_view(
        self, meters_per_pixel: float, height: float, eps: float = HEIGHT_ERROR
    ) -> NDArray[np.int32]:
        lower, upper = (to_position(corner) for corner in self.get_bounds())
        view = make_top_down_view(
            self.mesh, lower=lower, upper=upper, metres_per_pixel=meters_per_pixel, height=height, height_error=eps
        )
        return view.islands

    def build_navmesh_vertices(self, island_index: int = -1) -> list[Any]:
        return [make_point(vertex) for vertex in self.outline.get_soup(island_index)[0]]

    def build_navmesh_vertex_indices(self, island_index: int = -1) -> list[int]:
        """Three per triangle."""
        indices: list[int] = self.outline.get_soup(island_index)[1].tolist()
        return indices


def _trace(field: MeshField, start: Vec3, ends: tuple[Vec3, ...]) -> tuple[list[Vec3], int]:
    """The corners from start to end: the ends have the heights that were asked for."""
    corners = field.path(field.mesh.snap_point(start) or start)
    first, last = corners[0], corners[-1]
    index = next(k for k, end in enumerate(ends) if field.mesh.snap_point(end) == last)
    return [(first[0], start[1], first[2]), *corners[1:-1], (last[0], ends[index][1], last[2])], index
