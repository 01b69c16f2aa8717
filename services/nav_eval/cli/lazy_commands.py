"""The commands as Typer wants them, each imported when it is called."""

from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

import nav_eval
from nav_eval.cli.command_list import OWN, TITLE, find_plugins, format_help
from nav_eval.errors import NavEvalError
from nav_eval.garbage import pause_collector


class LazyCommands(MutableMapping[str, Any]):
    """Our own commands and those of other packages; looking one up imports it."""

    def __init__(self, own: Mapping[str, str]) -> None:
        self._own = own
        self._added: dict[str, Any] = {}

    @cached_property
    def references(self) -> dict[str, str]:
        """Where each command is; finding those of other packages reads the list of what is installed."""
        return {**self._own, **find_plugins()}

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - Typer has no public name for its commands
        if name in self._added:
            return self._added[name]
        return _load_command(name, self._own.get(name) or self.references[name])

    def __setitem__(self, name: str, command: Any) -> None:  # noqa: ANN401
        self._added[name] = command

    def __delitem__(self, name: str) -> None:
        del self._added[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.references, **self._added})

    def __len__(self) -> int:
        return len({**self.references, **self._added})


class NavEvalCommands(TyperGroup):
    """The top of the command line."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - Typer's
        super().__init__(**options)
        self.commands = LazyCommands(OWN)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401
        return list(self.commands)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        formatter.write(format_help({**OWN, **find_plugins()}, width=formatter.width))


@cache
def _load_command(name: str, reference: str) -> Any:  # noqa: ANN401
    found = _import_reference(name, reference)
    if isinstance(found, typer.Typer):
        for below, command in find_plugins(name).items():
            found.command(below)(_import_reference(f"{name} {below}", command))
        group = typer.main.get_group(found)
        group.name = name
        return group
    holder = typer.Typer(add_completion=False)
    holder.command(name)(found)
    return typer.main.get_command(holder)


def _import_reference(name: str, reference: str) -> Any:  # noqa: ANN401
    module, _, attribute = reference.partition(":")
    try:
        with pause_collector():
            return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        extra = "demo" if name == "demo" else "gateway,worker"
        raise NavEvalError(
            f"`nav-eval {name}` needs {error.name}, which is not installed: pip install 'nav-eval[{extra}]'."
        ) from error


app = typer.Typer(
    cls=NavEvalCommands,
    name="nav-eval",
    help=TITLE,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    suggest_commands=False,  # click does, and Typer would say it a second time
    add_completion=False,
)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        typer.echo(nav_eval.__version__)
        raise typer.Exit
