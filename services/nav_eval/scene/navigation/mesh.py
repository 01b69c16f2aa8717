"""The navigation mesh: a surface, everything that may be asked of it, and its file.

Answers come from compiled kernels over flat arrays; this class only turns points into numbers and back,
and remembers the distance fields it has made. On disk a mesh is plain arrays, mapped into memory, so that a second
process starts at once.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nav_eval.cache import ArrayFile, write_arrays
from nav_eval.compilation import bind_kernel
from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation import movement
from nav_eval.scene.navigation.distance_field import FieldState, GoalPlace, compute_distance, make_field
from nav_eval.scene.navigation.ground import AgentShape, Seed, StepResult, as_goals
from nav_eval.scene.navigation.islands import Island, IslandVerdict
from nav_eval.scene.navigation.movement import Graph, make_graph
from nav_eval.scene.navigation.surface import (
    ABSENT,
    ANY_ISLAND,
    Surface,
    draw_point,
    find_nearest,
    find_nearest_in_box,
    find_quads,
    find_quads_near,
    get_height,
    get_island,
    locate,
)
from nav_eval.scene.navigation.tiles import COLUMNS, Tiling

#: as Habitat searches: this far sideways, and this far in all
SNAP_REACH, SNAP_FARTHEST = 2.0, 4.5

#: half extents of the box that Habitat snaps within: sideways, and up or down
HABITAT_BOX = (2.0, 4.0)

#: `is_navigable` forgives this much, as Habitat does
HEIGHT_ERROR, SIDEWAYS_ERROR = 0.5, 0.01

FIELD_BYTES = 1 << 25  #: distance fields that one mesh remembers

_SOMEWHERE = (0.0, 0.0, 0.0)  #: a point, where only its type counts


@dataclass(frozen=True, slots=True, eq=False)
class MeshField:
    """Distances to the nearest of a set of goals."""

    mesh: "NavigationMesh"
    goals: tuple[Vec3, ...]
    _field: FieldState
    _ask: Callable[..., Any]  #: `compute_distance` of this field

    def distance(self, position: Vec3) -> float:
        """Geodesic metres from a position; infinity when there is no way."""
        found, metres, _ = self._ask(_to_floats(position))
        if not found:
            snapped = self.mesh.snap_point(position)
            return math.inf if snapped is None else self.distance(snapped)
        return float(metres)

    def path(self, position: Vec3) -> list[Vec3]:
        """The corners of the way from a position to its nearest goal; empty when there is none."""
        start = position if self.mesh.is_navigable(position) else self.mesh.snap_point(position)
        if start is None:
            return []
        _, metres, corner = self._ask(_to_floats(start))
        if math.isinf(metres):
            return []
        points, nodes = [start], len(self.mesh.surface.i)
        while corner < nodes:
            points.append(self.mesh.node_position(corner))
            corner = int(self._field.nodes["parent"][corner])
        return [*points, self.goals[corner - nodes]]

    @property
    def nbytes(self) -> int:
        return self._field.nodes.nbytes


@dataclass(frozen=True, kw_only=True, eq=False)
class NavigationMesh:
    """Where an agent of one shape can go in one scene."""

    surface: Surface
    shape: AgentShape
    islands: tuple[Island, ...]  #: every part that was found, the ground first; dropped ones have no index
    _fields: dict[tuple[Vec3, ...], MeshField] = field(default_factory=dict, repr=False)  #: oldest first
    _quads: dict[int, NDArray[np.int64]] = field(default_factory=dict, repr=False)  #: of islands that were drawn from
    stored_graph: Graph | None = field(default=None, repr=False)  #: where it need not be made any more

    @property
    def area(self) -> float:
        """m² of all parts that may be walked on."""
        return sum(island.area for island in self.islands if island.index is not None)

    @cached_property
    def graph(self) -> Graph:
        """What distance fields need."""
        return self.stored_graph or make_graph(self.surface)

    @cached_property
    def _step(self) -> Callable[..., Any]:
        return bind_kernel(movement.step, self.surface, like=(_SOMEWHERE, _SOMEWHERE[:2], True))

    @cached_property
    def _find_quad(self) -> Callable[..., Any]:
        return bind_kernel(locate, self.surface, like=_SOMEWHERE)

    @cached_property
    def _find_height(self) -> Callable[..., Any]:
        return bind_kernel(get_height, self.surface, like=(0, 0.0, 0.0))

    def is_navigable(self, point: Vec3) -> bool:
        return self._find_standing_place(_to_floats(point)) is not None

    def snap_point(self, point: Vec3) -> Vec3 | None:
        wanted = _to_floats(point)
        standing = self._find_standing_place(wanted)
        if standing is not None:
            return standing
        found, x, y, z = find_nearest(self.surface, wanted, SNAP_REACH, SNAP_FARTHEST)
        return self._put_on_surface((x, y, z)) if found else None

    def snap_within_box(
        self, point: Vec3, *, island: int | None = None, box: tuple[float, float] = HABITAT_BOX
    ) -> Vec3 | None:
        """The place that Habitat snaps to: nearest within a box, floors above and below alike; None without one."""
        wanted = _to_floats(point)
        found, x, y, z = find_nearest_in_box(
            self.surface, wanted, box, self.shape.max_climb, ANY_ISLAND if island is None else island
        )
        return (x, y, z) if found else None

    def island(self, point: Vec3) -> int | None:
        place = self._find_standing_place(_to_floats(point))
        if place is None:
            return None
        index = get_island(self.surface, *self._locate(place))
        return index if index >= 0 else None

    def try_step(self, start: Vec3, end: Vec3, *, sliding: bool) -> StepResult:
        found, x, y, z, collided = self._step(_to_floats(start), (float(end[0]), float(end[2])), bool(sliding))
        if found:
            return StepResult((x, y, z), collided)
        snapped = self.snap_point(start)
        if snapped is None:
            return StepResult(start, True)
        return self.try_step(snapped, end, sliding=sliding)

    def walk(self, start: Vec3, moves: ArrayLike, *, sliding: bool) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Many steps (dx, dz) in one call: the position after each, and whether it was cut short."""
        steps = np.ascontiguousarray(moves, dtype=np.float64).reshape(-1, 2)
        return movement.walk(self.surface, self.snap_point(start) or _to_floats(start), steps, sliding)

    def distance_field(self, goals: Sequence[Vec3]) -> MeshField:
        key = as_goals(goals)
        made = self._fields.pop(key, None) or self._make_field(key)
        self._fields[key] = made  # now the youngest
        self._forget_old_fields()
        return made

    def geodesic_distance(self, start: Vec3, goal: Vec3 | Sequence[Vec3]) -> float:
        return self.distance_field(as_goals(goal)).distance(start)

    def shortest_path(self, start: Vec3, goal: Vec3) -> list[Vec3]:
        return self.distance_field((goal,)).path(start)

    def random_navigable_point(self, seed: Seed, *, island: int | None = None) -> Vec3:
        """Drawn from the ground unless another island is named."""
        wanted = 0 if island is None else island
        drawn = draw_point(self.surface, self._find_quads(wanted), np.random.default_rng(seed), wanted)
        return self._put_on_surface(drawn) or drawn

    def draw_point_anywhere(self, seed: Seed) -> Vec3:
        """Drawn uniformly by area from all islands together."""
        drawn = draw_point(self.surface, self._find_quads(ANY_ISLAND), np.random.default_rng(seed), ANY_ISLAND)
        return self._put_on_surface(drawn) or drawn

    def draw_point_near(
        self, centre: Vec3, radius: float, seed: Seed, *, island: int | None = None, tries: int = 100
    ) -> Vec3 | None:
        """Drawn from what lies within a sphere; None when none of the tries hit it."""
        rng, middle = np.random.default_rng(seed), _to_floats(centre)
        wanted = ANY_ISLAND if island is None else island
        quads = find_quads_near(self.surface, self._find_quads(wanted), middle, float(radius))
        for _ in range(tries if len(quads) else 0):
            try:
                drawn = draw_point(self.surface, quads, rng, wanted, tries=1)
            except NavigationMeshError:
                continue
            if math.dist(drawn, middle) <= radius:
                return self._put_on_surface(drawn) or drawn
        return None

    def _find_quads(self, island: int) -> NDArray[np.int64]:
        indices = [part.index for part in self.islands if part.index is not None]
        if not indices:
            raise NavigationMeshError(
                "Nobody can stand anywhere in this scene: there is no ground large enough. If it lies on its side, say "
                "which way is up; if it is not drawn in metres, give its scale."
            )
        if island != ANY_ISLAND and island not in indices:
            raise NavigationMeshError(f"There is no island {island}; this mesh has {len(indices)}.")
        if island not in self._quads:
            self._quads[island] = find_quads(self.surface, island)
        return self._quads[island]

    def node_position(self, node: int) -> Vec3:
        surface = self.surface
        x, z = ((float(place) + 0.5) * surface.tiling.spacing for place in (surface.i[node], surface.j[node]))
        return (x, float(surface.height[node]), z)

    def _locate(self, point: Vec3) -> tuple[int, float, float]:
        spacing = self.surface.tiling.spacing
        u, v = float(point[0]) / spacing - 0.5, float(point[2]) / spacing - 0.5  # `to_lattice`
        return self._find_quad(u, v, float(point[1])), u, v

    def _find_standing_place(self, point: Vec3) -> Vec3 | None:
        """The place on the surface that a point means, if it means one at all."""
        place = self._put_on_surface(point)
        if place is None:
            found, x, y, z = find_nearest(self.surface, point, SIDEWAYS_ERROR, SNAP_FARTHEST)
            near = found and (x - point[0]) ** 2 + (z - point[2]) ** 2 <= SIDEWAYS_ERROR**2
            place = self._put_on_surface((x, y, z)) if near else None
        return place if place is not None and abs(place[1] - point[1]) <= HEIGHT_ERROR else None

    def _put_on_surface(self, point: Vec3) -> Vec3 | None:
        """The same place with the height of the surface there; the same bits however it was found."""
        quad, u, v = self._locate(point)
        return (point[0], self._find_height(quad, u, v), point[2]) if quad >= 0 else None

    def _forget_old_fields(self) -> None:
        """Drop the oldest beyond the limit; threads may do this at the same time."""
        total = sum(kept.nbytes for kept in list(self._fields.values()))
        for key in list(self._fields)[:-1]:
            if total <= FIELD_BYTES:
                return
            dropped = self._fields.pop(key, None)
            total -= dropped.nbytes if dropped else 0

    def _make_field(self, points: Iterable[Vec3]) -> MeshField:
        snapped = tuple(place for place in map(self.snap_point, points) if place is not None)
        goals: list[GoalPlace] = [(*self._locate(place), place[1]) for place in snapped]
        made = make_field(self.surface, self.graph, goals)
        ask = bind_kernel(compute_distance, self.surface, self.graph, made, like=(_SOMEWHERE,))
        return MeshField(self, snapped, made, ask)


