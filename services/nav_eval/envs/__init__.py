"""Benchmarks as Gymnasium environments. Importing this registers them.

    import gymnasium, nav_eval.envs
    env = gymnasium.make("NavEval/LHVLN-v0", benchmark="demo_lh_vln")

or, without the import, `gymnasium.make("nav_eval.envs:NavEval/LHVLN-v0", …)`.
"""

from nav_eval.envs.env import NavEnv
from nav_eval.envs.registration import TASK_IDS, register_envs
from nav_eval.envs.rewards import RewardOptions

register_envs()

__all__ = ["TASK_IDS", "NavEnv", "RewardOptions", "register_envs"]
