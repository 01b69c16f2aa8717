"""Every block of commands is either run by tests/integration/docs or says why not, in words that we know."""

import sys
from pathlib import Path

import pytest

from support.paths import ROOT, TESTS

sys.path.insert(0, str(TESTS / "integration/docs"))

from documented_commands import REASONS, TESTED_BY, blocks_of

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "sdk/examples").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_reasons_are_known(page: Path) -> None:
    for block in blocks_of(page):
        if block.reason is None or block.reason in REASONS:
            continue
        tested_by = TESTED_BY.fullmatch(block.reason)
        assert tested_by, f"{page.name}, line {block.line}: {block.reason!r} is not one of {REASONS}"
        assert (ROOT / tested_by["file"]).is_file(), f"{page.name}, line {block.line}: no {tested_by['file']}"


def test_blocks_are_understood(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ echo one \\\n    two\none two\n$ true\n```\n\n"
        "<!-- run: no, needs Docker -->\n```bash\ndocker ps\n```\n```python\npass\n```\n"
    )
    first, second = blocks_of(page)
    assert first == ("echo one \\\n    two\ntrue\n", None, 2)
    assert (second.script, second.reason) == ("docker ps\n", "needs Docker")
