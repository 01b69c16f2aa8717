"""Which tests of `make test` run one after another in one process."""

from pathlib import Path

import pytest

from support.scheduling import TOGETHER, get_turn, name_group

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
    assert get_turn("test_alone.py::test_it") == len(TOGETHER)


def test_the_folders_are_there() -> None:
    here = Path(__file__).parents[2]
    assert [folder for folder in TOGETHER if not (here / folder).is_dir()] == []
