"""What the site needs beyond plain pages.

- Entries of the navigation whose page is not there are left out.
- Files of the repository that a page links to (`../protos/…`) become files of the site.
- `reference/rest.md` shows the operations of `openapi.json`, `reference/commands.md` the commands that are installed.
"""

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

OUTSIDE = re.compile(r"\]\((?P<target>\.\./[^)#\s]+)(?P<rest>[)#])")
OPERATIONS = "<!-- operations -->"
COMMANDS = "<!-- commands -->"
METHODS = ("get", "post", "put", "patch", "delete", "head")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = _present(config.nav or [], Path(config.docs_dir))
    return config


def _present(entries: list[Any], docs: Path) -> list[Any]:
    """The navigation without what does not exist."""
    kept: list[Any] = []
    for entry in entries:
        title, target = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
        if isinstance(target, list):
            below = _present(target, docs)
            kept += [{title: below}] if below else []
        elif (docs / target).exists():
            kept.append(entry)
    return kept


def on_files(files: Files, config: MkDocsConfig) -> Files:
    docs = Path(config.docs_dir)
    for page in docs.rglob("*.md"):
        for match in OUTSIDE.finditer(page.read_text(encoding="utf-8")):
            source = (page.parent / match["target"]).resolve()
            place = _place(source, docs)
            if place is not None and source.is_file() and files.get_file_from_path(place) is None:
                files.append(File.generated(config, place, content=source.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    docs = Path(config.docs_dir)
    source = docs / page.file.src_path
    to_root = "../" * page.file.src_path.count("/")

    def moved(match: re.Match[str]) -> str:
        place = _place((source.parent / match["target"]).resolve(), docs)
        return match[0] if place is None else f"]({to_root}{place}{match['rest']}"

    markdown = OUTSIDE.sub(moved, markdown)
    if OPERATIONS in markdown:
        markdown = markdown.replace(OPERATIONS, _operations(docs / "openapi.json"))
    return markdown.replace(COMMANDS, _commands()) if COMMANDS in markdown else markdown


def _place(source: Path, docs: Path) -> str | None:
    """Where a file outside the pages goes; None for what is among the pages anyway, and for what is not ours."""
    root = docs.parent
    if source.is_relative_to(docs) or not source.is_relative_to(root):
        return None
    return f"files/{source.relative_to(root).as_posix()}.txt"


def _operations(file: Path) -> str:
    """A table per tag of the OpenAPI document."""
    if not file.exists():
        return "The gateway of this build has no `openapi.json` beside its pages; a running one serves it."
    groups: dict[str, list[str]] = {}
    for path, operations in json.loads(file.read_text(encoding="utf-8"))["paths"].items():
        for method in METHODS:
            if operation := operations.get(method):
                tag = (operation.get("tags") or ["other"])[0]
                groups.setdefault(tag, []).append(_row(method, path, operation))
    head = "| request | what it does | answers |\n|---|---|---|\n"
    return "\n\n".join(f"## {tag}\n\n{head}" + "\n".join(rows) for tag, rows in groups.items())


def _row(method: str, path: str, operation: dict[str, Any]) -> str:
    about = operation.get("summary") or ""
    told = " ".join((operation.get("description") or about).split()).replace("|", "\\|").replace("<", "&lt;")
    return f"| `{method.upper()} {path}` | {told} | {', '.join(operation.get('responses', ()))} |"


def _commands() -> str:
    """A section per command, with its arguments and options."""
    import typer

    from nav_eval.cli import app

    return "\n\n".join(_command_sections(typer.main.get_command(app), ("nav-eval",)))


def _command_sections(command: Any, path: tuple[str, ...]) -> list[str]:  # noqa: ANN401 - click has no types here
    below = getattr(command, "commands", None)
    if below:
        return [text for name in sorted(below) for text in _command_sections(below[name], (*path, name))]
    rows = [_parameter(parameter) for parameter in command.params if parameter.name != "help"]
    table = "| | |\n|---|---|\n" + "\n".join(rows) if rows else ""
    return [f"## {' '.join(path)}\n\n{_told(command.help)}\n\n{table}"]


def _parameter(parameter: Any) -> str:  # noqa: ANN401
    is_option = parameter.param_type_name == "option"
    name = (
        ", ".join(parameter.opts + parameter.secondary_opts) if is_option else str(parameter.metavar or parameter.name)
    )
    return f"| `{name}` | {_told(getattr(parameter, 'help', ''))} |"


def _told(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "&lt;")
