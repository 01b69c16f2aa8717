"""What the things in a scene are called: annotations of several data sets, and our own."""

from nav_eval.scene.semantics.labels import Label, label_scene
from nav_eval.scene.semantics.own import read_semantics, semantics_path, write_semantics

__all__ = ["Label", "label_scene", "read_semantics", "semantics_path", "write_semantics"]
