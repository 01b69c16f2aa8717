"""Points as the chosen generation of Habitat gives them, and as the engine wants them."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from magnum import Vector3
from nav_eval.records.geometry import Vec3
from nav_eval_habitat.api_level import LEVEL

if LEVEL.gives_vectors:

    def make_point(numbers: Iterable[float]) -> Any:
        """A `Vector3`."""
        return np.array(numbers, dtype=np.float32).view(Vector3)
else:

    def make_point(numbers: Iterable[float]) -> Any:
        """A float32 array, as it was up to 0.3.2."""
        return np.array(numbers, dtype=np.float32)


NOWHERE = (np.nan, np.nan, np.nan)


def to_position(point: Any) -> Vec3:
    """What the engine calculates with."""
    x, y, z = point.tolist() if isinstance(point, np.ndarray) else point
    return (float(x), float(y), float(z))


def round_position(point: Any) -> Vec3:
    """As above, in single precision: what Habitat would have kept of it."""
    x, y, z = np.asarray(point, dtype=np.float32).tolist()
    return (x, y, z)
