"""The formats we read. Importing this package registers them."""

from nav_eval.dataset.loaders import imagenav, lhvln, objectnav, own, pointnav, r2r, sqa3d

__all__ = ["imagenav", "lhvln", "objectnav", "own", "pointnav", "r2r", "sqa3d"]
