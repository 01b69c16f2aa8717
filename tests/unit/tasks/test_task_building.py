"""Every choice that a configuration offers reaches the task."""

from nav_eval.config.schema import EvaluationConfig, TaskConfig
from nav_eval.records.scoring import CgtWeight, ScoringRule
from nav_eval.tasks.base import build_task
from nav_eval.tasks.long_horizon import LongHorizonTask


def test_rules_follow_the_configuration() -> None:
    task = TaskConfig.model_validate(
        {
            "type": "lh_vln",
            "actions": ["stop", "move_forward"],
            "metrics": ["isr", "tar", "csr", "cgt", "score", {"name": "ndtw", "params": {"success_distance": 2.0}}],
            "scoring": {"rule": "reference", "cgt_weight": "distance", "ranking": {"tar": 0.5, "isr": 0.5}},
        }
    )
    evaluation = EvaluationConfig.model_validate(
        {
            "max_steps": 77,
            "success_distance": 1.5,
            "require_stop": False,
            "distance": "euclidean",
            "distance_to": "view_points",
        }
    )
    built = build_task(task, evaluation)
    assert isinstance(built, LongHorizonTask)
    rules = built.rules
    assert (rules.max_steps, rules.success_distance, rules.stop_needed) == (77, 1.5, False)
    assert rules.straight_lines
    assert rules.to_view_points
    assert rules.metric_parameters == {"ndtw": {"success_distance": 2.0}}
    assert rules.scoring.rule is ScoringRule.REFERENCE
    assert rules.scoring.cgt_weight is CgtWeight.DISTANCE
    assert rules.scoring.success_distance == 1.5
    assert rules.scoring.ranking_weights == {"tar": 0.5, "isr": 0.5}
