"""Scenes for episodes: found, furnished as the scenario says, made walkable, and kept while they are needed.

A `NavigableScene` is a scene made ready for one robot. Making one takes seconds, so the last few stay in memory, and
what was made from a file is kept in the cache folder under a digest of the file and of everything that went
into it: the next process maps it into memory and starts at once. The scene file itself is read again only
when somebody needs more of it than the cache has.

Goals that a dataset only names ("a towel in region 1", in LH-VLN's files) become the places of all such objects: the
scene's annotation says where they are; each is put onto the nearest ground, and objects that no ground is near to do
not count.
"""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

import msgspec
import numpy as np

from nav_eval.cache import lock_maker
from nav_eval.config.schema import BenchmarkConfig, ObjectConfig, RobotConfig
from nav_eval.dataset.episode import Episode, Goal, Subtask
from nav_eval.errors import SceneError
from nav_eval.scene.formats import READING_VERSION, SCENE_SUFFIXES, compute_scene_digest, read_scene
from nav_eval.scene.model import Scene, SceneObject, Semantics, apply_lighting
from nav_eval.scene.navigation import AgentShape, Ground, build_navigation, read_navmesh
from nav_eval.scene.navigation.mesh import NavigationMesh, load_mesh, make_mesh_key, save_mesh
from nav_eval.scene.objects import FurnishedScene, place_objects
from nav_eval.scene.semantics import read_semantics, write_semantics
from nav_eval.simulator.domain_randomization import DomainDraw, randomize_scene

if TYPE_CHECKING:
    from nav_eval.simulator.rendering import PreparedScene
    from nav_eval.simulator.rendering.canvas import BlankScene
    from nav_eval.simulator.repainter import Prepare, Repainter

#: Habitat's files carry the folder that its users link their data to
_HABITAT_PREFIX = "data/scene_datasets/"
_HM3D = re.compile(r"^(?P<number>\d{5})-(?P<scan>[A-Za-z0-9]+)$")
_SCANNET = re.compile(r"^scene\d{4}_\d{2}$")
_SCAN = re.compile(r"^[A-Za-z0-9_]+$")
#: of HM3D's 1000 buildings the first 800 are the training split
_HM3D_TRAINING = 800


def find_scene(scene_id: str, root: Path) -> Path:
    """The file of a scene."""
    name = PurePosixPath(scene_id.removeprefix("./").removeprefix(_HABITAT_PREFIX))
    if name.is_absolute() or ".." in name.parts or not name.parts:
        raise SceneError(f"The scene id {scene_id!r} leads out of the scene folder {root}; such an episode is refused.")
    tried = list(dict.fromkeys(_iterate_candidates(str(name))))
    for candidate in tried:
        path = root / candidate
        if path.is_file():
            return path
    raise SceneError(
        f"There is no scene {scene_id!r} under {root}. Looked for {', '.join(tried)}. "
        "docs/data.md says where each dataset keeps its scenes; dataset.scene_path is the folder."
    )


def _iterate_candidates(name: str) -> Iterator[str]:
    if name.endswith(SCENE_SUFFIXES):
        yield name
        if name.endswith(".glb") and not name.endswith(".basis.glb"):
            yield name.removesuffix(".glb") + ".basis.glb"
        return
    for suffix in SCENE_SUFFIXES:
        yield name + suffix
    if match := _HM3D.match(name):
        split = "train" if int(match["number"]) < _HM3D_TRAINING else "val"
        for folder in ("", f"{split}/", f"hm3d/{split}/", f"hm3d_v0.2/{split}/"):
            yield f"{folder}{name}/{match['scan']}.basis.glb"
            yield f"{folder}{name}/{match['scan']}.glb"
    elif _SCANNET.match(name):
        for folder in ("", "scans/", "scannet/scans/"):
            yield f"{folder}{name}/{name}_vh_clean_2.ply"
    elif _SCAN.match(name):
        for folder in ("", "mp3d/", "gibson/"):
            yield f"{folder}{name}/{name}.glb"
            yield f"{folder}{name}.glb"
        yield f"replica/{name}/mesh.ply"


SCENES_IN_MEMORY = 4
"""Of one manager."""

