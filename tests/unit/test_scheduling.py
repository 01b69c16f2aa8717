"""Which tests of `make test` run one after another in one process, and that none has threads that turn in circles."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.scheduling import LONG, TOGETHER, get_turn, name_group

WIDE = 'import pytest\n\n\n@pytest.fixture(scope="module")\ndef demo(): ...\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "test_demo.py").write_text(WIDE)
    (tmp_path / "test_alone.py").write_text("def test_it(): ...\n")
    return tmp_path


def test_a_fixture_of_a_file_is_made_in_one_process(root: Path) -> None:
    assert name_group("test_demo.py::test_board", root=root) == name_group("test_demo.py::test_end[x]", root=root)
    assert name_group("test_alone.py::test_it", root=root) != name_group("test_alone.py::test_that", root=root)


def test_databases_are_not_mixed(root: Path) -> None:
    groups = [name_group(f"test_demo.py::test_board[{name}-x]", root=root) for name in ("sqlite", "postgresql")]
    assert len(set(groups)) == 2


def test_folders_with_something_to_share_begin(root: Path) -> None:
    assert {name_group(f"{TOGETHER[0]}{file}::test", root=root) for file in ("a.py", "b.py")} == {TOGETHER[0]}
    assert [get_turn(f"{folder}a.py::test") for folder in TOGETHER] == [*range(len(TOGETHER))]


def test_long_tests_come_before_short_ones(root: Path) -> None:
    turns = [get_turn(name) for name in (f"{TOGETHER[-1]}a.py::test", f"{LONG[0]}[x]", "test_alone.py::test_it")]
    assert turns == sorted(set(turns))
    assert len({name_group(f"{LONG[0]}[{case}]", root=Path(__file__).parents[2]) for case in "xy"}) == 2


def test_the_folders_are_there() -> None:
    here = Path(__file__).parents[2]
    assert [folder for folder in TOGETHER if not (here / folder).is_dir()] == []
    named = [name.partition("::") for name in LONG]
    assert [file for file, _, test in named if f"def {test}(" not in (here / file).read_text()] == []


def test_no_thread_of_algebra_waits_in_what_tests_start() -> None:
    count = "import os, numpy; print(len(os.listdir('/proc/self/task')))"
    done = subprocess.run([sys.executable, "-c", count], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
