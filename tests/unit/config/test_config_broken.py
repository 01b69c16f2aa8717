"""Every broken file gives one clear message and exit code 2, through the real entry point.

Each file in tests/data/config/broken says in its first line what its message must contain.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.paths import TESTS

BROKEN = TESTS / "data" / "config" / "broken"
WITHOUT_HEADER = {
    "empty.yaml": ["is empty; start with `benchmark:`"],
    "not_utf8.yaml": ["line 2: not UTF-8 text (byte 0xfc)"],
    "binary.yaml": ["is not valid YAML", "control characters"],
}
FILES = sorted(BROKEN.glob("*.yaml"))


def expected(path: Path) -> list[str]:
    if path.name in WITHOUT_HEADER:
        return WITHOUT_HEADER[path.name]
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# expect: ")
    return first.removeprefix("# expect: ").split(" | ")


def test_there_are_enough() -> None:
    assert len(FILES) > 80


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_one_clear_message(path: Path, nav_eval: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = nav_eval("config", "validate", path)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("nav-eval: ")
    assert ran.err.count("nav-eval: ") == 1
    for part in expected(path):
        assert part in ran.err


@pytest.mark.integration
@pytest.mark.parametrize(("command", "name"), [("show", "cycle_a"), ("validate", "alias_bomb")])
def test_the_same_in_a_process_of_its_own(command: str, name: str, tmp_path: Path) -> None:
    code = "from nav_eval.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", code, "config", command, BROKEN / f"{name}.yaml"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert ran.stderr.startswith("nav-eval: ")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (".", "is a folder"),
        ("nowhere.yaml", "nowhere.yaml does not exist"),
        ("/dev/null/x.yaml", "does not exist"),
    ],
)
def test_a_path_that_is_no_file(
    path: str, message: str, nav_eval: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.yaml").mkdir()
    ran = nav_eval("config", "validate", path.replace(".", "folder.yaml") if path == "." else path)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_a_file_too_large_to_be_a_configuration(nav_eval: Callable, tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_text("# " + "x" * 1_000_001)
    ran = nav_eval("config", "validate", path)
    assert ran.code == 2
    assert "larger than 1,000,000 bytes" in ran.err


def test_validate_goes_on_after_a_broken_file(nav_eval: Callable, write: Callable) -> None:
    good = write("good.yaml", "task: {type: vln, actions: [stop], metrics: [success]}")
    ran = nav_eval("config", "validate", BROKEN / "tabs.yaml", good)
    assert ran.code == 2
    assert "indented with a tab" in ran.err
    assert f"ok  {good}" in ran.out


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("evaluation.max_steps=abc", ["override 'evaluation.max_steps=abc'", '= "abc" must be a whole number']),
        ("evaluation.max_step=5", ["override 'evaluation.max_step=5'", "unknown key", "Did you mean 'max_steps'?"]),
        ("evalution.max_steps=5", ["override 'evalution.max_steps=5'", "Did you mean 'evaluation'?"]),
        ("max_steps", ["override 'max_steps' has no '='"]),
        ("=5", ["override '=5'", "empty part"]),
        ("evaluation..max_steps=5", ["empty part"]),
        ("task=vnl", ["override 'task=vnl'", "Did you mean 'vln'?"]),
        ("task=VLN", ["override 'task=VLN'", "Did you mean 'vln'?"]),  # whatever its case
        ("task.metrics=[success", ["override 'task.metrics=[success'", "not valid YAML"]),
        ("evaluation.success_distance=.inf", ["a number must be finite"]),
        ("scenario_config.robots.7.height=1.0", ["override", "scenario_config.robots", "must be a list"]),
        ("evaluation=5", ["evaluation = 5 must be a mapping"]),
    ],
)
def test_a_bad_override(override: str, parts: list[str], nav_eval: Callable) -> None:
    ran = nav_eval("config", "show", "demo_vln", override)
    assert (ran.code, ran.out) == (2, "")
    for part in parts:
        assert part in ran.err


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("NAV_EVAL__EVALUATION__MAX_STEPS", "many", "must be a whole number"),
        ("NAV_EVAL__EVALUATION__MAX_STEP", "5", "Did you mean 'max_steps'?"),
        ("NAV_EVAL__NONSENSE", "5", "unknown key"),
        ("NAV_EVAL__EVALUATION____SEED", "5", "empty part"),
    ],
)
def test_a_bad_variable(
    name: str, value: str, message: str, nav_eval: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    ran = nav_eval("config", "show", "demo_vln")
    assert (ran.code, ran.out) == (2, "")
    assert f"environment variable {name}" in ran.err
    assert message in ran.err
