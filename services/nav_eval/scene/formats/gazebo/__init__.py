"""Gazebo worlds (SDF) as scenes: models, meshes, plain shapes and lamps, put together as the world says.

A world names models that lie in folders of their own and meshes inside of those, so it is converted once, by
`nav-eval scenes convert`, and the GLB that comes out is the scene that benchmarks name.
"""

from nav_eval.scene.formats.gazebo.model_library import ModelLibrary
from nav_eval.scene.formats.gazebo.world import WORLD_SUFFIXES, read_world

__all__ = ["WORLD_SUFFIXES", "ModelLibrary", "read_world"]
