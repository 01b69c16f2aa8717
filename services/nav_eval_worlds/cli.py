"""`nav-eval scenes generate`, `nav-eval episodes generate` and `nav-eval episodes balance`.

They stand beside the engine's commands for files that are there already; entry points put them in.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nav_eval.cli.episodes import File, Format, Roles, Split, make_request, to_printable

if TYPE_CHECKING:
    from nav_eval_worlds.episodes import Balance

_MOST_SHOWN = 12


def generate_houses(
    out: Annotated[Path, typer.Option(help="Folder for the houses.")],
    *,
    count: Annotated[int, typer.Option(help="How many houses.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the first house; the others count up.", min=0)] = 0,
    split: Annotated[str, typer.Option(help="seen or unseen: disjoint plans, furniture and textures.")] = "seen",
    template: Annotated[str | None, typer.Option(help="flat_1 … duplex_5; drawn if not given.")] = None,
    detail: Annotated[int, typer.Option(help="Cut every triangle into four, so many times.", min=0, max=4)] = 0,
) -> None:
    """Generate furnished houses: a .glb and a .semantics.json each, and a manifest."""
    from nav_eval_worlds.houses.house_files import write_houses

    for house in write_houses(out, count=count, seed=seed, split=split, template=template, detail=detail):
        typer.echo(
            f"{house.file}: {house.template}, {house.rooms} rooms, {house.area:g} m², "
            f"{house.objects} objects, {house.triangles:,} triangles"
        )


def generate_episodes(
    task: Annotated[str, typer.Option(help="vln, lh_vln, objectnav, imagenav, pointnav, localization or eqa.")],
    scenes: Annotated[Path, typer.Option(help="Folder of annotated scenes, e.g. of `nav-eval scenes generate`.")],
    out: Annotated[Path, typer.Option(help="File to write: .json, .jsonl, either with .gz.")],
    *,
    count: Annotated[int, typer.Option(min=1, help="How many episodes, spread over the scenes.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Keep the seed of a test split secret.")] = 0,
    split: Annotated[str, typer.Option(help="Unseen and test splits use other houses and other templates.")] = "unseen",
    subtasks: Annotated[tuple[int, int], typer.Option(help="lh_vln: the fewest and the most sub-tasks.")] = (2, 4),
    benchmark: Annotated[str | None, typer.Option(help="Whose actions, robots and rules; the task's base one.")] = None,
    report: Annotated[bool, typer.Option("--report", help="Print how balanced the episodes are.")] = False,
) -> None:
    """Generate episodes that need no annotators: instructions, goals and an expert's walk."""
    from nav_eval.cache import get_cache_folder
    from nav_eval.dataset.formats.native import write_episodes
    from nav_eval_worlds.episodes import compute_balance
    from nav_eval_worlds.episodes import generate_episodes as generate
    from nav_eval_worlds.generator import list_scenes, load_base_benchmark

    episodes = generate(
        load_base_benchmark(task, scenes, benchmark=benchmark),
        list_scenes(scenes, split),
        count=count,
        seed=seed,
        split=split,
        subtasks=subtasks,
        cache=get_cache_folder(),
        say=lambda text: typer.echo(text, err=True),
    )
    write_episodes(out, episodes)
    typer.echo(f"{out}: {len(episodes)} episodes in {len({episode.scene_id for episode in episodes})} scenes.")
    if report:
        _print_balance(compute_balance(episodes))


def report_balance(
    file: File,
    *,
    format: Format = "nav_eval",
    split: Split = None,
    role: Roles = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """What the episodes of FILE ask for: targets, rooms, lengths, turns, and what deserves a look."""
    from nav_eval.dataset.loader import stream_episodes
    from nav_eval_worlds.episodes import compute_balance

    found = compute_balance(list(stream_episodes(make_request(file, format, split=split, roles=role))))
    _print_json(found) if as_json else _print_balance(found)


def _print_json(balance: "Balance") -> None:
    import json
    from dataclasses import asdict

    typer.echo(json.dumps(asdict(balance), indent=2, ensure_ascii=False))


def _print_balance(balance: "Balance") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, text in _list_balance_rows(balance):
        table.add_row(name, to_printable(text))
    console = Console()
    console.print(table)
    for finding in balance.findings:
        console.print(f"look at: {finding}", markup=False, highlight=False, style="yellow", soft_wrap=True)


def _list_balance_rows(balance: "Balance") -> Iterator[tuple[str, str]]:
    yield "episodes", f"{balance.episodes} in {balance.scenes} scenes"
    yield "targets", _format_counts(balance.categories)
    yield "room pairs", _format_counts(balance.room_pairs)
    yield "sub-tasks", _format_counts({str(number): count for number, count in balance.subtasks.items()})
    for name, values in (("metres", balance.metres), ("steps", balance.steps), ("words", balance.words)):
        yield name, " · ".join(f"{value:g}" for value in values) or "—"
    for name, share in (("left turns", balance.left_turns), ("hidden goals", balance.hidden_goals)):
        yield name, "—" if share is None else f"{share:.0%}"


def _format_counts(counts: dict[str, int]) -> str:
    """The most frequent ones."""
    shown = ", ".join(f"{name} {count}" for name, count in list(counts.items())[:_MOST_SHOWN])
    return shown + (f", and {len(counts) - _MOST_SHOWN} more" if len(counts) > _MOST_SHOWN else "") or "—"
