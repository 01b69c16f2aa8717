"""What `render()` shows: the robot's colour cameras side by side, and the map with the way so far.

Made for looking at, not for learning from: it shows goals, which no agent may see.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation import top_down_map
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.sensors import RgbSensor
from nav_eval.simulator.motion import AgentState

SMALLEST = 240  #: pixels; the height of a screen whose cameras are smaller
PALETTE = np.array([[40, 40, 46], [226, 224, 216], [120, 118, 112]], np.uint8)  #: outside, inside, border
PATH, GOAL, AGENT = (38, 110, 220), (210, 60, 50), (240, 150, 20)
STOREY = 1.5  #: metres; what is farther above or below is on another floor

Picture = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenery:
    """One moment, as a spectator sees it."""

    cameras: Mapping[str, Picture]
    ground: object
    path: Sequence[Vec3]
    state: AgentState
    goals: Sequence[Vec3]


class Screen:
    """Draws moments of one benchmark, all at the same size."""

    def __init__(self, benchmark: BenchmarkConfig) -> None:
        colour = {name: s for name, s in benchmark.sensors().items() if isinstance(s, RgbSensor)}
        self._order = sorted(colour, key=lambda name: -colour[name].yaw)  # left to right, as the eyes do
        self._height = _round_to_even(max([SMALLEST, *(sensor.height for sensor in colour.values())]))
        self._floors: dict[int, tuple[NavigationMesh, list[top_down_map.TopDownMap]]] = {}

    def draw(self, scenery: Scenery) -> Picture:
        views = [_scale(scenery.cameras[name], self._height) for name in self._order if name in scenery.cameras]
        return np.concatenate([*views, self._map(scenery)], axis=1)

    def _map(self, scenery: Scenery) -> Picture:
        """A square with the floor that the agent is on."""
        blank = Image.new("RGB", (self._height, self._height), tuple(PALETTE[0].tolist()))
        floor = self._floor(scenery.ground, scenery.state.position)
        if floor is not None:
            image = Image.fromarray(PALETTE[floor.image])
            scale = self._height / max(image.size)
            size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
            corner = (self._height - size[0]) // 2, (self._height - size[1]) // 2
            blank.paste(image.resize(size, Image.Resampling.BILINEAR), corner)
            _Pen(blank, floor, scale, corner).mark(scenery)
        return np.asarray(blank)

    def _floor(self, ground: object, position: Vec3) -> top_down_map.TopDownMap | None:
        """The highest floor that is not above the agent; none on ground without a map."""
        if not isinstance(ground, NavigationMesh):
            return None
        if id(ground) not in self._floors:
            floors = [
                top_down_map.make_top_down_map(ground, number)
                for number in range(len(top_down_map.find_floor_heights(ground)))
            ]
            self._floors = {id(ground): (ground, floors)}  # holds the mesh, so that its id stays its own
        _, floors = self._floors[id(ground)]
        below = [floor for floor in floors if floor.floor <= position[1] + 0.5]
        return below[-1] if below else (floors[0] if floors else None)


class _Pen:
    """Marks on a map."""

    def __init__(
        self, image: Image.Image, floor: top_down_map.TopDownMap, scale: float, corner: tuple[int, int]
    ) -> None:
        self._draw = ImageDraw.Draw(image)
        self._floor, self._scale, self._corner = floor, scale, corner
        self._dot = max(3.0, image.width / 60)

    def mark(self, scenery: Scenery) -> None:
        here = [self._pixel(point) for point in scenery.path if self._is_here(point)]
        if len(here) > 1:
            self._draw.line(here, fill=PATH, width=max(2, round(self._dot / 2)))
        for goal in scenery.goals:
            if self._is_here(goal):
                self._disc(self._pixel(goal), GOAL)
        self._arrow(scenery.state)

    def _arrow(self, state: AgentState) -> None:
        x, y = self._pixel(state.position)
        forward_x, forward_z = state.forward
        size = 2 * self._dot
        tip = (x + size * forward_x, y + size * forward_z)
        left = (x - size / 2 * forward_x + size / 2 * forward_z, y - size / 2 * forward_z - size / 2 * forward_x)
        right = (x - size / 2 * forward_x - size / 2 * forward_z, y - size / 2 * forward_z + size / 2 * forward_x)
        self._draw.polygon([tip, left, right], fill=AGENT)

    def _disc(self, centre: tuple[float, float], colour: tuple[int, int, int]) -> None:
        x, y = centre
        self._draw.ellipse([x - self._dot, y - self._dot, x + self._dot, y + self._dot], fill=colour)

    def _is_here(self, point: Vec3) -> bool:
        return abs(point[1] - self._floor.floor) < STOREY

    def _pixel(self, point: Vec3) -> tuple[float, float]:
        metre, (left, top) = self._scale / self._floor.metres_per_pixel, self._corner
        return left + (point[0] - self._floor.left) * metre, top + (point[2] - self._floor.top) * metre


def _scale(picture: Picture, height: int) -> Picture:
    if picture.shape[0] == height:
        return picture
    width = max(1, round(picture.shape[1] * height / picture.shape[0]))
    scaled: Any = Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(scaled)


def _round_to_even(length: int) -> int:
    """Videos want even sizes."""
    return length + length % 2
