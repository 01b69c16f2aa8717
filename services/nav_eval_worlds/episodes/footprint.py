"""The floor that a thing stands on."""

import math

from nav_eval.scene.model import SceneObject


def measure_footprint_distance(thing: SceneObject, x: float, z: float) -> float:
    """Horizontal metres from a point to the thing's footprint."""
    x = max(0.0, abs(x - thing.center[0]) - thing.size[0] / 2)
    z = max(0.0, abs(z - thing.center[2]) - thing.size[2] / 2)
    return math.sqrt(x * x + z * z)
