"""`nav-eval config …`: look at configurations, check them, begin new ones, bring Habitat's."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nav_eval.errors import ConfigError

if TYPE_CHECKING:
    from nav_eval.config.loader import ResolvedConfig
    from nav_eval.config.schema import ConfigModel

app = typer.Typer(
    help="Look at configurations, check them, begin new ones.", no_args_is_help=True, suggest_commands=False
)


WARNED = 3  #: the exit code of --strict when something was understood that may not have been meant


class KindName(StrEnum):
    BENCHMARK = "benchmark"
    TASK = "task"
    SCENARIO = "scenario"
    SIMULATOR = "simulator"
    COMPETITION = "competition"
    ROBOT = "robot"
    OBJECTS = "objects"
    RANDOMIZATION = "randomization"


Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]…", help="Overrides, e.g. evaluation.max_steps=100.")
]
Out = Annotated[Path | None, typer.Option(help="Where to write; - prints.", allow_dash=True)]


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A name or a YAML file.")],
    overrides: Overrides = None,
    kind: Annotated[KindName | None, typer.Option(help="Which kind, when several have the name.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: config, digest, files, origins.")] = False,
) -> None:
    """Print NAME as nav-eval understands it, with its digest and where each value came from."""
    from nav_eval.config import resolve, yaml_writer

    resolved = resolve(name, kind=kind, overrides=overrides or ())
    _print_notes(resolved.notes)
    typer.echo(yaml_writer.as_json(resolved) if as_json else yaml_writer.as_yaml(resolved), nl=False)


@app.command()
def validate(
    files: Annotated[list[str], typer.Argument(help="YAML files, or names.")],
    paths: Annotated[bool, typer.Option("--paths/--no-paths", help="Check that data files exist.")] = True,
) -> None:
    """Check every FILE; exit code 2 if one of them cannot be used."""
    from nav_eval.config import resolve, yaml_writer

    failed = False
    for file in files:
        try:
            resolved = resolve(file)
            _print_notes((*resolved.notes, *_check_installation(resolved, paths=paths)))
            mark = yaml_writer.format_template_mark(resolved)
            typer.echo(f"ok  {resolved.source}  {resolved.kind.name}{mark}  {resolved.digest}")
        except ConfigError as error:
            failed = True
            typer.echo(f"nav-eval: {error}", err=True)
    if failed:
        raise typer.Exit(2)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the new benchmark.")],
    extends: Annotated[str | None, typer.Option(help="The benchmark to start from.")] = None,
    task: Annotated[str | None, typer.Option(help="Or the task that it is for.")] = None,
    out: Out = None,
) -> None:
    """Write a commented benchmark to fill in, to configs/benchmarks/NAME.yaml."""
    from nav_eval.config.yaml_writer import render_new_benchmark

    _write_file(
        render_new_benchmark(name, extends=extends, task=task), out or Path("configs", "benchmarks", f"{name}.yaml")
    )


@app.command()
def schema(kind: Annotated[KindName, typer.Argument(help="Which kind of file.")] = KindName.BENCHMARK) -> None:
    """Print the JSON Schema of a kind of file, for editors."""
    from nav_eval.config.file_kinds import KINDS
    from nav_eval.config.json_schema import make_file_schema

    typer.echo(json.dumps(make_file_schema(KINDS[kind]), indent=2, ensure_ascii=False))


@app.command()
def reference() -> None:
    """Print every key of every kind of file as Markdown: docs/reference/configuration.md."""
    from nav_eval.config.json_schema import render_reference

    typer.echo(render_reference(), nl=False)


@app.command()
def migrate_habitat(
    file: Annotated[Path, typer.Argument(help="A Habitat YAML: Hydra style, or the older yacs style.")],
    out: Out = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 if there is anything to warn about.")] = False,
) -> None:
    """Turn a Habitat configuration into a benchmark of ours; what has no place in it is listed."""
    from nav_eval.config.habitat import migrate_habitat as migrate

    migration = migrate(file)
    for entry in migration.not_carried:
        typer.echo(f"not carried over: {entry}", err=True)
    for caution in migration.cautions:
        typer.echo(f"warning: {caution}", err=True)
    _write_file(migration.to_yaml(), out or Path("-"))
    if strict and migration.cautions:
        raise typer.Exit(WARNED)


def _check_installation(resolved: "ResolvedConfig[ConfigModel]", *, paths: bool) -> list[str]:
    """What only a whole installation can tell: files that are missing, benchmarks of phases."""
    from nav_eval.config.loader import check_phases
    from nav_eval.config.schema import BenchmarkConfig, CompetitionConfig
    from nav_eval.config.validation import check_paths

    config = resolved.config
    if isinstance(config, CompetitionConfig):
        return check_phases(config, resolved.layer, source=resolved.source)
    if isinstance(config, BenchmarkConfig) and paths and not config.is_template:
        return check_paths(config, resolved.layer, source=resolved.source)
    return []


def _print_notes(notes: "tuple[str, ...]") -> None:
    for note in notes:
        typer.echo(f"note: {note}", err=True)


def _write_file(text: str, out: Path) -> None:
    if str(out) == "-":
        typer.echo(text, nl=False)
        return
    if out.exists():
        raise ConfigError(f"{out} exists already; choose another name, or --out.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error.strerror}.") from error
    typer.echo(f"wrote {out}")
