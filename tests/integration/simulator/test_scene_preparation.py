"""`nav-eval scenes prepare` with several files: a process each; one that cannot be used spoils no other."""

import shutil
import subprocess
from pathlib import Path

import pytest

from nav_eval.child_process import make_nav_eval_command
from nav_eval.simulator import scene_preparation
from nav_eval.simulator.scene_preparation import MEMORY_PER_SCENE, count_processes

pytestmark = pytest.mark.integration


def test_several_scenes_are_prepared_by_one_command(
    room_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = next(room_data.glob("*.glb"))
    copies = [tmp_path / "one.glb", tmp_path / "two.glb"]
    for copy in copies:
        shutil.copy(scene, copy)
    broken = tmp_path / "broken.glb"
    broken.write_bytes(b"no scene")
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    command = make_nav_eval_command("scenes", "prepare", *map(str, [*copies, broken]))
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 1
    assert all(f"{copy}: " in done.stdout for copy in copies)
    assert f"1 of 3 scenes cannot be used: {broken}." in done.stderr
    assert list((tmp_path / "cache" / "navigation").iterdir())


@pytest.mark.parametrize(
    ("scenes", "cores", "memory", "expected"),
    [
        (20, 8, 100, 8),  # a process per core
        (3, 8, 100, 3),  # no more than there are scenes
        (20, 8, 2.5, 2),  # each needs room
        (20, 8, 0, 1),  # and one is always tried
    ],
)
def test_as_many_at_once_as_cores_and_memory_allow(
    scenes: int, cores: int, memory: float, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene_preparation.os, "sched_getaffinity", lambda _: set(range(cores)))
    monkeypatch.setattr(scene_preparation, "_read_available_memory", lambda: int(memory * MEMORY_PER_SCENE))
    assert count_processes(scenes) == expected
