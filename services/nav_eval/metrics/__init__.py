"""Metrics: one class per metric, scoring rules, statistics. Importing this registers the built-in ones."""

from nav_eval.metrics import dtw, navigation
from nav_eval.metrics.registry import METRICS, EpisodeStart, Metric, MetricSuite, Step, register_metric

__all__ = ["METRICS", "EpisodeStart", "Metric", "MetricSuite", "Step", "dtw", "navigation", "register_metric"]
