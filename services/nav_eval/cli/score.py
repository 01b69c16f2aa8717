"""`nav-eval score`: recompute a board row from raw quantities."""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nav_eval.errors import NavEvalError
from nav_eval.metrics.lh_vln import CgtWeight, Rule, ScoringOptions


class ScoredTask(StrEnum):
    VLN = "vln"
    OBJECTNAV = "objectnav"
    IMAGENAV = "imagenav"
    POINTNAV = "pointnav"
    LH_VLN = "lh_vln"
    LOCALIZATION = "localization"


class MissingOption(NavEvalError):
    """An option that this task needs was not given."""


Row = Mapping[str, str | float | None]


def score(
    file: Annotated[Path, typer.Argument(help="JSON lines (vln, lh_vln) or a prediction file (localization).")],
    task: Annotated[ScoredTask, typer.Option(help="What the file holds.")],
    rule: Annotated[Rule, typer.Option(help="LH-VLN: the printed formulas or the published code.")] = Rule.DOCUMENTED,
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
        for row in _rows(file, task, options=options, ground_truth=ground_truth):
            typer.echo(json.dumps(row, allow_nan=False))
        return
    scores = _means(file, task, options=options, ground_truth=ground_truth)
    typer.echo(json.dumps(scores, allow_nan=False) if as_json else _table(scores))


def _means(file: Path, task: ScoredTask, *, options: ScoringOptions, ground_truth: Path | None) -> Row:
    from nav_eval.evaluation.scoring import localization, long_horizon, single_goal

    if task is ScoredTask.LH_VLN:
        return long_horizon.score_file(file, options)
    if task is ScoredTask.LOCALIZATION:
        return localization.score_file(file, _required(ground_truth))
    scores = single_goal.score_file(file)
    for name, number in scores.left_out.items():
        typer.echo(f"nav-eval: {number} episodes have no {name}; its mean is over the others.", err=True)
    return scores.means


def _rows(file: Path, task: ScoredTask, *, options: ScoringOptions, ground_truth: Path | None) -> Iterable[Row]:
    from nav_eval.evaluation.scoring import localization, long_horizon, single_goal

    if task is ScoredTask.LH_VLN:
        return long_horizon.score_lines(file, options)
    if task is ScoredTask.LOCALIZATION:
        return localization.score_lines(file, _required(ground_truth))
    return single_goal.score_lines(file)


def _required(ground_truth: Path | None) -> Path:
    if ground_truth is None:
        raise MissingOption("--task localization needs --ground-truth with SQA3D's annotation file.")
    return ground_truth


def _table(scores: Row) -> str:
    width = max(map(len, scores))
    return "\n".join(f"{name:<{width}}  {'—' if value is None else f'{value:.4f}'}" for name, value in scores.items())
