"""`nav-eval scenes generate` and `nav-eval episodes generate`, `balance`, `language` and `check`.

They stand beside the engine's commands for files that are there already; entry points put them in.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nav_eval.cli.episodes import File, Format, Roles, Split, make_request, to_printable
from nav_eval.generator_version import LATEST_GENERATOR, check_generator

if TYPE_CHECKING:
    from nav_eval_worlds.episodes import Balance
    from nav_eval_worlds.instructions.diversity import Diversity

_MOST_SHOWN = 12
Generator = Annotated[int, typer.Option(help="Version of the generator: 1 makes what nav-eval 0.1 made.")]


def generate_houses(
    out: Annotated[Path, typer.Option(help="Folder for the houses.")],
    *,
    count: Annotated[int, typer.Option(help="How many houses.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the first house; the others count up.", min=0)] = 0,
    split: Annotated[str, typer.Option(help="seen or unseen: disjoint plans, furniture and textures.")] = "seen",
    template: Annotated[
        str | None, typer.Option(help="flat_1 … duplex_5, office_floor, shop, clinic; a home is drawn if not given.")
    ] = None,
    detail: Annotated[int, typer.Option(help="Cut every triangle into four, so many times.", min=0, max=4)] = 0,
    generator: Generator = LATEST_GENERATOR,
    assets: Annotated[Path | None, typer.Option(help="Folder of models (GLB and JSON) to furnish with.")] = None,
) -> None:
    """Generate furnished houses: a .glb and a .semantics.json each, and a manifest."""
    from nav_eval_worlds.houses.house_files import write_houses

    version = check_generator(generator)
    for house in write_houses(
        out, count=count, seed=seed, split=split, template=template, detail=detail, generator=version, assets=assets
    ):
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
    generator: Generator = LATEST_GENERATOR,
    language: Annotated[str, typer.Option(help="en or zh, of vln and lh_vln.")] = "en",
    benchmark: Annotated[str | None, typer.Option(help="Whose actions, robots and rules; the task's base one.")] = None,
    paraphrase: Annotated[str | None, typer.Option(help="A paraphraser that says the texts again: a plug-in.")] = None,
    report: Annotated[bool, typer.Option("--report", help="Print how balanced the episodes are.")] = False,
) -> None:
    """Generate episodes that need no annotators: instructions, goals and an expert's walk."""
    from nav_eval.cache import open_cache_folder
    from nav_eval.config.schema.generation import check_language
    from nav_eval.dataset.formats.native import check_ending, write_episodes
    from nav_eval_worlds.episodes import compute_balance
    from nav_eval_worlds.episodes import generate_episodes as generate
    from nav_eval_worlds.generator import list_scenes, load_base_benchmark

    check_ending(out)
    out.parent.mkdir(parents=True, exist_ok=True)  # now: making the episodes takes minutes
    episodes = generate(
        load_base_benchmark(task, scenes, benchmark=benchmark),
        list_scenes(scenes, split),
        count=count,
        seed=seed,
        split=split,
        subtasks=subtasks,
        generator=check_generator(generator),
        language=check_language(language),
        cache=open_cache_folder(),
        say=lambda text: typer.echo(text, err=True),
    )
    if paraphrase is not None:
        from nav_eval_worlds.instructions.paraphrases import ORIGINAL, PARAPHRASERS, rewrite_texts

        episodes = list(rewrite_texts(episodes, PARAPHRASERS.get(paraphrase), seed=seed))
        said_again = sum(ORIGINAL in episode.private.info for episode in episodes)
        typer.echo(f"{said_again} of {len(episodes)} texts were said again; the others stayed as they were.", err=True)
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


def report_language(
    file: File,
    *,
    format: Format = "nav_eval",
    split: Split = None,
    role: Roles = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """How varied the instructions of FILE are: vocabulary, length, 4-grams, openings."""
    from nav_eval.dataset.loader import stream_episodes
    from nav_eval_worlds.instructions.diversity import compute_diversity

    episodes = stream_episodes(make_request(file, format, split=split, roles=role))
    found = compute_diversity([episode.instruction.text for episode in episodes if episode.instruction is not None])
    if as_json:
        _print_json(found)
        return
    typer.echo(f"texts            {found.texts}, of which different {found.distinct_texts}")
    typer.echo(f"mean length      {found.mean_words:g} words")
    typer.echo(f"vocabulary       {found.vocabulary} words")
    typer.echo(f"distinct 4-grams {found.distinct_4:.3f} of all")
    typer.echo(f"shared 4-grams   {found.shared_4:.1%} of all occur in another text")
    typer.echo(f"openings         {found.openings} different first three words")


def check_generated(
    file: File,
    scenes: Annotated[Path, typer.Option(help="Folder of the scenes that the episodes are in.")],
    *,
    task: Annotated[str, typer.Option(help="What the episodes are for: vln, lh_vln, …")] = "vln",
    benchmark: Annotated[str | None, typer.Option(help="Whose robots; the task's base one if not given.")] = None,
) -> None:
    """Whether map and sight lines support what generated instructions state, at every level of randomisation."""
    from nav_eval.cache import open_cache_folder
    from nav_eval.dataset.loader import stream_episodes
    from nav_eval_worlds.episodes.episode_check import check_episodes
    from nav_eval_worlds.generator import load_base_benchmark

    episodes = stream_episodes(make_request(file, "nav_eval", split=None, roles=None))
    rules = load_base_benchmark(task, scenes, benchmark=benchmark)
    found = check_episodes(rules, episodes, cache=open_cache_folder())
    for problem in found.problems:
        typer.echo(problem)
    typer.echo(
        f"{found.episodes} episodes, {found.statements} statements, 3 levels each: {len(found.problems)} problems."
    )
    if found.problems:
        raise typer.Exit(1)


def _print_json(balance: "Balance | Diversity") -> None:
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
