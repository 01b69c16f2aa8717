"""`nav-eval export`: the trajectories of a run in another format."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nav_eval.cli.evaluate import ProgressBar
from nav_eval.cli.replay import split_names

if TYPE_CHECKING:
    pass


def export(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    out: Annotated[Path, typer.Option(help="File or folder to make; it must not exist.")],
    form: Annotated[
        str, typer.Option("--format", help="jsonl, hdf5, lerobot-v3, lerobot-v2.1, minari, rrd, or a plug-in's.")
    ] = "jsonl",
    where: Annotated[
        str | None, typer.Option(help="Only these: 'success and spl >= 0.8 and length < 200 and scene ~ house_*'.")
    ] = None,
    sensors: Annotated[
        str | None, typer.Option(help="What is seen along the way, by name: rgb_front,depth_front, or none.")
    ] = None,
    episodes: Annotated[int | None, typer.Option(min=1, help="Only the first N of those.")] = None,
    fps: Annotated[int, typer.Option(min=1, max=240, help="What a step pretends to last, for videos.")] = 10,
    name: Annotated[str | None, typer.Option(help="Name of the dataset, where the format has one.")] = None,
) -> None:
    """Write the trajectories of RUN in another format; pictures are made again from its action log."""
    from nav_eval.evaluation.export import export_run

    with ProgressBar("steps") as bar:  # episodes differ in length
        done = export_run(
            run,
            form=form,
            out=out,
            where=where,
            sensors=split_names(sensors),
            limit=episodes,
            fps=fps,
            name=name,
            on_progress=lambda progress: bar.show(progress.steps, progress.of_steps),
        )
    typer.echo(f"{done.episodes} episodes, {done.steps} steps: {out}")
