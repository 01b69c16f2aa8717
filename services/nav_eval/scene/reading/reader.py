"""One door for every scene file."""

from dataclasses import replace
from pathlib import Path
from typing import Protocol

from nav_eval.errors import SceneError
from nav_eval.scene.model import Scene
from nav_eval.scene.reading.annotations import annotate
from nav_eval.scene.reading.clean import drop_broken_triangles
from nav_eval.scene.reading.files import SceneFolder
from nav_eval.scene.reading.gltf import read_gltf
from nav_eval.scene.reading.limits import ReadLimits
from nav_eval.scene.reading.log import ReadLog
from nav_eval.scene.reading.obj import read_obj
from nav_eval.scene.reading.orientation import dataset_named_like, orient
from nav_eval.scene.reading.plausibility import check_plausible
from nav_eval.scene.reading.ply import read_ply
from nav_eval.scene.reading.stage_config import read_stage_config


class Reader(Protocol):
    def __call__(self, content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene: ...


READERS: dict[str, Reader] = {".glb": read_gltf, ".gltf": read_gltf, ".obj": read_obj, ".ply": read_ply}


def read_scene(
    path: Path | str, *, up: str = "auto", scale: float | None = None, limits: ReadLimits | None = None
) -> Scene:
    """Read a scene file into metres, Y up.

    `up` is "auto", an axis ("y", "-z", …) or three numbers; `scale` multiplies all coordinates.
    docs/scenes.md says what is read, how "auto" decides, and what the report contains.
    """
    path = Path(path)
    log = ReadLog(str(path))
    folder = SceneFolder(path, limits or ReadLimits())
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise SceneError(f"{path}: unknown kind of scene file. Known: {', '.join(sorted(READERS))}.")
    scene = reader(folder.read_main(), folder=folder, log=log)
    config = read_stage_config(folder)
    scene = drop_broken_triangles(scene, log)
    if (config is not None and config.flat) or dataset_named_like(path):
        scene = _unlit(scene, log)
    scene, to_world = orient(scene, path=path, up=up, scale=scale, config=config, log=log)
    check_plausible(scene, log)
    scene = annotate(scene, folder=folder, to_world=to_world, log=log)
    return replace(scene, report=log.report())


def _unlit(scene: Scene, log: ReadLog) -> Scene:
    """Colours as they are: in a scan, the light of the day is in the picture already."""
    if all(material.unlit for material in scene.materials):
        return scene
    log.note("Shown without lights, as the stage config or the data set wants it.")
    return replace(scene, materials=tuple(replace(material, unlit=True) for material in scene.materials))