Shared = TypeVar("Shared")
_SHARED: WeakValueDictionary[Hashable, object] = WeakValueDictionary()


def _share(key: Hashable, make: Callable[[], Shared]) -> Shared:
    """What another manager of this process holds already, as several episodes at once have one each; or made now."""
    found = _SHARED.get(key)
    if found is None:
        found = _SHARED[key] = make()
    return found  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True, eq=False)
class SceneSource:
    """A scene file with a scenario's objects in it, and where what is made from it is kept."""

    path: Path
    things: tuple[ObjectConfig, ...]
    root: Path  #: mesh files of objects are below it
    cache: Path
    lighting: str = "auto"  #: see `apply_lighting`
    up: str = "auto"  #: see `read_scene`
    scale: float | None = None  #: metres per unit of the file

    @cached_property
    def digest(self) -> str:
        """Of the file, how and by which edition of our readers it is read, and the objects put into it."""
        things = "".join(thing.model_dump_json() for thing in self.things)
        reading = "" if (self.up, self.scale) == ("auto", None) else f"{self.up} {self.scale}"
        read = f"{READING_VERSION} {compute_scene_digest(self.path)}{reading}{self.lighting}{things}"
        return hashlib.sha256(read.encode()).hexdigest()

    @cached_property
    def furnished(self) -> FurnishedScene:
        scene, blocks = place_objects(read_scene(self.path, up=self.up, scale=self.scale), self.things, root=self.root)
        return FurnishedScene(apply_lighting(scene, self.lighting), blocks)

    @cached_property
    def prepared(self) -> "PreparedScene":
        """The scene as the renderer wants it."""
        from nav_eval.simulator.rendering import load_or_prepare

        return load_or_prepare(self.cache, self.digest, lambda: self.furnished.scene)

    def prepare_for(self, ground: Ground) -> "PreparedScene":
        """The same, with a first idea of what shows from where on this ground; found once, in a few seconds at most."""
        from nav_eval.simulator.rendering.glance import look_around
        from nav_eval.simulator.rendering.prepared_store import get_prepared_path

        if not isinstance(ground, NavigationMesh):
            return self.prepared
        path = get_prepared_path(self.cache, self.digest)
        return look_around(self.prepared, ground, path.with_name(f"{path.name}.outlooks"))

    def make_repainter(self, ground: Ground) -> "Repainter | None":
        """Who shows this scene as episodes draw it; None where each draw has to be prepared."""
        from nav_eval.simulator.rendering.canvas_store import get_canvas_path, load_or_prepare_blank
        from nav_eval.simulator.rendering.glance import look_around
        from nav_eval.simulator.repainter import Repainter

        path = get_canvas_path(self.cache, self.digest)

        def keep(prepare: "Prepare") -> "BlankScene":
            blank = load_or_prepare_blank(path, prepare)
            if not isinstance(ground, NavigationMesh):
                return blank
            return blank._replace(prepared=look_around(blank.prepared, ground, path.with_name(f"{path.name}.outlooks")))

        scene = self.furnished.scene
        if not Repainter.can_paint(scene):
            return None
        return Repainter(scene, keep=keep, textures=self.cache / "rendering" / "finishes")

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
        folder = self.cache / "navigation" / make_mesh_key(self.digest, shape)
        if not folder.exists():
            with lock_maker(folder):
                if not folder.exists():
                    save_mesh(self._build_ground(shape), folder)
        return load_mesh(folder)

    def _build_ground(self, shape: AgentShape) -> NavigationMesh:
        scene, blocks = self.furnished
        solid = scene if np.all(blocks) else replace(scene, triangles=scene.triangles[blocks])
        return build_navigation(solid, shape)

    def _official_mesh(self, shape: AgentShape) -> NavigationMesh | None:
        """Habitat's `.navmesh` beside the scene, if it was made for such an agent and nothing was put in its way."""
        file = self.path.with_suffix(".navmesh")
        if self.things or self.up != "auto" or self.scale is not None or not file.exists():
            return None
        mesh = read_navmesh(file)
        made_for, wanted = ((round(body.radius, 3), round(body.height, 3)) for body in (mesh.shape, shape))
        return mesh if made_for == wanted else None


