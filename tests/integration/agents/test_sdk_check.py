"""`nav-eval-sdk check` passes good agents, over every protocol, and names what is wrong with bad ones."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_support import HERE, free_port

from support.load import measure_slowdown

pytestmark = pytest.mark.integration

SDK = [sys.executable, "-m", "nav_eval_sdk.cli"]


def check(target: str, *options: str, **environment: str) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit code, and the findings by name."""
    done = subprocess.run(
        [*SDK, "check", target, "--json", "--action-seconds", "60", "--start-seconds", "60", *options],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
        timeout=600,
    )
    assert done.stdout, done.stderr
    return done.returncode, {finding["name"]: finding for finding in json.loads(done.stdout)["checks"]}


def not_passed(findings: dict[str, dict[str, str]]) -> dict[str, str]:
    return {name: finding["verdict"] for name, finding in findings.items() if finding["verdict"] in ("fail", "warn")}


def test_a_new_project_passes(tmp_path: Path) -> None:
    project = tmp_path / "My Team!"
    made = subprocess.run([*SDK, "init", str(project)], capture_output=True, text=True, check=True)
    assert "agent.py" in made.stdout
    assert len((project / "agent.py").read_text().splitlines()) < 25
    assert "USER 10001" in (project / "Dockerfile").read_text()
    assert 'name = "my-team"' in (project / "agent.py").read_text()
    socket = tmp_path / "agent.sock"
    agent = subprocess.Popen(
        [sys.executable, "agent.py"], cwd=project, env={**os.environ, "NAV_EVAL_SOCKET": str(socket)}
    )
    try:
        code, findings = check(f"unix:{socket}")
    finally:
        agent.terminate()
        assert agent.wait(60) == 0, "the agent ends in order when it is told to"
    assert (code, not_passed(findings)) == (0, {"sensors_chosen": "warn"})  # it cannot know what a task calls them
    assert len(findings) >= 25
    again = subprocess.run([*SDK, "init", str(project)], capture_output=True, text=True, check=False)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)


def test_names_of_a_benchmarks_own_are_sensors_of_their_kind(spawn: Callable, tmp_path: Path) -> None:
    socket = tmp_path / "agent.sock"
    spawn(
        "from nav_eval_sdk import Agent, serve\n"
        "class LongHorizon(Agent):\n"
        '    sensors = ["rgb_left", "depth_front", "instruction"]\n'
        "    def act(self, o):\n"
        '        return "stop" if o["rgb_left"].ndim == 3 and o["depth_front"].ndim == 2 else None\n'
        "serve(LongHorizon)\n",
        NAV_EVAL_SOCKET=str(socket),
    )
    code, findings = check(f"unix:{socket}")
    assert (code, not_passed(findings)) == (0, {})
    assert findings["sensors_known"]["remark"] == "rgb_left, depth_front, instruction"


@pytest.mark.parametrize("protocol", ["grpc", "rest", "websocket"])
def test_an_sdk_agent_passes_over_every_protocol(protocol: str, spawn: Callable) -> None:
    port = free_port()
    scheme = {"grpc": "grpc", "rest": "http", "websocket": "ws"}[protocol]
    told = f"ws://127.0.0.1:{port}" if protocol == "websocket" else f"127.0.0.1:{port}"
    spawn("fifteen_lines.py", NAV_EVAL_PROTOCOL=protocol, NAV_EVAL_ADDRESS=told)
    code, findings = check(f"{scheme}://127.0.0.1:{port}")
    assert (code, not_passed(findings)) == (0, {"sensors_chosen": "warn"})
    assert sum(finding["verdict"] == "pass" for finding in findings.values()) >= 20


def check_proto_only(style: str, socket: Path) -> tuple[int, dict[str, dict[str, str]]]:
    agent = subprocess.Popen(
        [sys.executable, str(HERE / "proto_only.py"), str(HERE.parents[2] / "protos/nav_eval/v1"), *style.split()],
        env={**os.environ, "NAV_EVAL_SOCKET": str(socket)},
        stderr=subprocess.DEVNULL,
    )
    try:
        return check(f"unix:{socket}")
    finally:
        agent.kill()
        agent.wait()


