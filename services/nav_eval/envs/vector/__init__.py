"""Many environments at once: `gymnasium.make_vec("NavEval/LHVLN-v0", num_envs=8, benchmark=…)`."""

from nav_eval.envs.vector.env import NavVectorEnv
from nav_eval.envs.vector.workers import WorkerFailed

__all__ = ["NavVectorEnv", "WorkerFailed"]
