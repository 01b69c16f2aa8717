"""`nav-eval …`: the sub-commands, each in the module of what it works on.

The platform's packages add theirs (`serve`, `worker`, `admin`, …) through entry points, because the engine
knows none of them. The commands parse, call the engine and print. Every refusal of the engine arrives here as a
`NavEvalError` and leaves as one line on stderr and exit code 2; so does what the system refuses. Nothing is imported
before it is needed: a command when it is called, and neither Typer nor any command for `--help` and `--version`.
"""

import errno
import os
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

import nav_eval
from nav_eval.errors import NavEvalError
from nav_eval.plain_text import clean_text

if TYPE_CHECKING:
    from nav_eval.cli.lazy_commands import app

__all__ = ["app", "main"]

INTERRUPTED = 130  #: the exit code after Ctrl-C, as shells have it
NEW_LINE = "\n"  #: some refusals have several lines


def __getattr__(name: str) -> Any:  # noqa: ANN401 - Python's own protocol
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from nav_eval.cli.lazy_commands import app

    return app


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may lack our signs; that is no reason to fail
    try:
        _run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:  # before a command had begun
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _close_output()
        sys.exit(1)  # whoever read our output has gone
    except OSError as error:
        _close_output()
        _refuse(_explain_refusal(error))
    except NavEvalError as error:
        _refuse(_explain(error))
    except ModuleNotFoundError as error:
        from nav_eval.cli.missing_library import explain_missing_library

        if (message := explain_missing_library(error)) is None:
            raise
        _refuse(message)


def _run(arguments: list[str]) -> None:
    match arguments:
        case ["--version"]:
            sys.stdout.write(f"{nav_eval.__version__}\n")
        case [] | ["--help"]:
            _print_help(arguments)
        case _:
            from nav_eval.cli.lazy_commands import app

            app()


def _close_output() -> None:
    """What cannot be written any more is given up, or Python would try it once more when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(message: str) -> None:
    sys.stderr.write(f"nav-eval: {clean_text(message, also=NEW_LINE)}\n")
    sys.exit(2)


def _print_help(arguments: list[str]) -> None:
    from nav_eval.cli.command_list import OWN, find_plugins, format_help

    sys.stdout.write(format_help({**OWN, **find_plugins()}))
    sys.stdout.flush()
    sys.exit(0 if arguments else 2)


def _explain_refusal(error: OSError) -> str:
    """What the system refused: a path that a person gave, a right that is missing, a full disk."""
    if error.errno == errno.ENOSPC:
        return "No space left on the device. Free some, or choose another folder, and repeat the command."
    place = error.filename2 or error.filename
    if isinstance(error, FileExistsError | NotADirectoryError):
        return f"{place} is in the way: a folder is needed there. Give another path."
    said = error.strerror or str(error)
    return f"{place}: {said}. Check the path and who may write there." if place else f"{said}. Check paths and rights."


def _explain(error: NavEvalError) -> str:
    """What happened; of what ended with an agent also what to do next."""
    cause = getattr(error, "cause", None)
    if cause is None or cause.is_ours or getattr(error, "is_advised", False):
        return str(error)
    said = str(error).rstrip()
    return f"{said if said.endswith('.') else said + '.'} {cause.advice}"