def _to_floats(point: Vec3) -> Vec3:
    return (float(point[0]), float(point[1]), float(point[2]))


#: part of every key: raised whenever the same input would give another mesh
MESH_VERSION = 3

_SURFACE_ARRAYS: dict[str, tuple[type[np.generic], int]] = {
    "first": (np.int32, 1), "i": (np.int32, 1), "j": (np.int32, 1), "height": (np.float32, 1),
    "margin": (np.float32, 1), "links": (np.int32, 2), "quads": (np.uint8, 1), "island": (np.int32, 1),
}  # fmt: skip
_GRAPH_ARRAYS: dict[str, tuple[type[np.generic], int]] = {"ways": (np.uint8, 1), "grade": (np.float32, 1)}


def make_mesh_key(scene_digest: str, shape: AgentShape) -> str:
    """The name under which a mesh may be kept: scene, agent and version."""
    return hashlib.sha256(f"{MESH_VERSION}:{scene_digest}:{shape.digest}".encode()).hexdigest()[:32]


def save_mesh(mesh: NavigationMesh, path: Path) -> None:
    """Write a mesh to a file."""
    surface = {name: getattr(mesh.surface, name) for name in _SURFACE_ARRAYS}
    arrays = {"slots": mesh.surface.tiling.slots, **surface, **mesh.graph._asdict()}
    tiling = mesh.surface.tiling
    about = {
        "version": MESH_VERSION,
        "spacing": tiling.spacing,
        "tile_i": tiling.tile_i,
        "tile_j": tiling.tile_j,
        "shape": asdict(mesh.shape),
        "islands": [asdict(part) for part in mesh.islands],
    }
    write_arrays(path, arrays, about=about)


