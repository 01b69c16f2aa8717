"""The commands of a page of Markdown: blocks of ```console, ```bash and ```sh, in their order.

In a console block that has prompts, lines after `$ ` are commands and the rest is output; otherwise every line is a
command. A comment before a block says that it is not run here, and why:

    <!-- run: no, needs Docker -->
"""

import re
from pathlib import Path
from typing import NamedTuple

#: why a block may stay unrun; for the last, the test that runs the same must exist
REASONS = ("needs Docker", "needs a server", "needs downloaded data", "sets up this machine")
TESTED_BY = re.compile(r"tested by (?P<file>tests/\S+\.py)")

_BLOCK = re.compile(
    r"(?:^<!-- run: no, (?P<reason>.+?) -->\n+)?^```(?P<language>console|bash|sh)\n(?P<text>.*?)^```",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """What a reader would type."""

    script: str
    reason: str | None
    """Why it is not run here."""
    line: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(_script(match["text"]), match["reason"], 1 + text.count("\n", 0, match.start("text")))
        for match in _BLOCK.finditer(text)
    ]


def _script(text: str) -> str:
    if not re.search(r"^\$ ", text, re.MULTILINE):
        return text
    lines: list[str] = []
    goes_on = False
    for line in text.splitlines():
        if line.startswith("$ ") or goes_on:
            lines.append(line.removeprefix("$ "))
            goes_on = line.endswith("\\")
    return "\n".join(lines) + "\n"
