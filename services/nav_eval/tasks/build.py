"""From a configuration to a task that can be started."""

from nav_eval.config.schema import EvaluationConfig, ScoringConfig, TaskConfig
from nav_eval.metrics.lh_vln import RANKING_WEIGHTS, CgtWeight, Rule, ScoringOptions
from nav_eval.tasks.base import TASKS, Task, TaskRules


def build_task(task: TaskConfig, evaluation: EvaluationConfig) -> Task:
    """The task that a benchmark describes."""
    return TASKS.get(task.type)(task_rules(task, evaluation))


def task_rules(task: TaskConfig, evaluation: EvaluationConfig) -> TaskRules:
    return TaskRules(
        metrics=task.metric_names,
        metric_parameters={metric.name: metric.params for metric in task.metrics if metric.params},
        max_steps=evaluation.max_steps,
        success_distance=evaluation.success_distance,
        stop_needed=evaluation.require_stop,
        straight_lines=evaluation.distance == "euclidean",
        to_view_points=evaluation.distance_to == "view_points",
        scoring=scoring_options(task.scoring, success_distance=evaluation.success_distance),
    )


def scoring_options(scoring: ScoringConfig, *, success_distance: float) -> ScoringOptions:
    return ScoringOptions(
        rule=Rule(scoring.rule),
        success_distance=success_distance,
        cgt_weight=CgtWeight(scoring.cgt_weight),
        ranking_weights=scoring.ranking or RANKING_WEIGHTS,
    )
