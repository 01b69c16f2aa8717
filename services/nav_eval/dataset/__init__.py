"""Episodes and where they come from. Importing this registers the formats that we read."""

from nav_eval.dataset import formats

__all__ = ["formats"]
