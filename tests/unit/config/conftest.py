"""What the configuration tests share: the command line in this process, and small files on the spot."""

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from nav_eval.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def nav_eval(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """`nav_eval("config", "show", "vln_base")` runs the real entry point."""

    def run(*args: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["nav-eval", *map(str, args)])
        try:
            main()
            code = 0
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture(autouse=True)
def _no_overrides_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("NAV_EVAL__")]:
        monkeypatch.delenv(name)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a file below the test's own folder."""

    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write_file