@dataclass(frozen=True, kw_only=True, eq=False)
class NavigableScene:
    """A scene that one robot can walk in."""

    source: SceneSource
    semantics: Semantics
    ground: Ground

    @property
    def scene(self) -> Scene:
        """The scene in full; reads the file if nobody has."""
        return self.source.furnished.scene

    @cached_property
    def prepared(self) -> "PreparedScene":
        """The scene ready to be drawn; from the cache where it can be."""
        key = ("prepared", self.source.digest, self.source.cache, id(self.ground))
        return _share(key, lambda: self.source.prepare_for(self.ground))

    def randomize(self, draw: DomainDraw, episode: Episode) -> "Scene | PreparedScene":
        """The scene as an episode draws it."""
        if self._repainter is None:
            return randomize_scene(self.scene, draw, episode)
        return self._repainter.paint(draw, episode)

    @cached_property
    def _repainter(self) -> "Repainter | None":
        return self.source.make_repainter(self.ground)

    @cached_property
    def category_ids(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.semantics.categories) if name}


class SceneManager:
    """Opens the scenes of one benchmark."""

    def __init__(self, benchmark: BenchmarkConfig, *, cache: Path) -> None:
        self._dataset = benchmark.dataset
        self._root = Path(benchmark.dataset.scene_path)
        scenario = benchmark.scenario_config
        self._things = (*scenario.objects, *scenario.obstacles)
        self._navmesh = benchmark.simulator.navmesh
        self._lighting = benchmark.simulator.rendering.lighting
        self._cache = cache
        self._places: OrderedDict[tuple[str, AgentShape], NavigableScene] = OrderedDict()

    def open(self, scene_id: str, robot: RobotConfig) -> NavigableScene:
        """The scene of an episode, ready for this robot."""
        key = (scene_id, self.shape(robot))
        if key not in self._places:
            self._places[key] = self._make(*key)
            while len(self._places) > SCENES_IN_MEMORY:
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

    def _make(self, scene_id: str, shape: AgentShape) -> NavigableScene:
        path = find_scene(scene_id, self._root)
        source = SceneSource(
            path=path,
            things=self._things,
            root=self._root,
            cache=self._cache,
            lighting=self._lighting,
            up=self._dataset.scene_up,
            scale=self._dataset.scene_scale,
        )
        prefer_files = self._navmesh.prefer_files
        official = path.with_suffix(".navmesh")
        written = official.stat().st_mtime_ns if prefer_files and official.exists() else None
        key = ("ground", source.digest, source.cache, shape, prefer_files, written)
        return NavigableScene(
            source=source,
            semantics=source.semantics(),
            ground=_share(key, lambda: source.ground(shape, prefer_files=prefer_files)),
        )


def resolve_goals(episode: Episode, semantics: Semantics, ground: Ground) -> Episode:
    """The episode with the goals of every sub-task filled in; those that have goals keep them."""
    if all(subtask.goals for subtask in episode.subtasks):
        return episode
    subtasks = tuple(_resolve_subtask(subtask, semantics, ground) for subtask in episode.subtasks)
    return msgspec.structs.replace(episode, private=msgspec.structs.replace(episode.private, subtasks=subtasks))


def _resolve_subtask(subtask: Subtask, semantics: Semantics, ground: Ground) -> Subtask:
    if subtask.goals:
        return subtask
    goals = [_make_goal(thing, ground) for thing in semantics.objects if _is_meant(thing, subtask)]
    return msgspec.structs.replace(subtask, goals=tuple(goal for goal in goals if goal is not None))


def _is_meant(thing: SceneObject, subtask: Subtask) -> bool:
    """LH-VLN's task texts leave out the slashes of category names such as "sofa/couch"."""
    named = subtask.target in (thing.category, thing.category.replace("/", ""))
    return named and (subtask.region is None or thing.region == subtask.region)


def _make_goal(thing: SceneObject, ground: Ground) -> Goal | None:
    place = ground.snap_point(thing.center)
    if place is None:
        return None
    return Goal(position=place, object_id=str(thing.object_id), category=thing.category)
