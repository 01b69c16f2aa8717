"""docs/examples/plugin: a separate distribution adds a metric, a task, a sensor, a simulator and an agent protocol."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

pytestmark = pytest.mark.integration

EXAMPLE = ROOT / "docs/examples/plugin"
FILES = ("metric", "task", "sensor", "simulator", "protocol")


LOOK = """
import dataclasses, json
from nav_eval.config import load_benchmark
from nav_eval.config.file_kinds import KINDS
from nav_eval.config.json_schema import make_file_schema
from nav_eval.envs import NavEnv
from nav_eval.evaluation.task_interface import make_task_interface

benchmark = load_benchmark("patrol.yaml")
env = NavEnv(benchmark, order="benchmark")
space = env.observation_space["beacon"]
first, _ = env.reset(options={"episode_id": "ahead"})
second, *_ = env.step(1)
print(json.dumps({
    "wire": dataclasses.asdict(make_task_interface(benchmark).sensors["beacon"]),
    "space": [float(space.low[0]), float(space.high[0]), str(space.dtype), space.shape],
    "readings": [float(first["beacon"][0]), float(second["beacon"][0])],
    "schema": json.dumps(make_file_schema(KINDS["task"])),
}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's wheel, installed where only these tests look."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE, folder / "source")  # setuptools leaves its build beside the source
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", folder / "site", folder / "source"], check=True, timeout=120)
    return folder / "site"


def nav_eval(*words: str, site: Path | None, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return python("-c", "from nav_eval.cli import main; main()", *words, site=site, cwd=cwd)


def python(*words: str, site: Path | None, cwd: Path) -> "subprocess.CompletedProcess[str]":
    paths = [str(site) if site else "", os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, *words]
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


def test_all_five_work_together(played: Path) -> None:
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
    assert results["config"]["task"]["sensors"]["beacon"] == {"kind": "beacon", "range": 4.0, "noise": 0.0}


def test_the_sensor_is_on_the_wire_and_in_gymnasium(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "look.py").write_text(LOOK)
    ran = python(str(tmp_path / "look.py"), site=installed, cwd=EXAMPLE)
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert seen["wire"] == {"kind": "beacon", "dtype": "float32", "shape": [1], "camera": None}
    assert seen["space"] == [0.0, 1.0, "float32", [1]]
    assert seen["readings"] == pytest.approx([0.75, 0.8125])  # one metre ahead; one step nearer
    assert "Metres; a beacon that is farther away is not heard." in seen["schema"]


def test_the_keys_of_the_sensor_are_its_own(installed: Path, tmp_path: Path) -> None:
    mistyped = tmp_path / "mistyped.yaml"
    mistyped.write_text((EXAMPLE / "patrol.yaml").read_text().replace("range: 4.0", "rnage: 4.0"))
    ran = nav_eval("config", "validate", str(mistyped), site=installed, cwd=EXAMPLE)
    assert ran.returncode == 2
    assert "task.sensors.beacon.rnage: unknown key. Did you mean 'range'?" in ran.stdout + ran.stderr


def test_every_part_keeps_its_contract(installed: Path) -> None:
    ran = python("check.py", site=installed, cwd=EXAMPLE)
    assert "All parts keep their contract." in ran.stdout, ran.stderr


def test_the_run_verifies(played: Path, installed: Path) -> None:
    assert "everything is equal" in nav_eval("verify", str(played), site=installed, cwd=EXAMPLE).stdout


def test_a_program_that_ends_is_a_crash(installed: Path, tmp_path: Path) -> None:
    ran = nav_eval(
        "evaluate", "patrol.yaml", "--agent", "lines:true", "--out", str(tmp_path), site=installed, cwd=EXAMPLE
    )
    assert ran.returncode == 3, ran.stderr  # every episode failed
    causes = [episode["cause"] for episode in json.loads((tmp_path / "results.json").read_text())["episodes"]]
    assert causes == ["agent_crash", "agent_crash"]


def test_without_the_package_the_names_do_not_exist(tmp_path: Path) -> None:
    ran = nav_eval("config", "validate", "patrol.yaml", site=None, cwd=EXAMPLE)
    assert ran.returncode == 2
    assert '"patrol" is not one of the tasks that exist' in ran.stdout + ran.stderr
