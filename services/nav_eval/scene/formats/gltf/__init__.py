"""Reading glTF 2.0: text or binary, plain or compressed."""

from nav_eval.scene.formats.gltf.reader import read_gltf

__all__ = ["read_gltf"]
