"""`nav-eval score`: scores recomputed from raw quantities, without a simulator."""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nav_eval.errors import NavEvalError
from nav_eval.records.scoring import LH_VLN_RANKING, CgtWeight, ScoringRule

if TYPE_CHECKING:
    from nav_eval.evaluation.single_goal_scoring import FileScores
    from nav_eval.metrics.lh_vln import ScoringOptions


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
    file: Annotated[
        Path, typer.Argument(help="A run's folder, JSON lines (vln, lh_vln) or a prediction file (localization).")
    ],
    task: Annotated[ScoredTask | None, typer.Option(help="What the file holds; a run's folder knows it.")] = None,
    rule: Annotated[
        ScoringRule | None,
        typer.Option(help="LH-VLN: the printed formulas (documented) or the published code; a run's folder knows it."),
    ] = None,
    cgt_weight: Annotated[
        CgtWeight | None, typer.Option(help="LH-VLN: what CGT weighs sub-tasks by (steps); a run's folder knows it.")
    ] = None,
    success_distance: Annotated[
        float | None, typer.Option(help="LH-VLN: D_s of TAR, metres (1); a run's folder knows it.", min=0.0)
    ] = None,
    ground_truth: Annotated[Path | None, typer.Option(help="Localization: the annotation file.")] = None,
    per_episode: Annotated[
        bool, typer.Option("--per-episode", help="One object per line instead of the mean.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Score FILE, or the folder of a run, without a simulator."""
    source = _open_source(
        file, task, chosen={"rule": rule, "cgt_weight": cgt_weight, "success_distance": success_distance}
    )
    source.ground_truth = ground_truth
    if per_episode:
        for row in source.compute_rows():
            typer.echo(json.dumps(row, allow_nan=False))
        return
    scores = source.compute_means()
    typer.echo(json.dumps(scores, allow_nan=False) if as_json else _format_table(scores))


def _open_source(file: Path, task: ScoredTask | None, *, chosen: Mapping[str, Any]) -> "_Source":
    from nav_eval.evaluation.run_scoring import is_run, read_run_config

    if task is ScoredTask.LOCALIZATION and not file.is_dir():
        return _Source(file, task.value, chosen, {})
    run = is_run(file)
    config = read_run_config(file) if run else {}
    kind = task.value if task else config.get("task", {}).get("type")
    if kind is None and not run:
        raise MissingOption(f"Say what {file} holds: --task {', '.join(ScoredTask)}. The folder of a run knows it.")
    source = _RunSource if run and kind != ScoredTask.LH_VLN else _Source
    return source(file / "episodes.jsonl" if file.is_dir() else file, kind or "", chosen, config)


class _Source:
    """A file of raw quantities, and how it is scored."""

    ground_truth: Path | None = None

    def __init__(self, file: Path, task: str, chosen: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        self.file, self._task, self._chosen, self._config = file, task, chosen, config

    def compute_means(self) -> ScoreRow:
        if self._task == ScoredTask.LH_VLN:
            from nav_eval.evaluation.offline_scoring import score_long_horizon

            return score_long_horizon(self.file, self._make_options())
        if self._task == ScoredTask.LOCALIZATION:
            from nav_eval.evaluation.offline_scoring import score_localization

            return score_localization(self.file, self._require_ground_truth())
        from nav_eval.evaluation.single_goal_scoring import score_single_goal

        return _tell_left_out(score_single_goal(self.file))

    def compute_rows(self) -> Iterable[ScoreRow]:
        if self._task == ScoredTask.LH_VLN:
            from nav_eval.evaluation.offline_scoring import score_long_horizon_lines

            return score_long_horizon_lines(self.file, self._make_options())
        if self._task == ScoredTask.LOCALIZATION:
            from nav_eval.evaluation.offline_scoring import score_localization_lines

            return score_localization_lines(self.file, self._require_ground_truth())
        from nav_eval.evaluation.single_goal_scoring import score_single_goal_lines

        return score_single_goal_lines(self.file)

    def _make_options(self) -> "ScoringOptions":
        """As the run's own configuration says, unless the command line says otherwise."""
        from nav_eval.metrics.lh_vln import ScoringOptions

        run = self._config.get("task", {}).get("scoring") or {}
        distance = self._config.get("evaluation", {}).get("success_distance", 1.0)
        chosen = {name: value for name, value in self._chosen.items() if value is not None}
        return ScoringOptions(
            rule=ScoringRule(chosen.get("rule") or run.get("rule", "documented")),
            cgt_weight=CgtWeight(chosen.get("cgt_weight") or run.get("cgt_weight", "steps")),
            success_distance=float(chosen.get("success_distance", distance)),
            ranking_weights=run.get("ranking") or LH_VLN_RANKING,
        )

    def _require_ground_truth(self) -> Path:
        if self.ground_truth is None:
            raise MissingOption("--task localization needs --ground-truth with SQA3D's annotation file.")
        return self.ground_truth


class _RunSource(_Source):
    """The lines that a run wrote."""

    def compute_means(self) -> ScoreRow:
        from nav_eval.evaluation.run_scoring import score_run

        return _tell_left_out(score_run(self.file))

    def compute_rows(self) -> Iterable[ScoreRow]:
        from nav_eval.evaluation.run_scoring import score_run_lines

        return score_run_lines(self.file)


def _tell_left_out(scores: "FileScores") -> ScoreRow:
    for name, number in scores.left_out.items():
        typer.echo(f"nav-eval: {number} episodes have no {name}; its mean is over the others.", err=True)
    return scores.means


def _format_table(scores: ScoreRow) -> str:
    width = max(map(len, scores))
    return "\n".join(f"{name:<{width}}  {'—' if value is None else f'{value:.4f}'}" for name, value in scores.items())
