"""Episodes made from annotated scenes: a module per task; `generation` makes those of a benchmark."""

from nav_eval_worlds.episodes.balance import Balance, compute_balance
from nav_eval_worlds.episodes.base import get_split_pool
from nav_eval_worlds.episodes.generation import GENERATED_TASKS, GenerationFailed, generate_episodes

__all__ = ["GENERATED_TASKS", "Balance", "GenerationFailed", "compute_balance", "generate_episodes", "get_split_pool"]
