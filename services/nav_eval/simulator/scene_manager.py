"""Scenes for episodes: found, furnished as the scenario says, made walkable, and kept while they are needed.

A `Place` is a scene made ready for one robot. Making one takes seconds, so the last few stay in memory, and
what was made from a file is kept in the cache folder under a digest of the file and of everything that went
into it: the next process maps it into memory and starts at once. The scene file itself is read again only
when somebody needs more of it than the cache has.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from nav_eval.config.schema import BenchmarkConfig, ObjectConfig, RobotConfig
from nav_eval.scene.lighting import under
from nav_eval.scene.model import Scene, Semantics
from nav_eval.scene.navigation import AgentShape, Ground, build_navigation, read_navmesh
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.store import load_mesh, mesh_key, save_mesh
from nav_eval.scene.objects import Furnished, with_objects
from nav_eval.scene.reading import read_scene, scene_digest
from nav_eval.scene.semantics import read_semantics, write_semantics
from nav_eval.simulator.rendering import PreparedScene, prepared_scene
from nav_eval.simulator.scene_files import find_scene

PLACES_IN_MEMORY = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class SceneSource:
    """A scene file with a scenario's objects in it, and where what is made from it is kept."""

    path: Path
    things: tuple[ObjectConfig, ...]
    root: Path  #: mesh files of objects are below it
    cache: Path
    lighting: str = "auto"  #: see `nav_eval.scene.lighting`

    @cached_property
    def digest(self) -> str:
        """Of the file and of the objects put into it."""
        things = "".join(thing.model_dump_json() for thing in self.things)
        return hashlib.sha256(f"{scene_digest(self.path)}{self.lighting}{things}".encode()).hexdigest()

    @cached_property
    def furnished(self) -> Furnished:
        scene, blocks = with_objects(read_scene(self.path), self.things, root=self.root)
        return Furnished(under(scene, self.lighting), blocks)

    @cached_property
    def prepared(self) -> PreparedScene:
        """The scene as the renderer wants it."""
        return prepared_scene(self.cache, self.digest, lambda: self.furnished.scene)

    def semantics(self) -> Semantics:
        file = self.cache / "semantics" / f"{self.digest[:32]}.json"
        if file.exists():
            return read_semantics(file.read_bytes(), source=str(file))
        file.parent.mkdir(parents=True, exist_ok=True)
        write_semantics(self.furnished.scene.semantics, file)
        return self.furnished.scene.semantics

    def ground(self, shape: AgentShape, *, prefer_files: bool = True) -> NavigationMesh:
        """Where an agent of this shape can go: as the dataset's own mesh says, or as the geometry does."""
        official = self._official_mesh(shape) if prefer_files else None
        if official is not None:
            return official
        folder = self.cache / "navigation" / mesh_key(self.digest, shape)
        if not folder.exists():
            scene, blocks = self.furnished
            solid = scene if np.all(blocks) else replace(scene, triangles=scene.triangles[blocks])
            save_mesh(build_navigation(solid, shape), folder)
        return load_mesh(folder)

    def _official_mesh(self, shape: AgentShape) -> NavigationMesh | None:
        """Habitat's `.navmesh` beside the scene, if it was made for such an agent and nothing was put in its way."""
        file = self.path.with_suffix(".navmesh")
        if self.things or not file.exists():
            return None
        mesh = read_navmesh(file)
        return mesh if _fits(mesh.shape, shape) else None


def _fits(made_for: AgentShape, wanted: AgentShape) -> bool:
    return (round(made_for.radius, 3), round(made_for.height, 3)) == (round(wanted.radius, 3), round(wanted.height, 3))


@dataclass(frozen=True, kw_only=True, eq=False)
class Place:
    """A scene that one robot can walk in."""

    source: SceneSource
    semantics: Semantics
    ground: Ground

    @property
    def scene(self) -> Scene:
        """The scene in full; reads the file if nobody has."""
        return self.source.furnished.scene

    @property
    def prepared(self) -> PreparedScene:
        """The scene ready to be drawn; from the cache where it can be."""
        return self.source.prepared

    @cached_property
    def category_ids(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.semantics.categories) if name}


class SceneManager:
    """Opens the scenes of one benchmark."""

    def __init__(self, benchmark: BenchmarkConfig, *, cache: Path) -> None:
        self._root = Path(benchmark.dataset.scene_path)
        scenario = benchmark.scenario_config
        self._things = (*scenario.objects, *scenario.obstacles)
        self._navmesh = benchmark.simulator.navmesh
        self._lighting = benchmark.simulator.rendering.lighting
        self._cache = cache
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
        source = SceneSource(
            path=path, things=self._things, root=self._root, cache=self._cache, lighting=self._lighting
        )
        return Place(
            source=source,
            semantics=source.semantics(),
            ground=source.ground(shape, prefer_files=self._navmesh.prefer_files),
        )
