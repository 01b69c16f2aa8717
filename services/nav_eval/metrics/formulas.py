"""The formulas of single-goal navigation, as functions of plain numbers.

The metric classes and the offline scorer both call these, so a score at home is the score on the
board. `docs/metrics.md` gives each with its edge cases.
"""

import math


def success(*, distance: float, stopped: bool, success_distance: float) -> float:
    """1 iff the agent said stop strictly closer than the success distance."""
    return float(stopped and distance < success_distance)


def path_efficiency(*, shortest: float, travelled: float) -> float:
    """Shortest over travelled, at most 1. A goal at the start is efficient only if nothing was travelled.

    NaN if there is no shortest path: such an episode has no efficiency.
    """
    if math.isinf(shortest):
        return math.nan
    longer = max(shortest, travelled)
    return shortest / longer if longer > 0 else 1.0


def soft_success(*, distance: float, shortest: float) -> float:
    """The share of the way that was covered, 0 where the agent ended further away than it began."""
    if shortest > 0:
        return max(0.0, 1.0 - distance / shortest)
    return float(distance == 0)


def spl(*, success: float, shortest: float, travelled: float) -> float:
    """Success weighted by path length."""
    return success * path_efficiency(shortest=shortest, travelled=travelled)


def soft_spl(*, distance: float, shortest: float, travelled: float) -> float:
    """SPL with the covered share of the way in place of success."""
    if not math.isfinite(distance):
        return 0.0
    return soft_success(distance=distance, shortest=shortest) * path_efficiency(shortest=shortest, travelled=travelled)
