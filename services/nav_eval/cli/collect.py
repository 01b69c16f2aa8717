"""`nav-eval collect`: demonstrations of an expert, to learn from."""

from pathlib import Path
from typing import Annotated

import typer

from nav_eval.cli.evaluate import evaluate


def collect(
    benchmark: Annotated[str, typer.Argument(help="Name or file of a benchmark.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; an unfinished one in it is resumed.")],
    overrides: Annotated[list[str] | None, typer.Argument(help="key=value …", metavar="[KEY=VALUE]...")] = None,
    episodes: Annotated[int | None, typer.Option(min=1, help="Only so many episodes.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes, each with its own simulator.")] = None,
    expert: Annotated[
        str, typer.Option(help="Which expert: oracle, or noisy_oracle?skill=0.9&seed=1 for mistakes to recover from.")
    ] = "oracle",
) -> None:
    """Let the expert play BENCHMARK. It draws no pictures: `nav-eval export` makes them from the actions."""
    evaluate(
        benchmark=benchmark,
        agent=f"baseline:{expert}",
        overrides=overrides,
        out=out,
        workers=workers,
        episodes=episodes,
    )
    typer.echo(f"Make a dataset of the good ones: nav-eval export {out} --format lerobot-v3 --where success --out …")
