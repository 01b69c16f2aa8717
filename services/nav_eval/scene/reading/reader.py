"""One door for every scene file."""

from pathlib import Path
from typing import Protocol

from nav_eval.errors import SceneError
from nav_eval.scene.model import Scene
from nav_eval.scene.reading.clean import drop_broken_triangles
from nav_eval.scene.reading.files import SceneFolder
from nav_eval.scene.reading.gltf import read_gltf
from nav_eval.scene.reading.limits import ReadLimits
from nav_eval.scene.reading.log import ReadLog
from nav_eval.scene.reading.orientation import orient


class Reader(Protocol):
    def __call__(self, content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene: ...


READERS: dict[str, Reader] = {".glb": read_gltf, ".gltf": read_gltf}


def read_scene(
    path: Path | str, *, up: str = "auto", scale: float | None = None, limits: ReadLimits | None = None
) -> Scene:
    """Read a scene file into metres, Y up; see docs/scenes.md for what is read and what is not."""
    path = Path(path)
    log = ReadLog(str(path))
    folder = SceneFolder(path, limits or ReadLimits())
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise SceneError(f"{path}: unknown kind of scene file. Known: {', '.join(sorted(READERS))}.")
    scene = reader(folder.read_main(), folder=folder, log=log)
    scene = drop_broken_triangles(scene, log)
    scene = orient(scene, up=up, scale=scale, log=log)
    return _with_report(scene, log)


def _with_report(scene: Scene, log: ReadLog) -> Scene:
    from dataclasses import replace

    return replace(scene, report=log.report())
