"""Navigation: where an agent can stand, how it moves, how far it is."""

from nav_eval.scene.navigation.ground import DistanceField, Ground, StepResult
from nav_eval.scene.navigation.open_plane import OpenPlane

__all__ = ["DistanceField", "Ground", "OpenPlane", "StepResult"]
