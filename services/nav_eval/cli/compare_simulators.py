"""`nav-eval compare-simulators`: the same episodes and actions in two simulators, side by side."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nav_eval.config.schema import BenchmarkConfig
    from nav_eval.evaluation.simulator_comparison import EpisodeComparison


def compare_simulators(
    benchmark: Annotated[str, typer.Argument(help="Name or file of a benchmark.")],
    overrides: Annotated[list[str] | None, typer.Argument(help="key=value …", metavar="[KEY=VALUE]...")] = None,
    first: Annotated[str, typer.Option(help="A simulator, as simulator.backend names it.")] = "moderngl",
    second: Annotated[str, typer.Option(help="Another one; `habitat` comes with nav-eval-habitat.")] = "habitat",
    episodes: Annotated[int, typer.Option(min=1, help="How many episodes.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Play the episodes of BENCHMARK with the same actions in two simulators and show what differs."""
    from nav_eval.config import load_benchmark

    config = load_benchmark(benchmark, overrides=[*(overrides or []), f"dataset.episodes={episodes}"])
    rows = _compare(config, first, second)
    if as_json:
        from dataclasses import asdict

        typer.echo(json.dumps({"simulators": [first, second], "episodes": [asdict(row) for row in rows]}, indent=2))
        return
    _print_table(rows, first, second)


def _compare(config: "BenchmarkConfig", first: str, second: str) -> list["EpisodeComparison"]:
    from nav_eval.cache import open_cache_folder
    from nav_eval.evaluation.episodes import load_episodes
    from nav_eval.evaluation.simulator_comparison import choose_actions, compare_plays, play_actions
    from nav_eval.simulator.base import SimulatorSetup, open_simulator

    episodes = list(load_episodes(config))
    known = [action.name for action in config.task.actions]
    plays = []
    for backend in (first, second):  # one after the other: two graphics contexts in one process may be too many
        simulator = config.simulator.model_copy(update={"backend": backend})
        setup = SimulatorSetup(benchmark=config.model_copy(update={"simulator": simulator}), cache=open_cache_folder())
        with open_simulator(setup) as opened:
            plays.append([play_actions(opened, episode, choose_actions(episode, known)) for episode in episodes])
    return [compare_plays(episode, *pair) for episode, *pair in zip(episodes, *plays, strict=True)]


def _print_table(rows: list["EpisodeComparison"], first: str, second: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("", first, second, "difference", box=None, pad_edge=False)
    for row in rows:
        table.add_row(f"[bold]{row.episode_id}[/bold], {row.actions} actions")
        one, other = row.geodesics
        table.add_row("  geodesic to the goal", f"{one:.3f} m", f"{other:.3f} m", f"{abs(one - other):.3f} m")
        table.add_row("  collisions", *map(str, row.collisions), str(abs(row.collisions[0] - row.collisions[1])))
        table.add_row("  way, at most apart", "", "", f"{row.farthest:.3f} m")
        table.add_row("  way, apart at the end", "", "", f"{row.apart_at_end:.3f} m")
        for name, difference in row.pictures.items():
            table.add_row(f"  picture {name}", "", "", f"{difference:.4g}")
    Console().print(table)