def load_mesh(path: Path) -> NavigationMesh:
    """A mesh that `save_mesh` wrote, its arrays mapped from the file."""
    try:
        file = ArrayFile(path)
        about = file.about
        if about["version"] != MESH_VERSION:
            raise ValueError("it was written by another version of nav-eval")
        tiling = Tiling(about["spacing"], about["tile_i"], about["tile_j"], file.array("slots", np.int32, 2))
        surface = Surface(tiling, **{name: file.array(name, *kind) for name, kind in _SURFACE_ARRAYS.items()})
        graph = Graph(**{name: file.array(name, *kind) for name, kind in _GRAPH_ARRAYS.items()})
        _check_arrays(surface, graph)
        islands = tuple(Island(**{**part, "verdict": IslandVerdict(part["verdict"])}) for part in about["islands"])
        shape = AgentShape(**about["shape"])
        return NavigationMesh(surface=surface, shape=shape, islands=islands, stored_graph=graph)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NavigationMeshError(
            f"{path} is not a whole navigation mesh ({error}); delete it, it will be made again."
        ) from error


def _check_arrays(surface: Surface, graph: Graph) -> None:
    """Kernels trust their arrays, so what comes from a disk must fit together."""
    nodes, tiles = len(surface.i), len(surface.first) // COLUMNS
    whole = (
        all(len(getattr(surface, name)) == nodes for name in _SURFACE_ARRAYS if name != "first")
        and len(graph.ways) == len(graph.grade) == nodes
        and surface.links.shape == (nodes, 4)
        and surface.links.max(initial=-1) < nodes
        and surface.links.min(initial=-1) >= -1
        and surface.tiling.slots.max(initial=-1) < tiles
        and surface.tiling.slots.min(initial=-1) >= -1
        and len(surface.first) == tiles * COLUMNS + 1
        and surface.first[0] == 0
        and surface.first[-1] == nodes
        and bool((np.diff(surface.first) >= 0).all())
        and not (surface.links[surface.quads != ABSENT][:, :2] < 0).any()
    )
    if not whole:
        raise ValueError("its arrays do not fit together")
