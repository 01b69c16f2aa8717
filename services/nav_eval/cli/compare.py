"""`nav-eval compare`: is one run better than another, or did it only have more luck?"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def compare(
    first: Annotated[Path, typer.Argument(help="A run's folder, its episodes.jsonl or its results.json.")],
    second: Annotated[Path, typer.Argument(help="Another run on the same episodes.")],
    metric: Annotated[list[str] | None, typer.Option(help="Only these metrics; repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare FIRST with SECOND episode by episode: paired bootstrap over scenes, McNemar for yes-or-no metrics."""
    import msgspec

    from nav_eval.evaluation import terminal
    from nav_eval.evaluation.runs import compare_runs, load_run, metric_directions

    one, other = load_run(first), load_run(second)
    names = (one.name, other.name) if one.name != other.name else (str(first), str(second))
    directions = metric_directions(one.header)
    results = compare_runs(one._replace(name=names[0]), other._replace(name=names[1]), metric, directions=directions)
    if as_json:
        typer.echo(msgspec.json.encode({"first": names[0], "second": names[1], "metrics": results}).decode())
    else:
        terminal.print_comparison(Console(), names, results, directions)
