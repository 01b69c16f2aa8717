"""Mistakes on the command line of the SDK: each gets a sentence that says what to do."""

from pathlib import Path

import pytest

from nav_eval_sdk.cli import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "ftp://host"], "begins with no protocol that agents speak"),
        (["check", "project"], "project is a folder; start the agent in it"),
        (["check", "text.txt"], "text.txt is a file; check a running agent"),
        (["serve", "nowhere.py:Agent"], "There is no file nowhere.py"),
        (["serve", "broken.py:Agent"], "No module named 'not_installed'. Install what is missing"),
        (["serve", "broken.py:Agent", "--max-episodes", "0"], "0 is too few"),
        (["pack", "nowhere"], "nowhere is no folder; give the one with your agent"),
        (["init", "text.txt"], "text.txt: File exists. Check the path"),
    ],
)
def test_a_mistake_is_named(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "project").mkdir()
    (tmp_path / "text.txt").write_text("hello")
    (tmp_path / "broken.py").write_text("import not_installed\n")
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
