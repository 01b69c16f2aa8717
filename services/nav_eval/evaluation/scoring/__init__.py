"""Offline scoring: from files of raw quantities to the numbers of a board, without a simulator.

Scores are a pure function of these files, so that anyone can recompute a row.
"""

from nav_eval.evaluation.scoring import localization, long_horizon, single_goal

__all__ = ["localization", "long_horizon", "single_goal"]
