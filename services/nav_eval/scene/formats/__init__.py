"""Scene files: reading GLB, glTF, PLY, OBJ, STL, OFF, COLLADA and 3MF into one `Scene`, writing GLB."""

from nav_eval.scene.formats.glb_writer import encode_glb, write_glb
from nav_eval.scene.formats.inspection import Inspection, inspect_scene
from nav_eval.scene.formats.reader import READING_VERSION, SCENE_SUFFIXES, compute_scene_digest, read_scene
from nav_eval.scene.formats.scene_folder import ReadLimits

__all__ = [
    "READING_VERSION",
    "SCENE_SUFFIXES",
    "Inspection",
    "ReadLimits",
    "compute_scene_digest",
    "encode_glb",
    "inspect_scene",
    "read_scene",
    "write_glb",
]
