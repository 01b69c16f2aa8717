"""What goes wrong in ways that Habitat's users catch by name."""

from typing import Any

from nav_eval.errors import NavEvalError


class InvalidAttachedObject(NavEvalError, RuntimeError):
    """This object hangs on no scene node any more. Attach it to a valid scene graph before you use it."""


class GreedyFollowerError(NavEvalError, RuntimeError):
    """The follower found no action that leads towards the goal; is it on the agent's island?"""


def assert_obj_valid(obj: Any) -> None:
    if not obj.object:
        raise InvalidAttachedObject
