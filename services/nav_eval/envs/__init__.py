"""Benchmarks as Gymnasium environments. Importing this registers them.

    import gymnasium, nav_eval.envs
    env = gymnasium.make("NavEval/LHVLN-v0", benchmark="demo_lh_vln")

or, without the import, `gymnasium.make("nav_eval.envs:NavEval/LHVLN-v0", …)`.
"""

from types import MappingProxyType

import gymnasium

from nav_eval.envs.env import NavEnv
from nav_eval.envs.rollout import RewardOptions

NAMESPACE = "NavEval"
#: environment → the task that is walked in it
TASK_IDS = MappingProxyType(
    {
        "LHVLN": "lh_vln",
        "VLN": "vln",
        "ObjectNav": "objectnav",
        "ImageNav": "imagenav",
        "PointNav": "pointnav",
        "Benchmark": None,  # whatever task the benchmark has, plug-ins included
    }
)
#: answered in one step rather than walked
LOCALIZATION = f"{NAMESPACE}/Localization-v0"


def register_envs() -> None:
    """Make the ids known; doing it again changes nothing."""
    for name, task in TASK_IDS.items():
        env_id = f"{NAMESPACE}/{name}-v0"
        if env_id not in gymnasium.registry:
            gymnasium.register(
                id=env_id,
                entry_point="nav_eval.envs.env:NavEnv",
                vector_entry_point="nav_eval.envs.vector:NavVectorEnv",
                kwargs={"task": task},
                disable_env_checker=True,  # it costs more than a step does; our tests check
            )
    if LOCALIZATION not in gymnasium.registry:
        gymnasium.register(id=LOCALIZATION, entry_point="nav_eval.envs.localization:LocalizationEnv")


register_envs()

__all__ = ["TASK_IDS", "NavEnv", "RewardOptions", "register_envs"]
