"""`nav-eval score`: scores recomputed from raw quantities, without a simulator."""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nav_eval.errors import NavEvalError
from nav_eval.metrics.lh_vln import CgtWeight, ScoringOptions, ScoringRule


class ScoredTask(StrEnum):
    VLN = "vln"
    OBJECTNAV = "objectnav"
    IMAGENAV = "imagenav"
    POINTNAV = "pointnav"
    LH_VLN = "lh_vln"
    LOCALIZATION = "localization"


class MissingOption(NavEvalError):
    """An option that this task needs was not given."""


ScoreRow = Mapping[str, str | float | None]


def score(
    file: Annotated[Path, typer.Argument(help="JSON lines (vln, lh_vln) or a prediction file (localization).")],
    task: Annotated[ScoredTask, typer.Option(help="What the file holds.")],
    rule: Annotated[
        ScoringRule, typer.Option(help="LH-VLN: the printed formulas or the published code.")
    ] = ScoringRule.DOCUMENTED,
    cgt_weight: Annotated[CgtWeight, typer.Option(help="LH-VLN: what CGT weighs sub-tasks by.")] = CgtWeight.STEPS,
    success_distance: Annotated[float, typer.Option(help="LH-VLN: D_s of TAR, metres.", min=0.0)] = 1.0,
    ground_truth: Annotated[Path | None, typer.Option(help="Localization: the annotation file.")] = None,
    per_episode: Annotated[
        bool, typer.Option("--per-episode", help="One object per line instead of the mean.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Score FILE without a simulator."""
    options = ScoringOptions(rule=rule, cgt_weight=cgt_weight, success_distance=success_distance)
    if per_episode:
        for row in _compute_rows(file, task, options=options, ground_truth=ground_truth):
            typer.echo(json.dumps(row, allow_nan=False))
        return
    scores = _compute_means(file, task, options=options, ground_truth=ground_truth)
    typer.echo(json.dumps(scores, allow_nan=False) if as_json else _format_table(scores))


def _compute_means(file: Path, task: ScoredTask, *, options: ScoringOptions, ground_truth: Path | None) -> ScoreRow:
    from nav_eval.evaluation import offline_scoring

    if task is ScoredTask.LH_VLN:
        return offline_scoring.score_long_horizon(file, options)
    if task is ScoredTask.LOCALIZATION:
        return offline_scoring.score_localization(file, _require_ground_truth(ground_truth))
    scores = offline_scoring.score_single_goal(file)
    for name, number in scores.left_out.items():
        typer.echo(f"nav-eval: {number} episodes have no {name}; its mean is over the others.", err=True)
    return scores.means


def _compute_rows(
    file: Path, task: ScoredTask, *, options: ScoringOptions, ground_truth: Path | None
) -> Iterable[ScoreRow]:
    from nav_eval.evaluation import offline_scoring

    if task is ScoredTask.LH_VLN:
        return offline_scoring.score_long_horizon_lines(file, options)
    if task is ScoredTask.LOCALIZATION:
        return offline_scoring.score_localization_lines(file, _require_ground_truth(ground_truth))
    return offline_scoring.score_single_goal_lines(file)


def _require_ground_truth(ground_truth: Path | None) -> Path:
    if ground_truth is None:
        raise MissingOption("--task localization needs --ground-truth with SQA3D's annotation file.")
    return ground_truth


def _format_table(scores: ScoreRow) -> str:
    width = max(map(len, scores))
    return "\n".join(f"{name:<{width}}  {'—' if value is None else f'{value:.4f}'}" for name, value in scores.items())
