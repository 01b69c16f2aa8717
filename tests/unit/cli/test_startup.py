"""A command imports what it uses, and nothing else: counted in modules, because seconds belong to the machine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from nav_eval.cli.command_list import OWN, find_plugins, format_help, read_help
from nav_eval.cli.lazy_commands import app
from support.paths import TESTS

RUN = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from nav_eval.cli import main
main()
"""
HEAVY = {"typer", "rich", "numpy", "numba", "pydantic", "yaml", "grpc", "moderngl", "trimesh", "sqlalchemy", "fastapi"}


def list_imports(*arguments: str, folder: Path | None = None) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=False, timeout=600, cwd=folder
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing(option: str) -> None:
    assert not HEAVY & list_imports(option)


def test_a_score_needs_neither_configurations_nor_a_simulator(tmp_path: Path) -> None:
    file = tmp_path / "tiny.jsonl"
    line = {"episode_id": "a", "trajectory": [[0, 0, 0], [1, 0, 0]], "stopped": True, "success_distance": 3.0}
    file.write_text(json.dumps({**line, "goal": [1, 0, 0], "reference_path": [[0, 0, 0], [1, 0, 0]]}))
    assert not (HEAVY - {"typer"}) & list_imports("score", str(file), "--task", "vln", "--json")


@pytest.mark.slow
def test_a_short_run_is_verified_without_a_compiler_or_a_wire() -> None:
    """The first time may compile; from then on machine code is loaded from files."""
    _, second = (list_imports("verify", "vln", folder=TESTS / "data" / "run_0_1_0") for _ in range(2))
    assert {"numba", "llvmlite", "scipy", "grpc", "trimesh", "sqlalchemy", "rich"} & second == set()


def test_the_list_says_of_each_command_what_the_command_says() -> None:
    commands = get_command(app).commands
    for name, reference in {**OWN, **find_plugins()}.items():
        assert read_help(reference) == commands[name].help, name


def test_the_list_fits_a_narrow_terminal() -> None:
    assert max(map(len, format_help(OWN, width=60).splitlines())) <= 60


def test_a_mistyped_command_is_answered_with_the_nearest() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nav_eval.cli", "evalute"], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 2
    assert done.stderr.count("Did you mean 'evaluate'?") == 1
