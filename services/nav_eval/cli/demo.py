"""`nav-eval demo`: the main job on this machine, from nothing to a verified board."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

AGENTS = ("random", "forward", "keyword", "oracle")
UPPER_BOUND = "oracle"
COLUMNS = ("tar", "isr", "csr", "cgt", "score")


class Entry(NamedTuple):
    """One row of the board."""

    name: str
    scores: dict[str, float | None]
    verified: bool


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the runs.")] = Path("var/demo"),
    episodes: Annotated[int, typer.Option(min=1, help="Episodes that each agent plays.")] = 6,
    benchmark: Annotated[str, typer.Option(help="Which benchmark to play.")] = "demo_lh_vln",
) -> None:
    """Generate houses and episodes, let four agents play them, verify every run, print the board."""
    from rich.console import Console

    from nav_eval.cache import cache_folder
    from nav_eval.config import load_benchmark
    from nav_eval.evaluation.generation import ensure_generated

    console = Console()
    ensure_generated(load_benchmark(benchmark), cache=cache_folder(), say=lambda text: typer.echo(text, err=True))
    entries = [_entry(name, console, out=out, benchmark=benchmark, episodes=episodes) for name in AGENTS]
    console.print(_board(entries))
    console.print(f"Runs with every action and pose: {out}. Look at one: nav-eval report {out / 'keyword'}")


def _entry(name: str, console: "Console", *, out: Path, benchmark: str, episodes: int) -> Entry:
    from nav_eval.cache import cache_folder
    from nav_eval.cli.evaluate import progress_bar
    from nav_eval.config import load_benchmark
    from nav_eval.evaluation.orchestrator import EvaluationOrchestrator
    from nav_eval.evaluation.verification import verify

    config = load_benchmark(benchmark, overrides=[f"dataset.episodes={episodes}"])
    with progress_bar(name) as progress:
        report = EvaluationOrchestrator(cache=cache_folder()).run_benchmark(
            config, agent=f"baseline:{name}", out=out / name, watcher=progress.watcher
        )
    proof = verify(out / name, cache=cache_folder())
    console.print(f"[dim]{name}: {proof.summary()}", highlight=False)
    return Entry(name, report.scores, proof.equal)


def _board(entries: list[Entry]) -> "Table":
    from rich.table import Table

    table = Table(title="Leaderboard", title_justify="left")
    table.add_column("rank", justify="right")
    table.add_column("agent")
    for column in COLUMNS:
        table.add_column(column.upper(), justify="right")
    table.add_column("verified")
    ranked = sorted((e for e in entries if e.name != UPPER_BOUND), key=lambda e: -(e.scores["score"] or 0.0))
    rows = [(str(place), entry) for place, entry in enumerate(ranked, start=1)]
    rows = [("–", entry) for entry in entries if entry.name == UPPER_BOUND] + rows
    for rank, entry in rows:
        name = f"{entry.name} (knows the goals)" if entry.name == UPPER_BOUND else entry.name
        values = [f"{entry.scores[column] or 0.0:.3f}" for column in COLUMNS]
        table.add_row(rank, name, *values, "by replay" if entry.verified else "[red]NO")
    return table
