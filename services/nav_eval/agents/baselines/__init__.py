"""Agents to compare with. All but the oracles use only what every agent may see.

A baseline has the shape that the SDK serves (`reset`, `act`, class attributes for its description), so
each is also an agent of its own: `nav-eval-sdk serve nav_eval.agents.baselines.simple:RandomAgent`.
"""

from nav_eval.agents.baselines.registry import BASELINES, Baseline, BaselineContext, make_baseline, register_baseline

from nav_eval.agents.baselines import keyword, oracle, simple, wall_follower  # isort: skip - they register themselves

__all__ = [
    "BASELINES",
    "Baseline",
    "BaselineContext",
    "keyword",
    "make_baseline",
    "oracle",
    "register_baseline",
    "simple",
    "wall_follower",
]
