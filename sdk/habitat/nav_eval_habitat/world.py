"""A scene that a simulator stands in: what is drawn, named and walked on, each made when it is first needed."""

from collections import OrderedDict
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nav_eval.cache import get_cache_folder
from nav_eval.scene.formats.annotations import AnnotationFiles, find_annotation
from nav_eval.scene.model import Semantics
from nav_eval.scene.navigation import AgentShape
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.simulator.scene_manager import SceneSource
from nav_eval_habitat.scene_lookup import SceneFiles, find_scene_files

if TYPE_CHECKING:
    from nav_eval.simulator.rendering import PreparedScene

EMPTY = ("NONE", "")
WORLDS_IN_MEMORY = 4
MATTERPORT, HM3D = "Matterport3D", "HM3D"


class World:
    """One scene."""

    def __init__(self, files: SceneFiles) -> None:
        self.files = files
        self._drawable: PreparedScene | None = None
        self.source = SceneSource(
            path=files.stage, things=(), root=files.stage.parent, cache=get_cache_folder(), lighting="flat"
        )

    @property
    def name(self) -> str:
        return self.files.name

    @property
    def path(self) -> Path:
        return self.files.stage

    @property
    def prepared(self) -> "PreparedScene":
        return self.source.prepared

    def prepare_for(self, mesh: NavigationMesh | None) -> "PreparedScene":
        """What is drawn; on the first mesh that there is with a first idea of what shows from where."""
        if mesh is None:
            return self.prepared
        if self._drawable is None:
            self._drawable = self.source.prepare_for(mesh)
        return self._drawable

    @cached_property
    def semantics(self) -> Semantics:
        return self.source.semantics()

    @cached_property
    def annotation_files(self) -> AnnotationFiles:
        """Whose annotation the scene has, and its files; an empty name without one."""
        return find_annotation(self.path) or AnnotationFiles("", ())

    @property
    def annotation(self) -> str:
        return self.annotation_files.kind

    @property
    def annotation_path(self) -> Path:
        """The file that names the objects."""
        return self.path.parent / self.annotation_files.names[0]

    @property
    def id_shift(self) -> int:
        """How much larger our object ids are than the data set's own: users know the latter as values of pixels."""
        return 1 if self.annotation in (MATTERPORT, "Replica", "ScanNet") else 0

    @cached_property
    def bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The corners of everything that is drawn."""
        positions = self.prepared.vertices["position"]
        return positions.min(axis=0), positions.max(axis=0)

    def build_mesh(self, shape: AgentShape) -> NavigationMesh:
        """The mesh for an agent of this shape, made from the geometry and kept in the cache folder."""
        return self.source.ground(shape, prefer_files=False)


_worlds: OrderedDict[tuple[str, str], World] = OrderedDict()
_lock = Lock()  #: habitat-lab has environments in threads


def open_world(scene_id: str, dataset_file: str) -> World | None:
    """The world of a scene id; None for the empty one. The last few stay, while their files are the same."""
    if scene_id in EMPTY:
        return None
    key, files = (scene_id, dataset_file), find_scene_files(scene_id, dataset_file)
    with _lock:
        if key not in _worlds or _worlds[key].files != files:
            _worlds[key] = World(files)
            while len(_worlds) > WORLDS_IN_MEMORY:
                _worlds.popitem(last=False)
        _worlds.move_to_end(key)
        return _worlds[key]
