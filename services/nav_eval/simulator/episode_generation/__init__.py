"""Episodes made from annotated scenes: instructions, goals and expert walks, so that a challenge needs no download.

Everything is drawn by hashes of (seed, task, split, scene, episode): the same request gives the same bytes in
every process. What an episode asks for is checked before it is kept: the words mean exactly its goals, the goals
can be reached and seen, and an expert with the benchmark's own actions gets there in time.
"""

from nav_eval.simulator.episode_generation.generation import GenerationFailed, generate_episodes

__all__ = ["GenerationFailed", "generate_episodes"]
