"""The numbers of a board row, by the rule that the benchmark chose.

Means over episodes are the rule nearly everywhere. LH-VLN's `reference` rule pools sub-tasks over the whole
dataset instead, so its row cannot be had from per-episode numbers; it is computed from the raw quantities,
by the same function that `nav-eval score` calls.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from nav_eval.config.schema import ScoringConfig
from nav_eval.evaluation.results import EpisodeOutcome
from nav_eval.metrics.lh_vln import SubtaskTable, score
from nav_eval.tasks.build import scoring_options


def long_horizon_scores(config: Mapping[str, Any], scored: Iterable[EpisodeOutcome]) -> dict[str, float | None]:
    """The row of an LH-VLN run; empty for other tasks, whose row is the means."""
    task = config.get("task", {})
    tasks = [outcome.subtasks for outcome in scored if outcome.subtasks]
    if task.get("type") != "lh_vln" or not tasks:
        return {}
    options = scoring_options(
        ScoringConfig.model_validate(task["scoring"]), success_distance=config["evaluation"]["success_distance"]
    )
    values = score(SubtaskTable.from_tasks(tasks), options)._asdict()
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
