"""`nav-eval report` and `compare`: what a run amounts to, and whether it is better than another."""

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
    from nav_eval.evaluation import terminal_report
    from nav_eval.evaluation.aggregation import FinalAggregator, build_report
    from nav_eval.evaluation.html_report import write_html
    from nav_eval.evaluation.report import GROUPINGS, get_grouping, write_report
    from nav_eval.evaluation.run_folder import get_metric_directions, load_run
    from nav_eval.records.results import EpisodeOutcome, EpisodeResult

    loaded = load_run(run, EpisodeResult if json else EpisodeOutcome)
    asked = {group_by: get_grouping(group_by, loaded.outcomes)} if group_by else {}
    final = FinalAggregator(directions=get_metric_directions(loaded.header), groupings={**GROUPINGS, **asked})
    result = build_report(loaded.outcomes, header=loaded.header, final=final)
    if json:
        write_report(json, result)
    if html:
        write_html(html, result)
    terminal_report.print_report(Console(), result, group_by=group_by)


def compare(
    first: Annotated[Path, typer.Argument(help="A run's folder, its episodes.jsonl or its results.json.")],
    second: Annotated[Path, typer.Argument(help="Another run on the same episodes.")],
    metric: Annotated[list[str] | None, typer.Option(help="Only these metrics; repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare FIRST with SECOND episode by episode: paired bootstrap over scenes, McNemar for yes-or-no metrics."""
    import msgspec

    from nav_eval.evaluation import terminal_report
    from nav_eval.evaluation.run_folder import compare_runs, get_metric_directions, load_run

    one, other = load_run(first), load_run(second)
    names = (one.name, other.name) if one.name != other.name else (str(first), str(second))
    directions = get_metric_directions(one.header)
    results = compare_runs(one._replace(name=names[0]), other._replace(name=names[1]), metric, directions=directions)
    if as_json:
        typer.echo(msgspec.json.encode({"first": names[0], "second": names[1], "metrics": results}).decode())
    else:
        terminal_report.print_comparison(Console(), names, results, directions)
