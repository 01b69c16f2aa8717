"""The navigation mesh: a surface, and everything that may be asked of it.

Answers come from compiled kernels over flat arrays; this class only turns points into numbers and back,
and remembers the distance fields it has made.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nav_eval.compiling import entry_for
from nav_eval.dataset.episode import Vec3
from nav_eval.errors import NavigationError
from nav_eval.scene.navigation import walking
from nav_eval.scene.navigation.field import Field, Goal, distance_from, new_field
from nav_eval.scene.navigation.graph import Graph, make_graph
from nav_eval.scene.navigation.ground import Seed, StepResult, goals_of
from nav_eval.scene.navigation.islands import Island
from nav_eval.scene.navigation.sampling import draw_point, quads_of
from nav_eval.scene.navigation.shape import AgentShape
from nav_eval.scene.navigation.snapping import nearest
from nav_eval.scene.navigation.surface import Surface, height_at, island_at, locate, to_lattice

#: as Habitat searches: this far sideways, and this far in all
SNAP_REACH, SNAP_FARTHEST = 2.0, 4.5

#: `is_navigable` forgives this much, as Habitat does
HEIGHT_ERROR, SIDEWAYS_ERROR = 0.5, 0.01

FIELD_BYTES = 1 << 28  #: distance fields that one mesh remembers

_SOMEWHERE = (0.0, 0.0, 0.0)  #: a point, where only its type counts


@dataclass(frozen=True, slots=True, eq=False)
class MeshField:
    """Distances to the nearest of a set of goals."""

    mesh: "NavigationMesh"
    goals: tuple[Vec3, ...]
    _graph: Graph
    _field: Field
    _ask: Callable[..., Any]  #: `distance_from` for exactly these types

    def distance(self, position: Vec3) -> float:
        """Geodesic metres from a position; infinity when there is no way."""
        found, metres, _ = self._ask(self.mesh.surface, self._graph, self._field, _floats(position))
        if not found:
            snapped = self.mesh.snap_point(position)
            return math.inf if snapped is None else self.distance(snapped)
        return float(metres)

    def path(self, position: Vec3) -> list[Vec3]:
        """The corners of the way from a position to its nearest goal; empty when there is none."""
        start = position if self.mesh.is_navigable(position) else self.mesh.snap_point(position)
        if start is None:
            return []
        _, metres, corner = self._ask(self.mesh.surface, self._graph, self._field, _floats(start))
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
        """`walking.step` for exactly these types."""
        return entry_for(walking.step, self.surface, _SOMEWHERE, _SOMEWHERE[:2], True)

    @cached_property
    def _ask(self) -> Callable[..., Any]:
        """`distance_from` for exactly these types: all fields of a mesh have the same."""
        return entry_for(distance_from, self.surface, self.graph, new_field(self.surface, self.graph, []), _SOMEWHERE)

    def is_navigable(self, point: Vec3) -> bool:
        return self._standing(_floats(point)) is not None

    def snap_point(self, point: Vec3) -> Vec3 | None:
        wanted = _floats(point)
        below = self._on_surface(wanted)
        if below is not None and abs(below[1] - wanted[1]) <= HEIGHT_ERROR:
            return below
        found, x, y, z = nearest(self.surface, wanted, SNAP_REACH, SNAP_FARTHEST)
        return self._on_surface((x, y, z)) if found else None

    def island(self, point: Vec3) -> int | None:
        place = self._standing(_floats(point))
        if place is None:
            return None
        index = island_at(self.surface, *self._locate(place))
        return index if index >= 0 else None

    def try_step(self, start: Vec3, end: Vec3, *, sliding: bool) -> StepResult:
        found, x, y, z, collided = self._step(
            self.surface, _floats(start), (float(end[0]), float(end[2])), bool(sliding)
        )
        if found:
            return StepResult((x, y, z), collided)
        snapped = self.snap_point(start)
        if snapped is None:
            return StepResult(start, True)
        return self.try_step(snapped, end, sliding=sliding)

    def walk(self, start: Vec3, moves: ArrayLike, *, sliding: bool) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Many steps (dx, dz) in one call: the position after each, and whether it was cut short."""
        steps = np.ascontiguousarray(moves, dtype=np.float64).reshape(-1, 2)
        return walking.walk(self.surface, self.snap_point(start) or _floats(start), steps, sliding)

    def distance_field(self, goals: Sequence[Vec3]) -> MeshField:
        key = goals_of(goals)
        made = self._fields.pop(key, None) or self._make_field(key)
        self._fields[key] = made  # now the youngest
        self._forget_old_fields()
        return made

    def geodesic_distance(self, start: Vec3, goal: Vec3 | Sequence[Vec3]) -> float:
        return self.distance_field(goals_of(goal)).distance(start)

    def shortest_path(self, start: Vec3, goal: Vec3) -> list[Vec3]:
        return self.distance_field((goal,)).path(start)

    def random_navigable_point(self, seed: Seed, *, island: int | None = None) -> Vec3:
        """Drawn from the ground unless another island is named."""
        indices = [part.index for part in self.islands if part.index is not None]
        wanted = 0 if island is None else island
        if wanted not in indices:
            raise NavigationError(f"There is no island {wanted}; this mesh has {len(indices)}.")
        if wanted not in self._quads:
            self._quads[wanted] = quads_of(self.surface, wanted)
        drawn = draw_point(self.surface, self._quads[wanted], np.random.default_rng(seed), wanted)
        return self._on_surface(drawn) or drawn

    def node_position(self, node: int) -> Vec3:
        spacing, surface = self.surface.tiling.spacing, self.surface
        return (
            (float(surface.i[node]) + 0.5) * spacing,
            float(surface.height[node]),
            (float(surface.j[node]) + 0.5) * spacing,
        )

    def _locate(self, point: Vec3) -> tuple[int, float, float]:
        u, v = to_lattice(self.surface, float(point[0]), float(point[2]))
        return locate(self.surface, u, v, float(point[1])), u, v

    def _standing(self, point: Vec3) -> Vec3 | None:
        """The place on the surface that a point means, if it means one at all."""
        place = self._on_surface(point)
        if place is None:
            found, x, y, z = nearest(self.surface, point, SIDEWAYS_ERROR, SNAP_FARTHEST)
            near = found and (x - point[0]) ** 2 + (z - point[2]) ** 2 <= SIDEWAYS_ERROR**2
            place = self._on_surface((x, y, z)) if near else None
        return place if place is not None and abs(place[1] - point[1]) <= HEIGHT_ERROR else None

    def _on_surface(self, point: Vec3) -> Vec3 | None:
        """The same place with the height of the surface there; the same bits however it was found."""
        quad, u, v = self._locate(point)
        return (point[0], height_at(self.surface, quad, u, v), point[2]) if quad >= 0 else None

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
        goals: list[Goal] = [(*self._locate(place), place[1]) for place in snapped]
        return MeshField(self, snapped, self.graph, new_field(self.surface, self.graph, goals), self._ask)


def _floats(point: Vec3) -> Vec3:
    return (float(point[0]), float(point[1]), float(point[2]))


__all__ = ["MeshField", "NavigationMesh"]
