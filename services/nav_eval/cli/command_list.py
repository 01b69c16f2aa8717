"""Which commands there are and what each is for, without importing any of them.

A command stands as `module:attribute`, in our own table or in an entry point of another package. What
`nav-eval --help` prints of it is read out of its source: with everything imported it took 300 times as long as Python
itself takes to start.
"""

import ast
import shutil
import textwrap
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

TITLE = "Evaluate navigation agents, verify their scores, run a challenge."
PLUGIN_GROUP = "nav_eval.commands"
OWN: Mapping[str, str] = {
    "evaluate": "nav_eval.cli.evaluate:evaluate",
    "verify": "nav_eval.cli.verify:verify",
    "collect": "nav_eval.cli.evaluate:collect",
    "export": "nav_eval.cli.export:export",
    "score": "nav_eval.cli.score:score",
    "report": "nav_eval.cli.report:report",
    "replay": "nav_eval.cli.replay:replay",
    "compare": "nav_eval.cli.report:compare",
    "compare-simulators": "nav_eval.cli.compare_simulators:compare_simulators",
    "bench": "nav_eval.cli.bench:bench_app",
    "config": "nav_eval.cli.config:app",
    "data": "nav_eval.cli.data:app",
    "episodes": "nav_eval.cli.episodes:app",
    "scenes": "nav_eval.cli.scenes:app",
}
OPTIONS = {"--version": "Print the version and exit.", "--help": "Show this message and exit."}
GAP = 2


def find_plugins(group: str = "") -> dict[str, str]:
    """The commands that other packages announce, of the top or of a group: `episodes.generate` is in `episodes`."""
    from importlib.metadata import entry_points

    found = ((*entry.name.rpartition("."), entry.value) for entry in entry_points(group=PLUGIN_GROUP))
    return {name: value for above, _, name, value in found if above == group}


def format_help(references: Mapping[str, str], *, width: int | None = None) -> str:
    """What `nav-eval --help` prints."""
    columns = min(width or shutil.get_terminal_size().columns, 100)
    commands = {name: read_help(reference) or "" for name, reference in references.items()}
    parts = [
        f"Usage: nav-eval [OPTIONS] COMMAND [ARGS]...\n\n{textwrap.fill(TITLE, columns)}",
        "\n".join(["Options:", *_format_rows(OPTIONS, columns)]),
        "\n".join(["Commands:", *_format_rows(commands, columns)]),
        "`nav-eval COMMAND --help` says what a command takes.",
    ]
    return "\n\n".join(parts) + "\n"


def _format_rows(rows: Mapping[str, str], width: int) -> Iterator[str]:
    indent = max(map(len, rows)) + 2 * GAP
    for name, text in rows.items():
        first = f"{' ' * GAP}{name}".ljust(indent)
        told = " ".join(text.partition("\n\n")[0].split())
        yield (
            textwrap.fill(told, max(width, indent + 20), initial_indent=first, subsequent_indent=" " * indent) or first
        )


def read_help(reference: str) -> str | None:
    """The docstring of a function, or the `help` of a Typer app, out of the source."""
    module, _, attribute = reference.partition(":")
    file = _find_source(module)
    try:
        tree = ast.parse(file.read_bytes()) if file else ast.Module([], [])
    except (OSError, SyntaxError):
        return None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == attribute:
            return ast.get_docstring(node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_named(node, attribute):
            return _get_help_option(node.value)
    return None


def _find_source(module: str) -> Path | None:
    """Found by its path below the package: `find_spec` of the whole name would import all packages above it."""
    top, *below = module.split(".")
    spec = find_spec(top)
    if spec is None or not spec.submodule_search_locations:
        return Path(spec.origin) if spec is not None and spec.origin else None
    file = Path(spec.submodule_search_locations[0], *below)
    return file / "__init__.py" if file.is_dir() else file.with_suffix(".py")


def _is_named(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _get_help_option(call: ast.Call) -> str | None:
    values = (option.value for option in call.keywords if option.arg == "help")
    return next((str(value.value) for value in values if isinstance(value, ast.Constant)), None)
