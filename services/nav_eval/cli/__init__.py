"""`nav-eval …`: the sub-commands, each in the module of what it works on.

The platform's packages add theirs (`serve`, `worker`, `admin`, …) through entry points, because the engine
knows none of them. The commands parse, call the engine and print. Every refusal of the engine arrives here as a
`NavEvalError` and leaves as one line on stderr and exit code 2. Nothing is imported before it is needed: a command when
it is called, and neither Typer nor any command for `--help` and `--version`.
"""

import sys
from typing import TYPE_CHECKING, Any

import nav_eval
from nav_eval.errors import NavEvalError

if TYPE_CHECKING:
    from nav_eval.cli.lazy_commands import app

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - Python's own protocol
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from nav_eval.cli.lazy_commands import app

    return app


def main() -> None:
    match sys.argv[1:]:
        case ["--version"]:
            sys.stdout.write(f"{nav_eval.__version__}\n")
        case [] | ["--help"]:
            _print_help(sys.argv[1:])
        case _:
            _run_command()


def _print_help(arguments: list[str]) -> None:
    from nav_eval.cli.command_list import OWN, find_plugins, format_help

    sys.stdout.write(format_help({**OWN, **find_plugins()}))
    sys.exit(0 if arguments else 2)


def _run_command() -> None:
    from nav_eval.cli.lazy_commands import app

    try:
        app()
    except NavEvalError as error:
        sys.stderr.write(f"nav-eval: {error}\n")
        sys.exit(2)
