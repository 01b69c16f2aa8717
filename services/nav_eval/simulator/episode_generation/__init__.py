"""Episodes made from annotated scenes: instructions, goals and expert walks, so that a challenge needs no download.

Everything is drawn by hashes of (seed, task, split, scene, episode): the same request gives the same bytes in
every process. What an episode asks for is checked before it is kept: the words mean exactly its goals, the goals
can be reached and seen, and an expert with the benchmark's own actions gets there in time.
"""

from nav_eval.simulator.episode_generation.balance import Balance, balance_of
from nav_eval.simulator.episode_generation.generation import GENERATED_TASKS, GenerationFailed, generate_episodes
from nav_eval.simulator.episode_generation.making import pool_of

__all__ = ["GENERATED_TASKS", "Balance", "GenerationFailed", "balance_of", "generate_episodes", "pool_of"]
