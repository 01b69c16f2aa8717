"""`nav-eval data …`: is the data that somebody brings what an evaluation will look for?"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nav_eval.cli.episodes import to_printable

if TYPE_CHECKING:
    from nav_eval.evaluation.scene_check import CheckedDataset

app = typer.Typer(no_args_is_help=True, suggest_commands=False, help="Check datasets that you bring.")

_COLOURS = {"missing": "red", "corrupt": "red", "note": "yellow"}
_MOST_SHOWN = 20


@app.callback()
def root() -> None:
    """Check datasets that you bring."""


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(help="The folder of one dataset, or one that holds several.")],
    scenes: Annotated[
        Path | None, typer.Option(help="Where the episodes' scenes should be; FOLDER/scene_datasets if there is one.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Read every scene and every episode.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Recognise the datasets in FOLDER and say what is missing or broken; exit code 1 if anything is."""
    from nav_eval.evaluation.dataset_check import check_data

    collections = check_data(folder, scenes=scenes, everything=everything, say=lambda text: typer.echo(text, err=True))
    if as_json:
        typer.echo(json.dumps([collection.as_dict() for collection in collections], indent=2, ensure_ascii=False))
    else:
        for collection in collections:
            _print_collection(collection)
    raise typer.Exit(0 if all(collection.sound for collection in collections) else 1)


def _print_collection(collection: "CheckedDataset") -> None:
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False)
    verdict = "[green]sound[/]" if collection.sound else "[red]not complete[/]"
    console.print(f"[bold]{collection.name}[/] in {to_printable(str(collection.root))}: {verdict}")
    counts = ", ".join(f"{number:,} {what}" for what, number in collection.counts.items())
    console.print(f"  {counts or 'nothing could be read'}")
    for finding in collection.findings[:_MOST_SHOWN]:
        colour = _COLOURS[finding.kind]
        console.print(f"  [{colour}]{finding.kind}[/] {to_printable(finding.path)}: {to_printable(finding.text)}")
    if len(collection.findings) > _MOST_SHOWN:
        console.print(f"  and {len(collection.findings) - _MOST_SHOWN} more; --json shows all")
