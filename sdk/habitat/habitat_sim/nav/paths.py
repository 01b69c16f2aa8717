"""What a pathfinder is asked, and what it answers.

One request is kept for an episode and only its start changes, so goals are converted and their distance field is made
once. Points of a path are made when somebody looks at them.
"""

import math
from collections.abc import Callable
from typing import Any

from nav_eval.records.geometry import Vec3
from nav_eval_habitat.points import make_point, round_position


class PathRequest:
    """A start and some ends; filled by `PathFinder.find_path`."""

    def __init__(self) -> None:
        self._start: Vec3 = (0.0, 0.0, 0.0)
        self._ends: tuple[Vec3, ...] = ()
        self.distance = math.inf
        self.solution: Callable[[], tuple[list[Vec3], int]] | None = None  #: the points, and which end they lead to
        self.field: Any = None  #: the distance field of these ends
        self._made: tuple[list[Any], int] | None = None

    @property
    def start(self) -> Vec3:
        return self._start

    @property
    def ends(self) -> tuple[Vec3, ...]:
        return self._ends

    @property
    def requested_start(self) -> Any:
        return make_point(self._start)

    @requested_start.setter
    def requested_start(self, point: Any) -> None:
        self._start = round_position(point)

    def _set_ends(self, ends: tuple[Vec3, ...]) -> None:
        if ends != self._ends:
            self._ends, self.field = ends, None

    def answer(self, distance: float, solution: Callable[[], tuple[list[Vec3], int]] | None) -> bool:
        """Keep what was found; true if there is a way."""
        self.distance, self.solution, self._made = distance, solution, None
        return solution is not None

    @property
    def geodesic_distance(self) -> float:
        return self.distance

    @geodesic_distance.setter
    def geodesic_distance(self, metres: float) -> None:
        self.distance = float(metres)

    def _solve(self) -> tuple[list[Any], int]:
        if self._made is None:
            points, index = self.solution() if self.solution else ([], -1)
            self._made = ([make_point(point) for point in points], index)
        return self._made

    @property
    def points(self) -> list[Any]:
        return self._solve()[0]

    @points.setter
    def points(self, points: list[Any]) -> None:
        self._made = (list(points), self._solve()[1])

    @property
    def closest_end_point_index(self) -> int:
        return self._solve()[1]


class ShortestPath(PathRequest):
    def __init__(self) -> None:
        super().__init__()
        self._ends = ((0.0, 0.0, 0.0),)

    @property
    def requested_end(self) -> Any:
        return make_point(self._ends[0])

    @requested_end.setter
    def requested_end(self, point: Any) -> None:
        self._set_ends((round_position(point),))


class MultiGoalShortestPath(PathRequest):
    @property
    def requested_ends(self) -> list[Any]:
        return [make_point(end) for end in self._ends]

    @requested_ends.setter
    def requested_ends(self, points: Any) -> None:
        self._set_ends(tuple(round_position(point) for point in points))


class HitRecord:
    """The nearest obstacle."""

    def __init__(self, position: Any = (0, 0, 0), normal: Any = (0, 0, 0), distance: float = math.inf) -> None:
        self.hit_pos, self.hit_normal, self.hit_dist = make_point(position), make_point(normal), distance
