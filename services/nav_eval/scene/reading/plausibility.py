"""Does this look like a place that an agent could walk in?

Nothing here changes the scene. What looks wrong is said, with the argument that would set it right.
"""

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.model import Scene
from nav_eval.scene.reading.log import ReadLog
from nav_eval.scene.reading.shape import STOREY_HEIGHTS, Shape

LARGEST = 10_000.0  # metres: beyond this a unit other than the metre is certain
TALLEST = 60.0  # metres: beyond this a unit other than the metre is likely
SMALLEST = 1.5  # metres: nobody stands up in this
UNITS = {"millimetres": 0.001, "centimetres": 0.01, "inches": 0.0254, "feet": 0.3048}
COARSE = 0.001  # metres between neighbouring float32 coordinates


def check_plausible(scene: Scene, log: ReadLog) -> None:
    """Refuse what is certainly not in metres; warn of what probably is not."""
    lower, upper = scene.bounds
    size = (upper - lower).astype(np.float64)
    if size.max() > LARGEST:
        raise SceneError(f"{log.source}: is {_metres(size)}; no building is that large.{_advice(scene)}")
    if size[1] > TALLEST:
        log.warn(f"The scene is {_metres(size)}, taller than any house.{_advice(scene)}")
    elif size.max() < SMALLEST:
        log.warn(f"The scene is {_metres(size)}, too small to stand in. If it is a miniature, pass a scale.")
    _check_precision(np.maximum(np.abs(lower), np.abs(upper)).max(), log)


def _check_precision(farthest: np.float32, log: ReadLog) -> None:
    step = float(np.spacing(np.float32(farthest)))
    if step > COARSE:
        log.note(
            f"The scene lies {farthest:,.0f} m from the origin, where coordinates are {step * 1000:.1f} mm apart; "
            "coordinates are kept, as episodes refer to them."
        )


def _advice(scene: Scene) -> str:
    height = Shape(scene).along(1).extent
    for unit, factor in UNITS.items():
        if STOREY_HEIGHTS[0] <= height * factor <= 3 * STOREY_HEIGHTS[1]:
            return f" If it is drawn in {unit}, pass scale={factor:g}."
    return " If it is not drawn in metres, pass the scale."


def _metres(size: NDArray[np.float64]) -> str:
    return " × ".join(f"{value:,.2f}" for value in size) + " m large"
