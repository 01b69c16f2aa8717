"""Boards: scores, ranks, leaderboards and how they came about."""
