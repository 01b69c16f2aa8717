"""`nav-eval verify`: prove what came out of a run."""

from pathlib import Path
from typing import Annotated

import typer

from nav_eval.cache import open_cache_folder


def verify(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    first: Annotated[int | None, typer.Option(min=1, help="Check only the first N episodes.")] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Accept a run that was cut off: episodes or results.json may be missing.")
    ] = False,
    benchmark: Annotated[
        str | None, typer.Option(help="Name or file of the benchmark whose rules the run should have been played by.")
    ] = None,
) -> None:
    """Re-simulate RUN from its action logs and compare everything that it says; exit code 1 if anything differs."""
    from nav_eval.evaluation.verification import verify as replay

    expected = None
    if benchmark is not None:
        from nav_eval.config import load_benchmark

        expected = load_benchmark(benchmark)
    report = replay(run, limit=first, partial=partial, expected=expected, cache=open_cache_folder())
    typer.echo(report.summary())
    # a run with nothing to play again has proved nothing
    raise typer.Exit(0 if report.equal and report.has_proof else 1)
