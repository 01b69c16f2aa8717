"""The collector rests while modules are loaded, and only then."""

import gc
import sys
from collections.abc import Iterator

import pytest

from nav_eval.cli.lazy_commands import LazyCommands
from nav_eval.garbage import pause_collector

LOOKS = """
import gc
was_enabled = gc.isenabled()
def command():
    pass
"""


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """What these tests froze is garbage again."""
    before = gc.get_freeze_count()
    yield
    if not before:
        gc.unfreeze()


def test_what_was_made_is_not_looked_through_again() -> None:
    before = gc.get_freeze_count()
    with pause_collector():
        assert not gc.isenabled()
        made = [[] for _ in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= before + len(made)


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with pause_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_works_again_after_a_module_that_cannot_be_loaded() -> None:
    with pytest.raises(ImportError), pause_collector():
        raise ImportError
    assert gc.isenabled()


def test_a_command_is_loaded_that_way(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "looking_command.py").write_text(LOOKS)
    monkeypatch.syspath_prepend(tmp_path)
    LazyCommands({"look": "looking_command:command"})["look"]
    assert sys.modules.pop("looking_command").was_enabled is False
    assert gc.isenabled()
