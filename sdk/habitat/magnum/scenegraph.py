"""A feature is something that hangs on a node of the scene graph."""

from typing import Any


class AbstractFeature3D:
    def __init__(self, object: Any) -> None:
        self._object = object

    @property
    def object(self) -> Any:
        """The node, or None when there is none any more."""
        return self._object if self._object is not None and self._object.is_alive else None
