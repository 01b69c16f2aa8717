"""A rotation and a place."""

from typing import Any

import magnum as mn


class RigidState:
    def __init__(self, rotation: Any = None, translation: Any = None) -> None:
        self.rotation: mn.Quaternion = mn.Quaternion() if rotation is None else rotation
        self.translation: Any = mn.Vector3() if translation is None else mn.Vector3(translation)
