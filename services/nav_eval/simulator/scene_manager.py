"""Scenes for episodes: found, furnished as the scenario says, made walkable, and kept while they are needed.

A `Place` is a scene made ready for one robot. Making one takes seconds, so the last few stay in memory;
what can be kept between processes is in the cache folder (`nav_eval.simulator.scene_cache`).
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from nav_eval.config.schema import BenchmarkConfig, RobotConfig
from nav_eval.scene.model import Scene
from nav_eval.scene.navigation import AgentShape, Ground, build_navigation
from nav_eval.scene.objects import with_objects
from nav_eval.scene.reading import read_scene
from nav_eval.simulator.scene_files import find_scene

PLACES_IN_MEMORY = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Place:
    """A scene that one robot can walk in."""

    scene: Scene
    ground: Ground

    @cached_property
    def category_ids(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.scene.semantics.categories) if name}


class SceneManager:
    """Opens the scenes of one benchmark."""

    def __init__(self, benchmark: BenchmarkConfig) -> None:
        self._root = Path(benchmark.dataset.scene_path)
        self._scenario = benchmark.scenario_config
        self._navmesh = benchmark.simulator.navmesh
        self._places: OrderedDict[tuple[str, AgentShape], Place] = OrderedDict()

    def open(self, scene_id: str, robot: RobotConfig) -> Place:
        """The scene of an episode, ready for this robot."""
        key = (scene_id, self.shape(robot))
        if key not in self._places:
            self._places[key] = self._make(*key)
            while len(self._places) > PLACES_IN_MEMORY:
                self._places.popitem(last=False)
        self._places.move_to_end(key)
        return self._places[key]

    def shape(self, robot: RobotConfig) -> AgentShape:
        """The body that must fit."""
        return AgentShape(
            radius=robot.radius,
            height=robot.height,
            max_climb=robot.max_climb,
            max_slope_degrees=robot.max_slope,
            cell_size=self._navmesh.cell_size,
        )

    def _make(self, scene_id: str, shape: AgentShape) -> Place:
        path = find_scene(scene_id, self._root)
        things = (*self._scenario.objects, *self._scenario.obstacles)
        scene, blocks = with_objects(read_scene(path), things, root=self._root)
        solid = scene if np.all(blocks) else replace(scene, triangles=scene.triangles[blocks])
        return Place(scene=scene, ground=build_navigation(solid, shape))
