"""From a scene id to files: scene data sets, scene instances, stages, or a plain file.

A scene data set is a JSON file that names others by patterns. A scene id is looked for in it as Habitat does: as part
of the name of a scene instance, then as a scene-instance file, then as part of the name of a stage, then as a file.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from nav_eval.errors import SceneError

_ASSETS = (".glb", ".gltf", ".ply", ".obj", ".stl", ".dae", ".off", ".3mf")
_INSTANCE, _STAGE = ".scene_instance.json", ".stage_config.json"
NO_DATASET = ("", "default")


@dataclass(frozen=True, kw_only=True)
class SceneFiles:
    """What belongs to one scene."""

    name: str
    stage: Path  #: the file that is drawn
    navmesh: Path | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)  #: of the stage: up, front, semantic files
    objects: tuple[Mapping[str, Any], ...] = ()  #: instances that the scene puts into its stage


class SceneDataset:
    """A `*.scene_dataset_config.json` file."""

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            path = next(iter(sorted(path.glob("*.scene_dataset_config.json"))), path)
        if not path.is_file():
            raise SceneError(f"There is no scene dataset configuration {path}; check scene_dataset_config_file.")
        self._folder = path.parent
        self._content = _read_json(path)

    def _find_paths(self, section: str) -> Iterator[Path]:
        """The files of a section, each once; those that do not exist are left out, as scans come in parts."""
        seen: set[Path] = set()
        for patterns in self._content.get(section, {}).get("paths", {}).values():
            for pattern in patterns:
                for path in sorted(self._folder.glob(pattern)):
                    if path not in seen:
                        seen.add(path)
                        yield path

    @cached_property
    def instances(self) -> list[Path]:
        return [path for path in self._find_paths("scene_instances") if path.name.endswith(_INSTANCE)]

    @cached_property
    def stages(self) -> list[Path]:
        found = list(self._find_paths("stages"))
        folders = [path for path in found if path.is_dir()]
        within = [path for folder in folders for path in sorted(folder.rglob("*")) if _is_stage(path)]
        return [path for path in found if _is_stage(path)] + within

    @property
    def stage_defaults(self) -> Mapping[str, Any]:
        defaults: Mapping[str, Any] = self._content.get("stages", {}).get("default_attributes", {})
        return defaults

    def find_navmesh(self, name: str) -> Path | None:
        instances = self._content.get("navmesh_instances", {})
        if name in instances and name != "paths":
            return self._folder / str(instances[name])
        return next((path for path in self._find_paths("navmesh_instances") if path.stem == name), None)


def find_scene_files(scene_id: str, dataset_file: str) -> SceneFiles:
    """The files of a scene, or an error that says where they were looked for."""
    dataset = None if dataset_file in NO_DATASET else SceneDataset(Path(dataset_file))
    if dataset is not None:
        instance = _find_by_name(scene_id, dataset.instances, _INSTANCE)
        if instance is not None:
            return _read_instance(instance, dataset)
    file = Path(scene_id)
    if scene_id.endswith(_INSTANCE) and file.is_file():
        return _read_instance(file, dataset)
    if dataset is not None:
        stage = _find_by_name(scene_id, dataset.stages, _STAGE)
        if stage is not None:
            return _read_stage(stage, dataset)
    if file.is_file():
        return _read_stage(file, dataset)
    within = _find_in_folder(file)
    if within is not None:
        return _read_stage(within, dataset)
    where = "" if dataset is None else f", nor a scene or stage of {dataset_file}"
    raise SceneError(f"There is no scene {scene_id!r}: it is not a file{where}. docs/data.md says where scenes belong.")


def _is_stage(path: Path) -> bool:
    name = path.name.lower()
    return name.endswith(_STAGE) or (name.endswith(_ASSETS) and ".semantic." not in name)


def _find_by_name(scene_id: str, paths: list[Path], suffix: str) -> Path | None:
    """The file with that name, else the first whose path holds the id."""
    stem = Path(scene_id).name.removesuffix(suffix)
    exact = [path for path in paths if path.name.removesuffix(suffix) == stem or str(path) == scene_id]
    wanted = scene_id.removeprefix("./")
    return next(iter([*exact, *(path for path in paths if wanted and wanted in str(path))]), None)


def _find_in_folder(folder: Path) -> Path | None:
    """LH-VLN and others give the folder of a scan."""
    if not folder.is_dir():
        return None
    stem = folder.name.split("-")[-1]
    names = (f"{stem}.basis.glb", f"{stem}.glb", f"{stem}.ply", "mesh.ply")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _read_stage(path: Path, dataset: SceneDataset | None, *, name: str = "") -> SceneFiles:
    attributes = dict(dataset.stage_defaults) if dataset is not None else {}
    asset = path
    if path.name.endswith(_STAGE):
        attributes |= _read_json(path)
        asset = path.parent / str(attributes.get("render_asset", ""))
    if not asset.is_file():
        raise SceneError(f"{path}: its render_asset {asset} does not exist.")
    scene = name or asset.name.split(".")[0]
    navmesh = dataset.find_navmesh(scene) if dataset is not None else None
    return SceneFiles(name=scene, stage=asset, navmesh=navmesh or _find_navmesh_beside(asset), attributes=attributes)


def _find_navmesh_beside(asset: Path) -> Path | None:
    candidates = (asset.with_suffix(".navmesh"), asset.with_name(asset.name.split(".")[0] + ".navmesh"))
    return next((file for file in candidates if file.is_file()), None)


def _read_instance(path: Path, dataset: SceneDataset | None) -> SceneFiles:
    content = _read_json(path)
    template = str(content.get("stage_instance", {}).get("template_name", ""))
    stage = _find_by_name(template, dataset.stages, _STAGE) if dataset is not None else None
    beside = (path.parent / f"{template}{suffix}" for suffix in (_STAGE, *_ASSETS, ""))
    found = stage or next((file for file in beside if file.is_file()), None)
    if found is None:
        raise SceneError(f"{path}: its stage {template!r} is not in the scene dataset.")
    name = path.name.removesuffix(_INSTANCE)
    files = _read_stage(found, dataset, name=name)
    navmesh = dataset.find_navmesh(str(content.get("navmesh_instance", ""))) if dataset is not None else None
    return SceneFiles(
        name=name,
        stage=files.stage,
        navmesh=navmesh or files.navmesh,
        attributes=files.attributes,
        objects=tuple(content.get("object_instances", ())),
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise SceneError(f"{path}: is not usable JSON ({error}).") from error
    if not isinstance(content, dict):
        raise SceneError(f"{path}: is not a JSON object.")
    return content