@pytest.mark.parametrize(
    ("style", "doubts"),
    [
        ("stream roomy", {"health", "sensors_chosen"}),
        ("unary roomy", {"health", "sensors_chosen"}),
        ("least roomy", {"health", "describe", "end"}),
    ],
)
def test_agents_from_the_proto_alone_pass_with_doubts(style: str, doubts: set[str], tmp_path: Path) -> None:
    code, findings = check_proto_only(style, tmp_path / "agent.sock")
    assert (code, not_passed(findings)) == (0, dict.fromkeys(doubts, "warn"))


def test_a_server_with_the_usual_limit_is_told_to_raise_it(tmp_path: Path) -> None:
    code, findings = check_proto_only("stream", tmp_path / "agent.sock")
    assert (code, findings["first_action"]["verdict"]) == (1, "fail")
    assert "grpc.max_receive_message_length" in findings["first_action"]["fix"]


BAD_AGENTS = {
    "actions_known": 'def act(self, o): return "fly"',
    "arguments_valid": 'def act(self, o): return {"action": "stop", "action_args": {"speed": 9.0}}',
    "actions_counted": 'def act(self, o): return ["stop", "stop"]',
    "sensors_known": 'sensors = ["x_ray"]\n    def act(self, o): return "stop"',
    "odd_instructions": 'def reset(self, e): assert e.instruction\n    def act(self, o): return "stop"',
    "longer_episode": 'def act(self, o): return "stop" if o.step < 20 else 1 / 0',
    "first_action": "def act(self, o): raise RuntimeError('no weights')",
    "max_actions": 'max_actions = 5000\n    def act(self, o): return "stop"',
    "latency": 'def act(self, o): import time; time.sleep(0.3); return "stop"',
    "episodes_apart": (
        "max_episodes = 2\n    shared = [0]\n"
        "    def reset(self, e): self.shared[0] = 0\n"
        '    def act(self, o): self.shared[0] += 1; return "stop" if self.shared[0] % 2 else "turn_left"'
    ),
}


@pytest.mark.parametrize("name", BAD_AGENTS)
def test_what_is_wrong_is_named_with_what_to_do(name: str, spawn: Callable, tmp_path: Path) -> None:
    socket = tmp_path / "agent.sock"
    spawn(
        f"from nav_eval_sdk import Agent, serve\nclass Bad(Agent):\n    {BAD_AGENTS[name]}\nserve(Bad)\n",
        NAV_EVAL_SOCKET=str(socket),
    )
    options = ("--action-seconds", "0.25") if name == "latency" else ()
    code, findings = check(f"unix:{socket}", *options)
    if name == "latency":
        assert "no reply" in findings["first_action"]["remark"], findings["first_action"]
        return
    assert code == 1
    assert findings[name]["verdict"] == "fail", not_passed(findings)
    assert findings[name]["fix"]


def test_leftovers_of_an_episode_are_doubtful(spawn: Callable, tmp_path: Path) -> None:
    socket = tmp_path / "agent.sock"
    spawn(
        "from nav_eval_sdk import Agent, serve\n"
        "class Forgetful(Agent):\n"
        "    count = 0\n"
        '    def act(self, o): self.count += 1; return "stop" if self.count % 3 else "turn_left"\n'
        "serve(Forgetful)\n",
        NAV_EVAL_SOCKET=str(socket),
    )
    code, findings = check(f"unix:{socket}")
    assert (code, findings["no_leftovers"]["verdict"]) == (0, "warn")


