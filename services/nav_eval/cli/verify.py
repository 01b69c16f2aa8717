"""`nav-eval verify`: prove what came out of a run."""

from pathlib import Path
from typing import Annotated

import typer

from nav_eval.cache import get_cache_folder


def verify(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    first: Annotated[int | None, typer.Option(min=1, help="Check only the first N episodes.")] = None,
) -> None:
    """Re-simulate RUN from its action logs and compare every number."""
    from nav_eval.evaluation.verification import verify as replay

    report = replay(run, limit=first, cache=get_cache_folder())
    typer.echo(report.summary())
    raise typer.Exit(0 if report.equal else 1)
