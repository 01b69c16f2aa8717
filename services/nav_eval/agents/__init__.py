"""Agents, and how the evaluator reaches them."""
