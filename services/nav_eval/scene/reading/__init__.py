"""Reading scene files (GLB, glTF, PLY, OBJ) into one `Scene`, and writing scenes as GLB."""

from nav_eval.scene.reading.glb_writer import encode_glb, write_glb
from nav_eval.scene.reading.limits import ReadLimits
from nav_eval.scene.reading.reader import read_scene

__all__ = ["ReadLimits", "encode_glb", "read_scene", "write_glb"]
