"""Metrics: one class per metric, scoring rules, statistics."""
