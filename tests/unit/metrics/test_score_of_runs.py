"""`nav-eval score` on what a run wrote, whatever its task: the numbers of the run's own report."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nav_eval.cli import app
from support.paths import TESTS

FORMER = TESTS / "data" / "run_0_1_0"


def score(*arguments: str) -> dict[str, float]:
    result = CliRunner().invoke(app, ["score", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("task", ["vln", "localization"])
def test_the_folder_of_a_run(task: str) -> None:
    report = json.loads((FORMER / task / "results.json").read_text())
    expected = {name: entry["mean"] for name, entry in report["aggregated"].items()}
    assert score(str(FORMER / task)) == expected
    assert score(str(FORMER / task / "episodes.jsonl"), *(["--task", task] if task == "vln" else [])) == expected


def test_the_folder_of_a_long_horizon_run_knows_its_rule() -> None:
    report = json.loads((FORMER / "lh_vln" / "results.json").read_text())
    assert score(str(FORMER / "lh_vln")) == report["scores"]


def test_episodes_that_were_never_played_do_not_count(tmp_path: Path) -> None:
    folder = shutil.copytree(FORMER / "lh_vln", tmp_path / "run")
    whole = score(str(folder))
    ours = {"episode_id": "x", "status": "failed", "metrics": {}, "num_steps": 0, "cause": "infrastructure"}
    with (folder / "episodes.jsonl").open("a") as file:
        file.write(json.dumps(ours) + "\n")
    assert score(str(folder)) == whole


def test_a_file_that_says_nothing_about_its_task_is_asked_about(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text('{"episode_id": "a"}\n')
    result = CliRunner().invoke(app, ["score", str(file)])
    assert "Say what" in str(result.exception)
