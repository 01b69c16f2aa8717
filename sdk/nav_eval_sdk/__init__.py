"""What a team installs: the `Agent` to write and the types it sees."""

from nav_eval_sdk.agent import Action, Agent, Episode, Observation

__all__ = ["Action", "Agent", "Episode", "Observation"]
__version__ = "0.1.0"
