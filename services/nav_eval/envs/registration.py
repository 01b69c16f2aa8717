"""The ids under which `gymnasium.make` and `gymnasium.make_vec` find the environments."""

from types import MappingProxyType

import gymnasium

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
