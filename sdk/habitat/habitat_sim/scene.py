"""The scene graph and the semantic scene."""

from habitat_sim.scene_graph import SceneGraph, SceneNode, SceneNodeType
from habitat_sim.semantic_scene import (
    Mp3dObjectCategory,
    Mp3dRegionCategory,
    SemanticCategory,
    SemanticLevel,
    SemanticObject,
    SemanticRegion,
    SemanticScene,
)

__all__ = [
    "Mp3dObjectCategory",
    "Mp3dRegionCategory",
    "SceneGraph",
    "SceneNode",
    "SceneNodeType",
    "SemanticCategory",
    "SemanticLevel",
    "SemanticObject",
    "SemanticRegion",
    "SemanticScene",
]
