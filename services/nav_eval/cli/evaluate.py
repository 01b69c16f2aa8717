"""`nav-eval evaluate` and `nav-eval verify`: run a benchmark against an agent, and prove what came out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nav_eval.cache import cache_folder

SHOWN_METRICS = 3
"""Running means beside the progress bar."""


def evaluate(
    benchmark: Annotated[str, typer.Argument(help="Name or file of a benchmark.")],
    agent: Annotated[
        str,
        typer.Option(help="grpc://host:port, unix:/path, http://…, ws://…, baseline:NAME, module:Class, or a command."),
    ],
    overrides: Annotated[list[str] | None, typer.Argument(help="key=value …", metavar="[KEY=VALUE]...")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; an unfinished run in it is resumed.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes, each with its own simulator.")] = None,
    episodes: Annotated[int | None, typer.Option(min=1, help="Only so many episodes.")] = None,
) -> None:
    """Run BENCHMARK against an agent."""
    from rich.console import Console

    from nav_eval.config import load_benchmark
    from nav_eval.evaluation.generation import ensure_generated
    from nav_eval.evaluation.orchestrator import EvaluationOrchestrator
    from nav_eval.evaluation.terminal import print_report

    chosen = [*(overrides or []), *([f"dataset.episodes={episodes}"] if episodes else [])]
    config = load_benchmark(benchmark, overrides=chosen)
    ensure_generated(config, cache=cache_folder(), say=lambda text: typer.echo(text, err=True))
    folder = out or Path(config.output.log_dir)
    orchestrator = EvaluationOrchestrator(cache=cache_folder(), workers=workers)
    with progress_bar() as progress:
        try:
            report = orchestrator.run_benchmark(config, agent=agent, out=folder, watcher=progress.watcher)
        except KeyboardInterrupt:
            typer.echo(f"\nInterrupted. Finished episodes are in {folder}; the same command goes on.", err=True)
            raise typer.Exit(130) from None
    print_report(Console(), report)
    typer.echo(f"Results: {folder}. Check them with: nav-eval verify {folder}")


def verify(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    first: Annotated[int | None, typer.Option(min=1, help="Check only the first N episodes.")] = None,
) -> None:
    """Re-simulate RUN from its action logs and compare every number."""
    from nav_eval.evaluation.verification import verify as replay

    report = replay(run, limit=first, cache=cache_folder())
    typer.echo(report.summary())
    raise typer.Exit(0 if report.equal else 1)


def progress_bar(title: str = "episodes") -> "ProgressBar":
    """A bar on stderr: how many, how long still, and how it goes."""
    return ProgressBar(title)


class ProgressBar:
    """Shows a run while it goes on; give `watcher` to whoever runs it."""

    def __init__(self, title: str) -> None:
        self._title = title

    def __enter__(self) -> "ProgressBar":
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn(f"[bold]{self._title}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[scores]}"),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task("episodes", total=None, scores="")
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    @property
    def watcher(self) -> Any:  # noqa: ANN401 - imported only when a run starts
        from nav_eval.evaluation.runner import Watcher

        return Watcher(on_start=self._start, on_result=self._result)

    def _start(self, done: int, total: int) -> None:
        self._bar.update(self._task, total=total, completed=done)

    def _result(self, _: Any, aggregator: Any) -> None:  # noqa: ANN401
        means = list(aggregator.realtime.current().items())[:SHOWN_METRICS]
        scores = "  ".join(f"{name} {running.mean:.3f}" for name, running in means)
        self._bar.update(self._task, advance=1, scores=scores)
