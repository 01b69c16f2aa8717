"""The contract of a control."""

from abc import ABC, abstractmethod
from typing import Any

import attr


@attr.s(auto_attribs=True)
class ActuationSpec:
    """How much: metres or degrees, and for looks how far at most."""

    amount: float
    constraint: float | None = None


@attr.s(auto_attribs=True)
class SceneNodeControl(ABC):
    """Moves a node; `body_action` says whether it is the body's or each sensor's."""

    body_action: bool = False

    @abstractmethod
    def __call__(self, scene_node: Any, actuation_spec: Any) -> None:
        """Move the node."""
