"""How the episodes of a submission are cut into shards.

A shard is what a team can lose to a restart and what a newcomer may have to wait for, so it should not
last long; but each one starts the agent anew, so it should not be tiny either.
"""

from collections.abc import Sequence
from itertools import pairwise

LONGEST_SHARD = 600.0
"""Seconds that a shard should take at most."""


def plan(episode_ids: Sequence[str], *, at_least: int, seconds_per_episode: float | None) -> list[list[str]]:
    """Neighbours stay together (they share a scene); sizes differ by one at most."""
    expected = len(episode_ids) * (seconds_per_episode or 0.0)
    wanted = max(at_least, -int(-expected // LONGEST_SHARD))
    count = max(1, min(wanted, len(episode_ids)))
    size, rest = divmod(len(episode_ids), count)
    edges = [index * size + min(index, rest) for index in range(count + 1)]
    return [list(episode_ids[first:last]) for first, last in pairwise(edges)]
