"""From where a thing can be looked at: places to stand nearby, in its own room, with it in sight."""

import math
from dataclasses import dataclass, field

from nav_eval.dataset.episode import Goal, Pose, Vec3
from nav_eval.frames import quaternion_from_yaw
from nav_eval.scene.model import SceneObject
from nav_eval.scene.navigation import Ground
from nav_eval.simulator.episode_generation.sites import Site, distance_to_footprint, horizontal

REACH = 0.95  #: metres from the thing's box: inside a success distance of one metre
SPACING = 0.15  #: metres between places
MOST = 90  #: places that are kept per thing


@dataclass(eq=False)
class Approaches:
    """Places around things for one body; found once per thing."""

    site: Site
    ground: Ground
    eye_height: float
    _found: dict[int, tuple[Pose, ...]] = field(default_factory=dict)

    def view_points(self, item: SceneObject) -> tuple[Pose, ...]:
        """Nearest to the thing's middle first; empty when nobody can get there or see it."""
        if item.object_id not in self._found:
            self._found[item.object_id] = self._search(item)
        return self._found[item.object_id]

    def goal(self, item: SceneObject, *, view_points: bool = True) -> Goal:
        """The thing as a goal: its position is the nearest place where one can stand and see it."""
        poses = self.view_points(item)
        return Goal(
            position=poses[0].position,
            object_id=str(item.object_id),
            category=item.category,
            view_points=poses if view_points else (),
        )

    def _search(self, item: SceneObject) -> tuple[Pose, ...]:
        spots = [spot for spot in self._grid(item) if self._is_good(spot, item)]
        spots.sort(key=lambda spot: (horizontal(spot, item.center), spot))
        seen = []
        for spot in spots:
            x, y, z = spot
            if self.site.sees((x, y + self.eye_height, z), item):
                seen.append(Pose(spot, facing(spot, item.center)))
            if len(seen) == MOST:
                break
        return tuple(seen)

    def _grid(self, item: SceneObject) -> list[Vec3]:
        floor = self.site.floor_under(item)
        columns = _steps(item.center[0], item.size[0] / 2 + REACH)
        rows = _steps(item.center[2], item.size[2] / 2 + REACH)
        return [(x, floor, z) for x in columns for z in rows]

    def _is_good(self, spot: Vec3, item: SceneObject) -> bool:
        if distance_to_footprint(spot, item) > REACH or self.ground.island(spot) != 0:
            return False
        region = self.site.region_at(spot)
        return item.region is None or (region is not None and region.region_id == item.region)


def facing(spot: Vec3, target: Vec3) -> tuple[float, float, float, float]:
    """The rotation that looks from one point towards another, level."""
    x, y, z, w = quaternion_from_yaw(math.atan2(spot[0] - target[0], spot[2] - target[2]))
    return round(x, 6), round(y, 6), round(z, 6), round(w, 6)


def _steps(middle: float, reach: float) -> list[float]:
    count = int(reach / SPACING)
    return [round(middle + n * SPACING, 3) for n in range(-count, count + 1)]
