"""The example agents of sdk/examples, without SDK and packages: each passes the checks and plays an episode."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_support import TASK, an_episode, observations

from nav_eval.agents.addresses import connect
from nav_eval.agents.client import ClientSettings
from nav_eval.agents.messages import EpisodeEnd
from support.paths import TESTS

pytestmark = pytest.mark.integration

EXAMPLES = TESTS.parent / "sdk" / "examples"
VECTORS = TESTS.parent / "sdk" / "nav_eval_sdk" / "vectors"


def make_command(name: str, tmp_path: Path) -> list[str]:
    if name == "python_bare":
        return [sys.executable, "-S", str(EXAMPLES / name / "agent.py"), "0"]  # -S: not even what is installed
    if name == "node_rest":
        node = shutil.which("node") or pytest.skip("there is no node here")
        return [str(node), str(EXAMPLES / name / "agent.js"), "0"]
    compiler = shutil.which("g++") or pytest.skip("there is no C++ compiler here")
    program = tmp_path / "agent"
    source = EXAMPLES / name / "agent.cpp"
    subprocess.run([compiler, "-std=c++17", "-Wall", "-Werror", "-pthread", "-o", program, source], check=True)
    return [str(program), "0"]


@pytest.fixture(params=["python_bare", "node_rest", "cpp_rest"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    process = subprocess.Popen(make_command(request.param, tmp_path), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.communicate()


def test_an_example_plays_an_episode(address: str) -> None:
    with connect(address, ClientSettings(connect_timeout=60.0)) as client:
        client.describe(TASK)
        session = client.open_episode(an_episode())
        done = [action.name for seen in observations(0) for action in session.act(seen)]
        session.end(EpisodeEnd(steps=len(done)))
    assert len(done) == 20
    assert "move_forward" in done


def test_an_example_passes_the_checks(address: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nav_eval_sdk", "check", address, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "recorded conversation" in done.stdout


def test_the_vectors_are_those_of_this_evaluator() -> None:
    script = TESTS.parent / "protos" / "vectors.py"
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0, f"run python {script}"


@pytest.mark.parametrize("file", sorted(VECTORS.glob("*.json")), ids=lambda file: file.stem)
def test_a_right_answer_of_a_vector_is_taken(file: Path) -> None:
    vector = json.loads(file.read_text())
    for exchange in vector["exchanges"]:
        name = exchange["answer"].get("action", "answer")
        assert name in vector["reset"]["task"]["actions"]
    assert all(refused["because"] for refused in vector["refused"])
