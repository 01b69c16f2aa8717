"""Evaluation: from episodes to a report."""
