"""Reading scene files: GLB, glTF, PLY and OBJ into one `Scene`."""

from nav_eval.scene.reading.limits import ReadLimits
from nav_eval.scene.reading.reader import read_scene

__all__ = ["ReadLimits", "read_scene"]