def test_nobody_there_is_one_failure_and_not_thirty() -> None:
    started = time.monotonic()
    code, findings = check(f"grpc://127.0.0.1:{free_port()}", "--start-seconds", "1")
    verdicts = [finding["verdict"] for finding in findings.values()]
    assert (code, verdicts.count("fail"), set(verdicts[1:])) == (1, 1, {"skip"})
    assert time.monotonic() - started < 10 * measure_slowdown()


def test_who_is_waited_for_is_said() -> None:
    command = [*SDK, "check", f"grpc://127.0.0.1:{free_port()}", "--start-seconds", "5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == "Waiting for the agent to become ready, for at most 5 s.\n"


def test_a_localization_agent_is_checked_by_its_poses(spawn: Callable, tmp_path: Path) -> None:
    socket = tmp_path / "agent.sock"
    spawn(
        "from nav_eval_sdk import Action, Agent, Pose, serve\n"
        "class Localizer(Agent):\n"
        "    sensors = ['rgb']\n"
        "    def act(self, o): return Action('answer', poses=(Pose((1.0, 2.0, 0.0)),))\n"
        "serve(Localizer)\n",
        NAV_EVAL_SOCKET=str(socket),
    )
    code, findings = check(f"unix:{socket}", "--task", "localization")
    assert (code, findings["poses_valid"]["verdict"]) == (0, "pass")


def test_the_table_is_for_people(spawn: Callable, tmp_path: Path) -> None:
    socket = tmp_path / "agent.sock"
    spawn("fifteen_lines.py", NAV_EVAL_SOCKET=str(socket))
    done = subprocess.run([*SDK, "check", f"unix:{socket}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert " ✓ ready " in done.stdout
    assert "Ready to submit." in done.stdout


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose `docker` runs images as processes; returns the directory of its images."""
    executable = tmp_path / "bin" / "docker"
    executable.parent.mkdir()
    executable.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "stand_in_docker.py"} "$@"\n')
    executable.chmod(0o755)
    monkeypatch.setenv("PATH", f"{executable.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN_DOCKER_HOME", str(tmp_path))
    return tmp_path


def image(home: Path, name: str, *command: str, **config: object) -> str:
    document = {
        "Os": "linux",
        "Architecture": "amd64",
        "Size": 10**9,
        "Config": {"Cmd": command, "User": "10001", **config},
    }
    (home / f"{name}.json").write_text(json.dumps(document))
    return name


def test_an_image_is_checked_in_a_container_like_the_servers(docker: Path) -> None:
    code, findings = check(image(docker, "good", sys.executable, str(HERE / "fifteen_lines.py")))
    assert (code, not_passed(findings)) == (0, {"sensors_chosen": "warn"})
    assert findings["shared_memory"]["verdict"] == "pass", "the volume for observations is found"
    assert {name for name in findings if name.startswith("image_")} == {
        "image_platform",
        "image_user",
        "image_command",
        "image_volumes",
        "image_size",
    }
    assert list(docker.glob("*.pid")) == [], "no container is left"


def test_what_is_wrong_with_an_image_is_named(docker: Path) -> None:
    bad = image(
        docker, "bad", sys.executable, "-c", "print('no weights'); raise SystemExit(1)", User="", Volumes={"/d": {}}
    )
    document = json.loads((docker / "bad.json").read_text()) | {"Architecture": "arm64"}
    (docker / "bad.json").write_text(json.dumps(document))
    code, findings = check(bad, "--start-seconds", "1")
    found = not_passed(findings)
    assert code == 1
    assert found == {"image_platform": "fail", "image_user": "warn", "image_volumes": "warn", "ready": "fail"}
    said = subprocess.run([*SDK, "check", bad, "--start-seconds", "1"], capture_output=True, text=True, check=False)
    assert "no weights" in said.stdout, "the end of the agent's log is shown"


def test_an_image_that_is_not_there_is_said_not_to_be(docker: Path) -> None:
    done = subprocess.run([*SDK, "check", "nothing"], capture_output=True, text=True, check=False)
    assert (done.returncode, "No such image: nothing" in done.stderr) == (2, True)
