"""`nav-eval export`: a run as a dataset that other libraries load."""

from pathlib import Path
from typing import Annotated, Any

import typer


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

    with _Bar() as bar:
        done = export_run(
            run,
            form=form,
            out=out,
            where=where,
            sensors=_names(sensors),
            limit=episodes,
            fps=fps,
            name=name,
            on_progress=bar.show,
        )
    typer.echo(f"{done.episodes} episodes, {done.steps} steps: {out}")


def _names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    return [] if text.strip() in ("", "none") else [name.strip() for name in text.split(",")]


class _Bar:
    """Steps on stderr, because episodes differ in length."""

    def __enter__(self) -> "_Bar":
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("[bold]steps"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task("steps", total=None)
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, progress: Any) -> None:  # noqa: ANN401 - imported only when an export starts
        self._bar.update(self._task, total=progress.of_steps, completed=progress.steps)
