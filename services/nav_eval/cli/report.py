"""`nav-eval report`: what a run amounts to, in the terminal, as a page, as results.json."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def report(
    run: Annotated[Path, typer.Argument(help="A run's folder, its episodes.jsonl or its results.json.")],
    html: Annotated[Path | None, typer.Option(help="Write a self-contained page to this file.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write results.json to this file.")] = None,
    group_by: Annotated[
        str | None, typer.Option(help="Also show a table by scene, subtasks, instruction, path or a group of the run.")
    ] = None,
) -> None:
    """Summarise RUN: means with confidence intervals over scenes, failures by cause, groups."""
    from nav_eval.evaluation import terminal
    from nav_eval.evaluation.aggregation import FinalAggregator, build_report
    from nav_eval.evaluation.grouping import GROUPINGS, grouping_named
    from nav_eval.evaluation.html_report import write_html
    from nav_eval.evaluation.report import write_report
    from nav_eval.evaluation.results import EpisodeOutcome, EpisodeResult
    from nav_eval.evaluation.runs import load_run, metric_directions

    loaded = load_run(run, EpisodeResult if json else EpisodeOutcome)
    asked = {group_by: grouping_named(group_by, loaded.outcomes)} if group_by else {}
    final = FinalAggregator(directions=metric_directions(loaded.header), groupings={**GROUPINGS, **asked})
    result = build_report(loaded.outcomes, header=loaded.header, final=final)
    if json:
        write_report(json, result)
    if html:
        write_html(html, result)
    terminal.print_report(Console(), result, group_by=group_by)
