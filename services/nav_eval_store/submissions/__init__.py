"""Submissions: how they are created, their life from state to state, quotas, episodes and films."""
