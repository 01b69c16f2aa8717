"""docs/examples/plugin: a separate distribution adds a metric, a task, a simulator and an agent protocol."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

EXAMPLE = Path(__file__).parents[3] / "docs/examples/plugin"
FILES = ("metric", "task", "simulator", "protocol")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's wheel, installed where only these tests look."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE, folder / "source")  # setuptools leaves its build beside the source
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", folder / "site", folder / "source"], check=True, timeout=120)
    return folder / "site"


def nav_eval(*words: str, site: Path | None, cwd: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(site or "")}
    code = "from nav_eval.cli import main; main()"
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def played(installed: Path, tmp_path: Path) -> Path:
    agent = f"lines:{sys.executable} walker.py"
    ran = nav_eval("evaluate", "patrol.yaml", "--agent", agent, "--out", str(tmp_path), site=installed, cwd=EXAMPLE)
    assert ran.returncode == 0, ran.stderr
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_each_is_under_sixty_lines(name: str) -> None:
    assert len((EXAMPLE / f"nav_eval_flatland/{name}.py").read_text().splitlines()) < 60


def test_all_four_work_together(played: Path) -> None:
    results = json.loads((played / "results.json").read_text())
    episodes = {episode["episode_id"]: episode for episode in results["episodes"]}
    assert episodes["ahead"]["metrics"] == {
        "success": 1.0,  # both posts on the way
        "distance_to_goal": 0.0,
        "steps": 13.0,
        # one when the farther post becomes the next, and the last two, when none is left
        "wasted_steps": pytest.approx(3 / 13),
    }
    assert episodes["aside"]["metrics"]["success"] == 0.0  # the second post is five metres to the right
    assert results["higher_is_better"]["wasted_steps"] is False  # as the metric says
    assert results["config"]["simulator"]["backend"] == "flatland"


def test_the_run_verifies(played: Path, installed: Path) -> None:
    assert "everything is equal" in nav_eval("verify", str(played), site=installed, cwd=EXAMPLE).stdout


def test_a_program_that_ends_is_a_crash(installed: Path, tmp_path: Path) -> None:
    ran = nav_eval(
        "evaluate", "patrol.yaml", "--agent", "lines:true", "--out", str(tmp_path), site=installed, cwd=EXAMPLE
    )
    assert ran.returncode == 0, ran.stderr
    causes = [episode["cause"] for episode in json.loads((tmp_path / "results.json").read_text())["episodes"]]
    assert causes == ["agent_crash", "agent_crash"]


def test_without_the_package_the_names_do_not_exist(tmp_path: Path) -> None:
    ran = nav_eval("config", "validate", "patrol.yaml", site=None, cwd=EXAMPLE)
    assert ran.returncode == 2
    assert '"patrol" is not one of the tasks that exist' in ran.stdout + ran.stderr
