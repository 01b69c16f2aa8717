"""The engine's named causes, under the store's roof."""

from nav_eval.causes import UNSCORED, Cause

__all__ = ["UNSCORED", "Cause"]
