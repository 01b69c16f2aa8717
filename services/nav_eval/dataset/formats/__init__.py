"""The formats we read. Importing this package registers them."""

from nav_eval.dataset.formats import habitat, imagenav, lhvln, native, r2r, sqa3d

__all__ = ["habitat", "imagenav", "lhvln", "native", "r2r", "sqa3d"]
