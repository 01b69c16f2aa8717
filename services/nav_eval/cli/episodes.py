"""`nav-eval episodes`: generate episodes, and look into files of any format before an evaluation depends on them."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nav_eval.dataset.episode import Episode
    from nav_eval.dataset.request import DatasetRequest
    from nav_eval.simulator.episode_generation import Balance

app = typer.Typer(help="Generate episodes, look into episode files.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(help="An episode file, or the folder that holds its splits.")]
Format = Annotated[str, typer.Option(help="nav_eval, r2r, rxr, objectnav, imagenav, pointnav, lhvln or sqa3d.")]
Split = Annotated[str | None, typer.Option(help="The split, where the format has several.")]
Roles = Annotated[list[str] | None, typer.Option("--role", help="rxr: guide, follower. lhvln: lh, step. '*' is all.")]
Ids = Annotated[list[str] | None, typer.Option("--id", help="Only this episode; may be repeated.")]
Scenes = Annotated[list[str] | None, typer.Option("--scene", help="Only episodes in this scene; may be repeated.")]
Count = Annotated[int | None, typer.Option("--episodes", "-n", help="At most so many.", min=1)]
Seed = Annotated[int | None, typer.Option(help="With --episodes: a fixed sample instead of the first ones.")]

_LONGEST_TEXT = 60
_MOST_SHOWN = 12


@app.command()
def validate(file: File, *, format: Format = "nav_eval", split: Split = None, role: Roles = None) -> None:
    """Read every episode of FILE, check it, and print what there is."""
    from nav_eval.dataset.dataset import load_dataset

    dataset = load_dataset(_request(file, format, split=split, roles=role))
    typer.echo(f"{file}: {len(dataset)} episodes in {len(dataset.scene_ids)} scenes are sound.")
    typer.echo(f"digest {dataset.digest}")


@app.command()
def show(
    file: File,
    *,
    format: Format = "nav_eval",
    split: Split = None,
    role: Roles = None,
    episode_id: Ids = None,
    scene: Scenes = None,
    episodes: Count = None,
    seed: Seed = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One episode per line in nav-eval's own format: a converter.")
    ] = False,
) -> None:
    """List the episodes of FILE, private half included: not for the eyes of teams."""
    from nav_eval.dataset.dataset import stream_episodes

    request = _request(
        file, format, split=split, roles=role, ids=episode_id, scenes=scene, episodes=episodes, seed=seed
    )
    _print_lines(stream_episodes(request)) if as_json else _print_table(stream_episodes(request))


@app.command()
def generate(
    task: Annotated[str, typer.Option(help="vln, lh_vln, objectnav, imagenav, pointnav or localization.")],
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
    from nav_eval.cache import cache_folder
    from nav_eval.dataset.writing import write_episodes
    from nav_eval.evaluation.generation import benchmark_for, scenes_in
    from nav_eval.simulator.episode_generation import balance_of, generate_episodes

    episodes = generate_episodes(
        benchmark_for(task, scenes, benchmark=benchmark),
        scenes_in(scenes, split),
        count=count,
        seed=seed,
        split=split,
        subtasks=subtasks,
        cache=cache_folder(),
        say=lambda text: typer.echo(text, err=True),
    )
    write_episodes(out, episodes)
    typer.echo(f"{out}: {len(episodes)} episodes in {len({episode.scene_id for episode in episodes})} scenes.")
    if report:
        _print_balance(balance_of(episodes))


@app.command()
def balance(
    file: File,
    *,
    format: Format = "nav_eval",
    split: Split = None,
    role: Roles = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """What the episodes of FILE ask for: targets, rooms, lengths, turns, and what deserves a look."""
    from nav_eval.dataset.dataset import stream_episodes
    from nav_eval.simulator.episode_generation import balance_of

    found = balance_of(list(stream_episodes(_request(file, format, split=split, roles=role))))
    _print_json(found) if as_json else _print_balance(found)


def _request(
    file: Path,
    format: str,
    *,
    split: str | None,
    roles: list[str] | None,
    ids: list[str] | None = None,
    scenes: list[str] | None = None,
    episodes: int | None = None,
    seed: int | None = None,
) -> "DatasetRequest":
    from nav_eval.dataset.request import DatasetRequest

    return DatasetRequest(
        format=format,
        path=file,
        split=split,
        roles=roles,
        episode_ids=ids,
        scenes=scenes,
        episodes=episodes,
        seed=seed,
    )


def _print_lines(episodes: "Iterator[Episode]") -> None:
    import msgspec

    for episode in episodes:
        typer.echo(msgspec.json.encode(episode, order="deterministic").decode())


def _print_table(episodes: "Iterator[Episode]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("episode", "scene", "task", "goals", "metres", box=None)
    for episode in episodes:
        table.add_row(*_row(episode))
    Console().print(table)


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
    for name, text in _balance_rows(balance):
        table.add_row(name, _printable(text))
    console = Console()
    console.print(table)
    for finding in balance.findings:
        console.print(f"look at: {finding}", markup=False, highlight=False, style="yellow", soft_wrap=True)


def _balance_rows(balance: "Balance") -> Iterator[tuple[str, str]]:
    yield "episodes", f"{balance.episodes} in {balance.scenes} scenes"
    yield "targets", _counts(balance.categories)
    yield "room pairs", _counts(balance.room_pairs)
    yield "sub-tasks", _counts({str(number): count for number, count in balance.subtasks.items()})
    for name, values in (("metres", balance.metres), ("steps", balance.steps), ("words", balance.words)):
        yield name, " · ".join(f"{value:g}" for value in values) or "—"
    for name, share in (("left turns", balance.left_turns), ("hidden goals", balance.hidden_goals)):
        yield name, "—" if share is None else f"{share:.0%}"


def _counts(counts: dict[str, int]) -> str:
    """The most frequent ones."""
    shown = ", ".join(f"{name} {count}" for name, count in list(counts.items())[:_MOST_SHOWN])
    return shown + (f", and {len(counts) - _MOST_SHOWN} more" if len(counts) > _MOST_SHOWN else "") or "—"


def _row(episode: "Episode") -> tuple[str, str, str, str, str]:
    metres = episode.private.shortest_path_length
    goals = ", ".join(subtask.target for subtask in episode.subtasks) or str(len(episode.goals))
    cells = (episode.episode_id, episode.scene_id.rsplit("/", 1)[-1], _task(episode), goals)
    episode_id, scene, task, targets = map(_printable, cells)
    return episode_id, scene, task, targets, "—" if metres is None else f"{metres:.2f}"


def _printable(text: str) -> str:
    """Files are strangers': no markup and no control characters reach the terminal."""
    from rich.markup import escape

    return escape("".join(character if character.isprintable() else "�" for character in text))


def _task(episode: "Episode") -> str:
    text = episode.instruction.text if episode.instruction else episode.public.object_category or "—"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
