"""Finding the annotation that lies next to a scene."""

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import Scene
from nav_eval.scene.reading.files import SceneFolder
from nav_eval.scene.reading.log import ReadLog
from nav_eval.scene.semantics.labels import with_semantics
from nav_eval.scene.semantics.own import read_semantics, semantics_path


def annotate(scene: Scene, *, folder: SceneFolder, to_world: NDArray[np.float64], log: ReadLog) -> Scene:
    """The scene with the names that an annotation next to it gives."""
    own = semantics_path(folder.path)
    if not own.is_file():
        return scene
    semantics = read_semantics(folder.read(own.name), source=str(own))
    log.note(f"Names of {len(semantics.objects)} objects from {own.name}.")
    return with_semantics(scene, semantics)
