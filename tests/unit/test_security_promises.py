"""Each test that docs/security.md names for a promise is there."""

import re

import pytest

from support.paths import ROOT

TESTS = ROOT / "tests"
PAGE = (ROOT / "docs" / "security.md").read_text()
FUNCTIONS = {
    name
    for file in TESTS.rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)\(", file.read_text(), re.MULTILINE)
}
NAMED = re.findall(r"`(?:(?P<file>[\w./…]*\.py|…)(?:::)?)?(?P<test>test_\w+)?`", PAGE)


@pytest.mark.parametrize("name", sorted({test for _, test in NAMED if test}))
def test_a_test_that_holds_a_promise_exists(name: str) -> None:
    assert name in FUNCTIONS


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED if "/" in file and "test_" in file}))
def test_a_file_that_holds_promises_exists(file: str) -> None:
    assert (ROOT / file).is_file() or (TESTS / "integration" / file).is_file()


def test_promises_are_found() -> None:
    assert len({test for _, test in NAMED if test}) > 30
