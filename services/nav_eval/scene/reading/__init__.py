"""Reading scene files (GLB, glTF, PLY, OBJ) into one `Scene`, and writing scenes as GLB."""

from nav_eval.scene.reading.digest import scene_digest
from nav_eval.scene.reading.glb_writer import encode_glb, write_glb
from nav_eval.scene.reading.inspection import Inspection, inspect_scene
from nav_eval.scene.reading.limits import ReadLimits
from nav_eval.scene.reading.reader import read_scene

__all__ = ["Inspection", "ReadLimits", "encode_glb", "inspect_scene", "read_scene", "scene_digest", "write_glb"]
