"""`nav-eval …`: the sub-commands, each in the module of what it works on.

The platform's packages add theirs (`serve`, `worker`, `admin`, …) through entry points, because the engine
knows none of them. The commands parse, call the engine and print. Every refusal of the engine arrives here as a
`NavEvalError` and leaves as one line on stderr and exit code 2.
"""

import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any

import typer

import nav_eval
from nav_eval.cli.bench import bench_app as bench
from nav_eval.cli.config import app as config
from nav_eval.cli.data import app as data
from nav_eval.cli.episodes import app as episodes
from nav_eval.cli.evaluate import collect, evaluate, verify
from nav_eval.cli.export import export
from nav_eval.cli.replay import replay
from nav_eval.cli.report import compare, report
from nav_eval.cli.scenes import app as scenes
from nav_eval.cli.score import score
from nav_eval.errors import NavEvalError

app = typer.Typer(
    name="nav-eval",
    help="Evaluate navigation agents, verify their scores, run a challenge.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

app.command()(evaluate)
app.command()(verify)
app.command()(collect)
app.command()(export)
app.command()(score)
app.command()(report)
app.command()(replay)
app.command()(compare)
app.add_typer(bench, name="bench")
app.add_typer(config, name="config")
app.add_typer(data, name="data")
app.add_typer(episodes, name="episodes")
app.add_typer(scenes, name="scenes")


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        typer.echo(nav_eval.__version__)
        raise typer.Exit


def add_plugin_commands(arguments: Sequence[str]) -> None:
    """Commands of other packages (`nav_eval.commands`), imported only when they are called or listed.

    An entry is a function, or a Typer app with commands of its own; `episodes.generate` is a command of `episodes`.
    """
    asked_for = arguments[0] if arguments else "--help"
    for command in entry_points(group="nav_eval.commands"):
        if asked_for in (command.name.partition(".")[0], "--help"):
            try:
                _add_command(command.name, command.load())
            except ModuleNotFoundError as error:
                if asked_for != "--help":
                    raise NavEvalError(
                        f"`nav-eval {command.name}` needs {error.name}, which is not installed: "
                        "pip install 'nav-eval[gateway,worker]' nav-eval-sdk."
                    ) from error


def _add_command(name: str, command: Any) -> None:  # noqa: ANN401
    group, _, below = name.rpartition(".")
    if group:
        _find_group(group).command(below)(command)
    elif isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        app.command(name)(command)


def _find_group(name: str) -> typer.Typer:
    """One of our own commands that have sub-commands."""
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    return groups[name] or app


def main() -> None:
    try:
        add_plugin_commands(sys.argv[1:])
        app()
    except NavEvalError as error:
        typer.echo(f"nav-eval: {error}", err=True)
        sys.exit(2)
