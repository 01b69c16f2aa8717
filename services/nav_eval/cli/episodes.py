"""`nav-eval episodes`: look into files of any format before an evaluation depends on them.

`generate` and `balance` come from the package that generates worlds.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nav_eval.dataset.episode import Episode
    from nav_eval.dataset.loader import DatasetRequest

app = typer.Typer(help="Generate episodes, look into episode files.", no_args_is_help=True, suggest_commands=False)

File = Annotated[Path, typer.Argument(help="An episode file, or the folder that holds its splits.")]
Format = Annotated[str, typer.Option(help="nav_eval, r2r, rxr, objectnav, imagenav, pointnav, lhvln or sqa3d.")]
Split = Annotated[str | None, typer.Option(help="The split, where the format has several.")]
Roles = Annotated[list[str] | None, typer.Option("--role", help="rxr: guide, follower. lhvln: lh, step. '*' is all.")]
Ids = Annotated[list[str] | None, typer.Option("--id", help="Only this episode; may be repeated.")]
Scenes = Annotated[list[str] | None, typer.Option("--scene", help="Only episodes in this scene; may be repeated.")]
Count = Annotated[int | None, typer.Option("--episodes", "-n", help="At most so many.", min=1)]
Seed = Annotated[int | None, typer.Option(help="With --episodes: a fixed sample instead of the first ones.")]

_LONGEST_TEXT = 60


@app.command()
def validate(file: File, *, format: Format = "nav_eval", split: Split = None, role: Roles = None) -> None:
    """Read every episode of FILE, check it, and print what there is."""
    from nav_eval.dataset.loader import load_dataset

    dataset = load_dataset(make_request(file, format, split=split, roles=role))
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
    from nav_eval.dataset.loader import stream_episodes

    request = make_request(
        file, format, split=split, roles=role, ids=episode_id, scenes=scene, episodes=episodes, seed=seed
    )
    _print_lines(stream_episodes(request)) if as_json else _print_table(stream_episodes(request))


def make_request(
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
    from nav_eval.dataset.loader import DatasetRequest

    return DatasetRequest(
        format=format, path=file, split=split, roles=roles, episode_ids=ids, scenes=scenes, episodes=episodes, seed=seed
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
        table.add_row(*_format_row(episode))
    Console().print(table)


def _format_row(episode: "Episode") -> tuple[str, str, str, str, str]:
    metres = episode.private.shortest_path_length
    goals = ", ".join(subtask.target for subtask in episode.subtasks) or str(len(episode.goals))
    cells = (episode.episode_id, episode.scene_id.rsplit("/", 1)[-1], _format_task(episode), goals)
    episode_id, scene, task, targets = map(to_printable, cells)
    return episode_id, scene, task, targets, "—" if metres is None else f"{metres:.2f}"


def to_printable(text: str) -> str:
    """Files are strangers': no markup and no control characters reach the terminal."""
    from rich.markup import escape

    return escape("".join(character if character.isprintable() else "�" for character in text))


def _format_task(episode: "Episode") -> str:
    text = episode.instruction.text if episode.instruction else episode.public.object_category or "—"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
