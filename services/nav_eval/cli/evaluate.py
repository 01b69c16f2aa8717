"""`nav-eval evaluate` and `collect`: run a benchmark against an agent or an expert."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nav_eval.cache import open_cache_folder
from nav_eval.errors import ConfigError

EVERYTHING_FAILED = 3  #: the exit code when no episode was completed
SHOWN_METRICS = 3
"""Running means beside the progress bar."""


def evaluate(
    benchmark: Annotated[str, typer.Argument(help="Name or file of a benchmark.")],
    overrides: Annotated[list[str] | None, typer.Argument(help="key=value …", metavar="[KEY=VALUE]...")] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            help="grpc://host:port, unix:/path, http://…, ws://…, baseline:NAME, module:Class, or a command; "
            "agent_service.endpoint of BENCHMARK if not given."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; an unfinished run in it is resumed.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes, each with its own simulator.")] = None,
    episodes: Annotated[int | None, typer.Option(min=1, help="Only so many episodes.")] = None,
) -> None:
    """Run BENCHMARK against an agent."""
    from rich.console import Console

    from nav_eval.config import load_benchmark
    from nav_eval.evaluation.terminal_report import print_report
    from nav_eval.orchestrator import EvaluationOrchestrator

    chosen = [*(overrides or []), *([f"dataset.episodes={episodes}"] if episodes else [])]
    config = load_benchmark(benchmark, overrides=chosen)
    address = agent
    if address is None and config.agent_service is not None:
        address = config.agent_service.address
    if address is None:
        raise ConfigError("Which agent? Give --agent baseline:random, --agent grpc://host:port or --agent 'python …'.")
    folder = out or Path(config.output.log_dir)
    orchestrator = EvaluationOrchestrator(cache=open_cache_folder(), workers=workers)
    with ProgressBar("episodes") as progress:
        try:
            report = orchestrator.run_benchmark(
                config, agent=address, out=folder, callbacks=progress.callbacks, say=progress.say
            )
        except KeyboardInterrupt:
            typer.echo(f"\nInterrupted. Finished episodes are in {folder}; the same command goes on.", err=True)
            raise typer.Exit(130) from None
    print_report(Console(), report)
    typer.echo(f"Results: {folder}. Check them with: nav-eval verify {folder}")
    if report.counts.episodes and not report.counts.completed:
        raise typer.Exit(EVERYTHING_FAILED)


class ProgressBar:
    """A bar on stderr: how many, how long still, and how it goes. Give `callbacks` to whoever runs a benchmark."""

    def __init__(self, title: str) -> None:
        self._title = title

    def __enter__(self) -> "ProgressBar":
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn(f"[bold]{self._title}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[scores]}"),
            console=console,
            auto_refresh=console.is_terminal,
            refresh_per_second=1,  # each takes milliseconds from the thread that draws
        )
        self._task = self._bar.add_task(self._title, total=None, scores="")
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    @property
    def callbacks(self) -> Any:  # noqa: ANN401 - imported only when a run starts
        from nav_eval.evaluation.runner import RunCallbacks

        return RunCallbacks(on_start=self._begin, on_result=self._result)

    def show(self, done: int, total: int) -> None:
        self._bar.update(self._task, total=total, completed=done)

    def _begin(self, done: int, total: int) -> None:
        if done == total:
            self.say(f"All {total} episodes were finished before; give another --out to play them again.")
        elif done:
            self.say(f"Going on: {done} of {total} episodes were finished before.")
        self.show(done, total)

    def say(self, text: str) -> None:
        """A line above the bar."""
        self._bar.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _result(self, _: Any, aggregator: Any) -> None:  # noqa: ANN401
        means = list(aggregator.realtime.current().items())[:SHOWN_METRICS]
        scores = "  ".join(f"{name} {running.mean:.3f}" for name, running in means)
        self._bar.update(self._task, advance=1, scores=scores)


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
