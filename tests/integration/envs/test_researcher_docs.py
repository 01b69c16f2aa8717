"""Every example of docs/gymnasium.md and docs/trajectories.md does what it says, in the room."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

pytestmark = pytest.mark.integration

DOCS = ROOT / "docs"
COMMAND = "from nav_eval.cli import main; main()"
CAMERAS = ("rgb_left", "rgb_front", "rgb_right", "depth_left", "depth_front", "depth_right", "semantic_front")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def in_the_room(room_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`demo_lh_vln` is the room, with small cameras, for this process and those it starts."""
    monkeypatch.setenv("NAV_EVAL__DATASET__DATA_PATH", str(room_data / "val.json.gz"))
    monkeypatch.setenv("NAV_EVAL__DATASET__SCENE_PATH", str(room_data))
    for camera in CAMERAS:
        monkeypatch.setenv(f"NAV_EVAL__TASK__SENSORS__{camera.upper()}__WIDTH", "64")
        monkeypatch.setenv(f"NAV_EVAL__TASK__SENSORS__{camera.upper()}__HEIGHT", "48")
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_python(script: Path) -> None:
    subprocess.run([sys.executable, str(script)], check=True, timeout=600)


def test_gymnasium_page(in_the_room: Path) -> None:
    script = in_the_room / "page.py"
    examples = "\n".join(blocks("gymnasium.md", "python"))
    assert examples.count("gymnasium.make") >= 5
    body = "\n".join(f"    {line}" for line in examples.splitlines())
    script.write_text(f'if __name__ == "__main__":\n{body}\n')  # its processes are spawned
    run_python(script)


def test_trajectories_page(in_the_room: Path) -> None:
    commands = [line for block in blocks("trajectories.md", "console") for line in block.splitlines()]
    assert len(commands) >= 3
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "nav-eval"
        subprocess.run([sys.executable, "-c", COMMAND, *words[1:]], check=True, timeout=600)
    script = in_the_room / "page.py"
    script.write_text("\n".join(blocks("trajectories.md", "python")))
    run_python(script)
    assert (in_the_room / "demos_lerobot/meta/info.json").exists()
