"""The examples in docs/configuration.md work."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from config_cases import DATA, REPO

from nav_eval.config import resolve

PAGE = (REPO / "docs" / "configuration.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M)


@pytest.mark.parametrize("text", blocks("yaml"))
def test_yaml(text: str, nav_eval: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("example.yaml").write_text(text, encoding="utf-8")
    ran = nav_eval("config", "validate", "example.yaml")
    assert (ran.code, ran.out[:16]) == (0, "ok  example.yaml")


def test_python() -> None:
    for text in blocks("python"):
        exec(compile(text, "docs/configuration.md", "exec"), {})


@pytest.mark.parametrize("line", [line.removeprefix("$ ") for line in "".join(blocks("console")).splitlines()])
def test_commands(line: str, nav_eval: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("habitat.yaml").write_text((DATA / "habitat/hydra/whole.yaml").read_text())
    words = line.split("#", maxsplit=1)[0].split()[1:]
    if "*" in line:
        words = [*words[:-1], *sorted((REPO / "configs" / "benchmarks").glob("*.yaml"))]
    assert nav_eval(*words).code == 0


def test_the_refusal(nav_eval: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text((DATA / "broken/unknown_key.yaml").read_text())
    shown = blocks("text")[0].strip().removesuffix("…").strip()
    assert nav_eval("config", "validate", "mine.yaml").err.startswith(shown)


def test_it_names_every_kind() -> None:
    from nav_eval.config.file_kinds import KINDS

    for kind in KINDS.values():
        assert f"`{kind.keys[0]}" in PAGE or kind.name == "randomization"


def test_the_narrow_view(tmp_path: Path) -> None:
    path = tmp_path / "narrow.yaml"
    path.write_text(next(text for text in blocks("yaml") if "Narrow view" in text), encoding="utf-8")
    config = resolve(path, environ={}).config
    rgb = config.sensors()["rgb"]
    assert (rgb.hfov, rgb.width, rgb.position) == (60, 640, (0, 0.88, 0))
    assert "depth" not in config.sensors()
