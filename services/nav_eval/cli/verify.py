"""`nav-eval verify`: prove what came out of a run."""

from pathlib import Path
from typing import Annotated

import typer

from nav_eval.cache import get_cache_folder


def verify(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    first: Annotated[int | None, typer.Option(min=1, help="Check only the first N episodes.")] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Accept a run that was cut off: episodes or results.json may be missing.")
    ] = False,
) -> None:
    """Re-simulate RUN from its action logs and compare everything that it says; exit code 1 if anything differs."""
    from nav_eval.evaluation.verification import verify as replay

    report = replay(run, limit=first, partial=partial, cache=get_cache_folder())
    typer.echo(report.summary())
    raise typer.Exit(0 if report.equal else 1)
